package ma2h

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// AppendMessage appends the body of GET /v1/messages/{id} (spec §8.2): the
// fields of e that the protocol knows, under the id and with the status given.
// response, delivery and extras are spliced in as they are when they are not
// nil, extras under our own name, "beckon". What the agent owns goes out as the
// bytes that came. Whatever else the sender put into the envelope, such as a
// status or a response of its own, is not in e and can't come back; nor do
// `to` and agent.session, which no accepted message has. Options that Validate
// filled in are left out: the body says what the agent said.
func AppendMessage(dst []byte, e *Envelope, id string, status Status, response, delivery, extras []byte) []byte {
	o := beginObject(dst)
	o.str("ma2h_version", e.Version)
	o.str("id", id)
	o.str("type", string(e.Type))
	o.str("status", string(status))
	o.str("created_at", e.CreatedAt)
	o.name("agent")
	o.b = appendAgent(o.b, &e.Agent)
	o.str("title", e.Title)
	o.strIf("body", e.Body)
	o.strIf("priority", string(e.Priority))
	o.strs("tags", e.Tags)
	if e.Context != nil {
		o.name("context")
		o.b = appendList(o.b, e.Context, appendPart)
	}
	o.rawIf("state", e.State)
	o.strIf("client_ref", e.ClientRef)
	o.strIf("idempotency_key", e.IdempotencyKey)
	o.strIf("expires_at", e.ExpiresAt)
	if e.Sensitive {
		o.bool("sensitive", true)
	}
	if e.Request != nil {
		o.name("request")
		o.b = appendRequest(o.b, e.Request)
	}
	if e.Action != nil {
		o.name("action")
		o.b = appendAction(o.b, e.Action)
	}
	o.rawIf("response", response)
	o.rawIf("delivery", delivery)
	o.rawIf("beckon", extras)
	return o.end()
}

func appendAgent(dst []byte, a *Agent) []byte {
	o := beginObject(dst)
	o.str("id", a.ID)
	o.str("run_id", a.RunID)
	o.str("runtime", a.Runtime)
	o.strIf("project", a.Project)
	if a.Labels != nil {
		o.name("labels")
		l := beginObject(o.b)
		for _, name := range slices.Sorted(maps.Keys(a.Labels)) {
			l.str(name, a.Labels[name])
		}
		o.b = l.end()
	}
	return o.end()
}

func appendPart(dst []byte, p Part) []byte {
	o := beginObject(dst)
	o.str("kind", p.Kind)
	if p.Text != nil {
		o.str("text", *p.Text)
	}
	o.rawIf("data", p.Data)
	if p.File != nil {
		o.name("file")
		f := beginObject(o.b)
		f.str("uri", p.File.URI)
		f.strIf("name", p.File.Name)
		f.strIf("mime_type", p.File.MimeType)
		o.b = f.end()
	}
	o.rawIf("metadata", p.Metadata)
	return o.end()
}

func appendRequest(dst []byte, r *Request) []byte {
	o := beginObject(dst)
	o.str("mode", string(r.Mode))
	if r.Options != nil && !r.Implied {
		o.name("options")
		o.b = appendList(o.b, r.Options, appendOption)
	}
	o.rawIf("schema", r.Schema)
	if p := r.Permissions; p != nil {
		o.name("permissions")
		w := beginObject(o.b)
		w.boolPtr("allow_accept", p.AllowAccept)
		w.boolPtr("allow_edit", p.AllowEdit)
		w.boolPtr("allow_respond", p.AllowRespond)
		w.boolPtr("allow_ignore", p.AllowIgnore)
		o.b = w.end()
	}
	o.rawIf("default_on_expire", r.DefaultOnExpire)
	o.strs("allowed_resolvers", r.AllowedResolvers)
	appendCallback(&o, r.Callback)
	return o.end()
}

func appendOption(dst []byte, opt Option) []byte {
	o := beginObject(dst)
	o.str("value", opt.Value)
	o.str("label", opt.Label)
	o.strIf("description", opt.Description)
	return o.end()
}

func appendAction(dst []byte, a *Action) []byte {
	o := beginObject(dst)
	o.str("instructions", a.Instructions)
	if a.Checklist != nil {
		o.name("checklist")
		o.b = appendList(o.b, a.Checklist, appendItem)
	}
	o.strIf("verification", a.Verification)
	o.strs("allowed_resolvers", a.AllowedResolvers)
	appendCallback(&o, a.Callback)
	return o.end()
}

func appendItem(dst []byte, item ChecklistItem) []byte {
	o := beginObject(dst)
	o.str("text", item.Text)
	o.bool("done", item.Done)
	return o.end()
}

func appendCallback(o *objectWriter, c *Callback) {
	if c == nil {
		return
	}
	o.name("callback")
	w := beginObject(o.b)
	w.str("mode", c.Mode)
	w.strIf("url", c.URL)
	if c.Auth != nil {
		w.name("auth")
		a := beginObject(w.b)
		a.str("scheme", c.Auth.Scheme)
		a.strIf("secret_ref", c.Auth.SecretRef)
		a.strIf("token_ref", c.Auth.TokenRef)
		w.b = a.end()
	}
	o.b = w.end()
}

// MessageBody is the body of GET /v1/messages/{id} as a client reads it.
type MessageBody struct {
	Envelope *Envelope
	ID       string
	Status   Status
	Response *Response // nil while open, and for a notify
	// RawResponse, Delivery and Beckon are the bytes as received, or nil.
	RawResponse, Delivery, Beckon jsontext.Value
}

// ParseMessageBody reads the body of GET /v1/messages/{id}: the envelope as
// [Parse] does, the embedded Response as [ParseResponse] does. The error is an
// [*Error].
func ParseMessageBody(raw []byte) (*MessageBody, error) {
	e, err := parse(raw, sentDepth)
	if err != nil {
		return nil, err
	}
	var w struct {
		ID       string         `json:"id"`
		Status   Status         `json:"status"`
		Response jsontext.Value `json:"response"`
		Delivery jsontext.Value `json:"delivery"`
		Beckon   jsontext.Value `json:"beckon"`
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return nil, typeError(err, func() *node {
			return object(map[string]*node{"id": {}, "status": {}})
		})
	}
	switch {
	case w.ID == "":
		return nil, invalid("id", "is required")
	case w.Status == "":
		return nil, invalid("status", "is required")
	}
	if err := wantObject("delivery", w.Delivery); err != nil {
		return nil, err
	}
	b := &MessageBody{
		Envelope: e, ID: w.ID, Status: w.Status,
		RawResponse: w.Response, Delivery: w.Delivery, Beckon: w.Beckon,
	}
	if w.Response != nil {
		if b.Response, err = ParseResponse(w.Response); err != nil {
			return nil, within("response", err)
		}
	}
	return b, nil
}

// within puts the name of the enclosing field in front of an error's.
func within(field string, err error) error {
	e, ok := err.(*Error)
	if !ok {
		return err
	}
	inner := *e
	if inner.Field != "" {
		field += "." + inner.Field
	}
	inner.Field = field
	return &inner
}
