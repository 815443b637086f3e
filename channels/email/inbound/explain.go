package inbound

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// Context is one question as it was sent to one person, written down, so that
// somebody can ask what a hub would make of a mail about it. Addresses and tokens
// in it are opaque and compared without letter case.
type Context struct {
	Question   string   `json:"question"`    // its id
	Text       string   `json:"text"`        // of our mail
	Options    []string `json:"options"`     // none: it takes any text
	Recipient  string   `json:"recipient"`   // the person's address
	ReplyTo    string   `json:"reply_to"`    // with the token
	MessageID  string   `json:"message_id"`  // of our mail
	AuthservID string   `json:"authserv_id"` // of our server; "" trusts none
	VERP       string   `json:"verp"`        // envelope address of our mail
	Policy     Policy   `json:"policy"`      // "" is normal
	// Late are the Message-IDs of mails that came after the question had been
	// answered.
	Late []string `json:"late"`
}

// ReadContext reads a context in JSON, or the one under the key "context" of an
// object. Keys that it does not know are passed over.
func ReadContext(data []byte) (*Context, error) {
	var within struct {
		Context *Context `json:"context"`
	}
	if err := json.Unmarshal(data, &within); err != nil {
		return nil, fmt.Errorf("it is no JSON object with a context: %w", err)
	}
	c := within.Context
	if c == nil {
		c = new(Context)
		if err := json.Unmarshal(data, c); err != nil {
			return nil, fmt.Errorf("it is no JSON object with a context: %w", err)
		}
	}
	return c, c.check()
}

// check says what is missing or wrong.
func (c *Context) check() error {
	for _, f := range []struct{ name, value string }{{"question", c.Question}, {"recipient", c.Recipient}, {"reply_to", c.ReplyTo}} {
		if strings.TrimSpace(f.value) == "" {
			return fmt.Errorf("%s is missing: it needs question, recipient and reply_to", f.name)
		}
	}
	for _, f := range []struct{ name, value string }{{"recipient", c.Recipient}, {"reply_to", c.ReplyTo}, {"verp", c.VERP}} {
		if f.value != "" && canonical(f.value) == "" {
			return fmt.Errorf("%s: %q is no address such as hub@example.com", f.name, f.value)
		}
	}
	switch c.Policy {
	case "", Strict, Normal, Token:
		return nil
	}
	return fmt.Errorf("policy: %q is none of strict, normal, token", c.Policy)
}

// Explainer judges mails in a [Context], one after the other: a mail that comes
// again is a duplicate. It is not safe for concurrent use.
type Explainer struct {
	context *Context
	reader  *Reader
	seen    map[string]bool
	card    *hub.Card
}

// NewExplainer returns one that has seen nothing.
func NewExplainer(c *Context) *Explainer {
	local, domain := splitAddress(c.ReplyTo)
	base, _, _ := strings.Cut(local, "+")
	r := &Reader{Addresses: []string{base + "@" + domain}, Instance: domain, Policy: c.Policy, AuthservID: c.AuthservID}
	if local, domain := splitAddress(c.VERP); domain != "" {
		base, _, _ := strings.Cut(local, "+")
		r.Addresses = append(r.Addresses, base+"@"+domain)
	}
	return &Explainer{context: c, reader: r, seen: map[string]bool{}, card: c.card()}
}

// card is the question as a channel would see it.
func (c *Context) card() *hub.Card {
	local, _ := splitAddress(c.ReplyTo)
	agent, _, _ := strings.Cut(local, "+") // "Hi Hub," greets nobody else
	card := &hub.Card{MessageID: c.Question, AgentID: agent, Type: ma2h.Ask, Status: ma2h.Open, Title: firstLine(c.Text), Mode: ma2h.Select, CanAnswer: true, MayAnswer: true}
	switch len(c.Options) {
	case 0:
		card.Mode = ma2h.Input
		card.Fields = []hub.Field{{Name: "answer", Title: "answer", Type: hub.FieldString, Required: true}}
	case 2:
		card.Mode = ma2h.Confirm // yes and no count where the options say which is which
	}
	for i, o := range c.Options {
		card.Options = append(card.Options, hub.CardOption{N: i + 1, Value: o, Label: o})
	}
	return card
}

// Explanation is a verdict in the words of the command line.
type Explanation struct {
	Kind    Kind     `json:"kind"`
	Who     *string  `json:"who"`    // the person's address
	Choice  *string  `json:"choice"` // the option that the text names; it counts only for the kind answer
	Text    string   `json:"text"`   // what the person wrote
	Reasons []string `json:"reasons"`
}

// Explain judges one mail.
func (e *Explainer) Explain(ctx context.Context, raw []byte) (*Explanation, error) {
	m := Parse(raw)
	v, err := e.reader.Judge(ctx, m, Envelope{}, &contextFinder{e, slices.Contains(e.late(), m.MessageID())})
	if err != nil {
		return nil, err
	}
	e.seen[v.Key] = true
	out := &Explanation{Kind: v.Kind, Text: v.Text, Reasons: v.Reasons}
	if v.Who != "" {
		out.Who = &v.Who
	}
	if v.Reading.Clear() && v.Reading.Option > 0 {
		out.Choice = &e.context.Options[v.Reading.Option-1]
	}
	return out, nil
}

func (e *Explainer) late() []string {
	var out []string
	for _, id := range e.context.Late {
		out = append(out, messageIDs(id)...)
	}
	return out
}

// contextFinder knows the one question of a context. Other questions of which it
// sees the id are over.
type contextFinder struct {
	*Explainer
	late bool // this mail came after the answer
}

func (f *contextFinder) question(id string) *Question {
	c := f.context
	q := &Question{ID: id, Person: c.Recipient, Addresses: []string{c.Recipient}, State: Over}
	if strings.EqualFold(id, c.Question) {
		q.ID, q.State, q.Card, q.Sent = c.Question, Open, f.card, []string{c.Text}
		q.Subject = "[" + strings.ToUpper(c.Question) + "] " + firstLine(c.Text)
		if f.late {
			q.State = Resolved
		}
	}
	return q
}

// Address implements [Finder].
func (f *contextFinder) Address(_ context.Context, addr string) (Match, error) {
	switch canonical(addr) {
	case "":
	case canonical(f.context.ReplyTo):
		return Match{Found: true, Via: ViaToken, Question: f.question(f.context.Question)}, nil
	case canonical(f.context.VERP):
		return Match{Found: true, Via: ViaVERP, Question: f.question(f.context.Question)}, nil
	}
	return Match{}, nil
}

// MessageID implements [Finder]: our mail's own id, and others of its shape, which
// begin with the id of a question.
func (f *contextFinder) MessageID(_ context.Context, id string) (Match, error) {
	ours := messageIDs(f.context.MessageID)
	if len(ours) == 0 {
		return Match{}, nil
	}
	local, domain := splitAddress(strings.ToLower(id))
	ourLocal, ourDomain := splitAddress(strings.ToLower(ours[0]))
	if local == ourLocal && domain == ourDomain {
		return Match{Found: true, Question: f.question(f.context.Question)}, nil
	}
	question, rest, _ := strings.Cut(local, ".")
	_, ourRest, _ := strings.Cut(ourLocal, ".")
	if domain != ourDomain || !f.isQuestionID(question) {
		return Match{}, nil
	}
	if person, _, _ := strings.Cut(rest, "."); rest != "" && !strings.HasPrefix(ourRest, person+".") {
		return Match{Ours: true}, nil // of somebody else
	}
	return Match{Found: true, Question: f.question(question)}, nil
}

// isQuestionID reports whether an id is made as that of the question is: the same
// letters, and other digits.
func (f *contextFinder) isQuestionID(id string) bool {
	shape := digits.ReplaceAllString(regexp.QuoteMeta(strings.ToLower(f.context.Question)), `\d+`)
	ok, err := regexp.MatchString("^"+shape+"$", strings.ToLower(id))
	return err == nil && ok
}

var digits = regexp.MustCompile(`\d+`)

// Subject implements [Finder].
func (f *contextFinder) Subject(_ context.Context, tag string) (Match, error) {
	if !f.isQuestionID(tag) {
		return Match{}, nil
	}
	return Match{Found: true, Question: f.question(strings.ToLower(tag))}, nil
}

// Seen implements [Finder].
func (f *contextFinder) Seen(_ context.Context, key string) (bool, error) { return f.seen[key], nil }

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(s)
}
