package fakeslack

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Call is one call of the Web API, as the log keeps it.
type Call struct {
	Method string
	At     time.Time
	Args   url.Values // JSON arguments as text; the token is left out
	Error  string     // the error code, "" if it went well
	Status int        // of HTTP; 0 if no answer was sent
	Effect bool       // whether the call was carried out
}

// Calls lists the calls so far, oldest first, of one method or of all ("").
func (s *Server) Calls(method string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Call
	for _, c := range s.calls {
		if method == "" || c.Method == method {
			out = append(out, c)
		}
	}
	return out
}

// call is one request being answered.
type call struct {
	method string
	app    *app
	args   url.Values
	json   object // the arguments of a JSON body
	isJSON bool
}

// apiError is Slack's way to say no: HTTP 200 and {"ok":false}.
type apiError struct {
	code   string
	extra  object // further fields of the body
	status int    // 200 if zero
	header map[string]string
}

func (e *apiError) Error() string { return e.code }

func fail(code string) *apiError { return &apiError{code: code} }

// failWith answers with problems in Slack's form.
func failWith(problems []Problem) *apiError {
	code := problems[0].Error
	switch code {
	case "msg_too_long", "msg_blocks_too_long", "markdown_text_conflict", "metadata_too_large", "too_many_attachments", "view_too_large":
		return fail(code)
	}
	var list []string
	for _, p := range problems {
		if p.Message == "only_one_table_allowed" {
			return &apiError{code: p.Error, extra: object{"response_metadata": object{"messages": []string{p.Message}}}}
		}
		if parent, ok := strings.CutSuffix(p.Pointer, "/text"); ok && strings.HasPrefix(p.Message, "must be ") {
			list = append(list, fmt.Sprintf("failed to match all allowed schemas [json-pointer:%s]", parent))
		}
		list = append(list, fmt.Sprintf("%s [json-pointer:%s]", p.Message, p.Pointer))
	}
	messages := make([]string, len(list))
	for i, m := range list {
		messages[i] = "[ERROR] " + m
	}
	return &apiError{code: code, extra: object{"errors": list, "response_metadata": object{"messages": messages}}}
}

// tokenKind is what may call a method.
type tokenKind int

const (
	botToken tokenKind = iota
	appToken
)

// method is one row of the table of methods.
type method struct {
	run    func(*Server, *call) (object, error)
	scopes []string // any one of them suffices; none is needed if empty
	tier   int      // calls a minute, see rate.go
	token  tokenKind
}

// methodTable is the Web API that there is. Tiers are those of java-slack-sdk's
// MethodsRateLimits, scopes those of the methods' pages.
func methodTable() map[string]method {
	any4 := []string{"channels:read", "groups:read", "im:read", "mpim:read"}
	history := []string{"channels:history", "groups:history", "im:history", "mpim:history"}
	return map[string]method{
		"api.test":              {run: (*Server).apiTest, tier: 100},
		"auth.test":             {run: (*Server).authTest, tier: 100},
		"team.info":             {run: (*Server).teamInfo, scopes: []string{"team:read"}, tier: 50},
		"bots.info":             {run: (*Server).botsInfo, scopes: []string{"users:read"}, tier: 50},
		"apps.connections.open": {run: (*Server).appsConnectionsOpen, scopes: []string{"connections:write"}, tier: 50, token: appToken},
		"blocks.validate":       {run: (*Server).blocksValidate, tier: 50},

		"chat.postMessage":   {run: (*Server).chatPostMessage, scopes: []string{"chat:write"}, tier: 300},
		"chat.postEphemeral": {run: (*Server).chatPostEphemeral, scopes: []string{"chat:write"}, tier: 100},
		"chat.update":        {run: (*Server).chatUpdate, scopes: []string{"chat:write"}, tier: 50},
		"chat.delete":        {run: (*Server).chatDelete, scopes: []string{"chat:write"}, tier: 50},
		"chat.getPermalink":  {run: (*Server).chatGetPermalink, tier: 100},

		"conversations.open":    {run: (*Server).conversationsOpen, scopes: []string{"im:write", "mpim:write"}, tier: 50},
		"conversations.info":    {run: (*Server).conversationsInfo, scopes: any4, tier: 50},
		"conversations.list":    {run: (*Server).conversationsList, scopes: any4, tier: 20},
		"conversations.members": {run: (*Server).conversationsMembers, scopes: any4, tier: 100},
		"conversations.join":    {run: (*Server).conversationsJoin, scopes: []string{"channels:join"}, tier: 50},
		"conversations.history": {run: (*Server).conversationsHistory, scopes: history, tier: 50},
		"conversations.replies": {run: (*Server).conversationsReplies, scopes: history, tier: 50},

		"users.info":          {run: (*Server).usersInfo, scopes: []string{"users:read"}, tier: 100},
		"users.list":          {run: (*Server).usersList, scopes: []string{"users:read"}, tier: 20},
		"users.lookupByEmail": {run: (*Server).usersLookupByEmail, scopes: []string{"users:read.email"}, tier: 50},
		"users.conversations": {run: (*Server).usersConversations, scopes: any4, tier: 50},

		"views.open":    {run: (*Server).viewsOpen, tier: 100},
		"views.push":    {run: (*Server).viewsPush, tier: 100},
		"views.update":  {run: (*Server).viewsUpdate, tier: 100},
		"views.publish": {run: (*Server).viewsPublish, tier: 100},

		"reactions.add":    {run: (*Server).reactionsAdd, scopes: []string{"reactions:write"}, tier: 50},
		"reactions.remove": {run: (*Server).reactionsRemove, scopes: []string{"reactions:write"}, tier: 20},
	}
}

// serveAPI answers one call: faults first, then who calls, how often, and what.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	c := &call{method: r.PathValue("method")}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "request_entity_too_large", http.StatusRequestEntityTooLarge)
		return
	}
	warning, err := c.parse(r, body)
	f := s.takeFault(c)
	if f != nil && !f.Effect {
		s.logCall(c, f.errorName(), f.httpStatus(), false)
		s.inject(w, r, f)
		return
	}
	var reply object
	m := method{}
	if err == nil {
		reply, m, err = s.carryOut(c, r)
	}
	if f != nil {
		s.logCall(c, f.errorName(), f.httpStatus(), err == nil)
		s.inject(w, r, f)
		return
	}
	s.answer(w, c, m, reply, warning, err)
}

// carryOut finds the method, checks token, scope and rate, and runs it.
func (s *Server) carryOut(c *call, r *http.Request) (object, method, error) {
	m, ok := s.methods[c.method]
	if !ok {
		return nil, m, &apiError{code: "unknown_method", extra: object{"req_method": c.method}}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.authenticate(c, m, r); err != nil {
		return nil, m, err
	}
	if err := s.checkRate(c, m); err != nil {
		return nil, m, err
	}
	reply, err := m.run(s, c)
	if err == nil {
		s.touch()
	}
	return reply, m, err
}

// authenticate finds the app of the token. Slack's order: is there a token, is
// it one, may this kind of token call, has it the scope.
func (s *Server) authenticate(c *call, m method, r *http.Request) error {
	if c.method == "api.test" {
		return nil
	}
	header, inHeader := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	token := header
	// A form may carry the token; a JSON body may not, and neither may
	// apps.connections.open (https://docs.slack.dev/apis/web-api/).
	if !inHeader && !c.isJSON && m.token == botToken {
		token = c.args.Get("token")
	}
	if token == "" {
		return fail("not_authed")
	}
	for _, a := range s.apps {
		switch token {
		case a.BotToken:
			c.app = a
			if m.token == appToken {
				return fail("not_allowed_token_type")
			}
			if a.tokenError != "" {
				return fail(a.tokenError)
			}
			return a.scope(m, a.Scopes)
		case a.AppToken:
			c.app = a
			if m.token != appToken && c.method != "auth.test" {
				return fail("not_allowed_token_type")
			}
			if a.tokenError != "" {
				return fail(a.tokenError)
			}
			if c.method == "auth.test" {
				return nil
			}
			return a.scope(m, a.AppScopes)
		}
	}
	return fail("invalid_auth")
}

func (a *app) scope(m method, have []string) error {
	if len(m.scopes) == 0 || slices.ContainsFunc(m.scopes, func(s string) bool { return slices.Contains(have, s) }) {
		return nil
	}
	return &apiError{code: "missing_scope", extra: object{
		"needed": strings.Join(m.scopes, ","), "provided": strings.Join(have, ","),
	}}
}

// parse reads the arguments of a form, of JSON or of the query.
func (c *call) parse(r *http.Request, body []byte) (warning string, err error) {
	c.args = r.URL.Query()
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		c.isJSON = true
		if params["charset"] == "" {
			warning = "missing_charset"
		}
		if len(body) == 0 { // slack-go sends apps.connections.open so
			return "", nil
		}
		m, err := decodeObject(body)
		if err != nil {
			return warning, fail("invalid_json")
		}
		c.json = m
		for name, val := range m {
			if str, ok := val.(string); ok {
				c.args.Set(name, str)
			} else if raw, err := json.Marshal(val); err == nil && val != nil {
				c.args.Set(name, string(raw))
			}
		}
	case "application/x-www-form-urlencoded":
		if params["charset"] != "" {
			warning = "superfluous_charset"
		}
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return warning, fail("invalid_form_data")
		}
		for name, vals := range form {
			c.args[name] = vals
		}
	case "multipart/form-data":
		return c.parseMultipart(body, params["boundary"])
	case "":
		if len(body) > 0 {
			return "", fail("missing_post_type")
		}
	default:
		return "", fail("invalid_post_type")
	}
	return warning, nil
}

// answer writes Slack's answer, which is HTTP 200 but for rate limits.
func (s *Server) answer(w http.ResponseWriter, c *call, m method, reply object, warning string, err error) {
	status, code := http.StatusOK, ""
	if reply == nil {
		reply = object{}
	}
	reply["ok"] = err == nil
	if err != nil {
		var e *apiError
		if !errors.As(err, &e) {
			e = fail("internal_error")
		}
		code = e.code
		reply = object{"ok": false, "error": e.code}
		for k, v := range e.extra {
			reply[k] = v
		}
		if e.status != 0 {
			status = e.status
		}
		for k, v := range e.header {
			w.Header().Set(k, v)
		}
	}
	if warning != "" {
		reply["warning"] = warning
		meta, _ := reply["response_metadata"].(object)
		if meta == nil {
			meta = object{}
		}
		meta["warnings"] = []string{warning}
		reply["response_metadata"] = meta
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("X-Slack-Req-Id", randomHex(16))
	if c.app != nil {
		h.Set("X-OAuth-Scopes", strings.Join(c.app.Scopes, ","))
		if m.scopes != nil {
			h.Set("X-Accepted-OAuth-Scopes", strings.Join(m.scopes, ","))
		}
	}
	s.logCall(c, code, status, err == nil)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(reply)
}

func (s *Server) logCall(c *call, code string, status int, effect bool) {
	args := url.Values{}
	for name, vals := range c.args {
		if name != "token" {
			args[name] = vals
		}
	}
	s.opts.Log.Info("call", "method", c.method, "error", code, "status", status)
	s.locked(func() {
		s.calls = capped(s.calls, Call{Method: c.method, At: s.clock.now(), Args: args, Error: code, Status: status, Effect: effect})
		s.touch()
	})
}

// keptLog bounds the logs of calls and deliveries.
const keptLog = 50_000

// capped appends to a log and forgets its older half when it is full.
func capped[T any](list []T, x T) []T {
	if len(list) >= keptLog {
		list = slices.Clone(list[keptLog/2:])
	}
	return append(list, x)
}

func (c *call) str(name string) string { return c.args.Get(name) }

func (c *call) has(name string) bool { return c.args.Has(name) }

// yes reads a flag: true, 1.
func (c *call) yes(name string) bool {
	ok, _ := strconv.ParseBool(c.str(name))
	return ok
}

// no says whether a flag is given and false.
func (c *call) no(name string) bool { return c.has(name) && !c.yes(name) }

func (c *call) int(name string, otherwise int) int {
	if n, err := strconv.Atoi(c.str(name)); err == nil {
		return n
	}
	return otherwise
}

// value reads an argument that is JSON, in a JSON body or as text.
func (c *call) value(name string) (any, error) {
	if v, ok := c.json[name]; ok {
		if str, isText := v.(string); !isText || str == "" {
			return v, nil
		}
	}
	text := c.str(name)
	if text == "" {
		return nil, nil
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return v, nil
}
