package web

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"
)

// act takes a form of a message's page to the hub. What is accepted leads back
// to the page; everything else is shown at once, with what was typed.
func (c *Channel) act(verb hub.Verb) func(http.ResponseWriter, *http.Request, *session) {
	return func(w http.ResponseWriter, r *http.Request, s *session) {
		p, err := c.item(r, s, r.PathValue("id"))
		if err != nil {
			c.itemError(w, r, err)
			return
		}
		a := readAnswer(r, p.Card, s.person, verb)
		a.Receipt = hub.Receipt{Channel: Name, Key: receiptKey(r, s, verb), Evidence: s.evidence(userAgent(r)), Reusable: true}
		out, err := c.desk.Answer(r.Context(), a)
		if err == nil && out.Kind == hub.Accepted {
			to := "?recorded"
			if verb == hub.VerbTick {
				to = "?saved"
			}
			http.Redirect(w, r, itemPath(a.MessageID)+to, http.StatusSeeOther)
			return
		}
		if err != nil {
			c.log.ErrorContext(r.Context(), "answer", "message", a.MessageID, "err", err)
			keepTyped(p, r, s.person)
			p.Nonce = r.PostForm.Get("nonce") // so that sending it again can't count twice
			p.Notice = &templates.Notice{Kind: "unknown"}
			c.render(w, r, http.StatusServiceUnavailable, "item", p)
			return
		}
		c.showOutcome(w, r, s, out)
	}
}

// notYet takes a form that was made for a sign-in that is over. What was typed
// comes back: to be sent again by whoever has signed in since, else to be
// copied.
func (c *Channel) notYet(w http.ResponseWriter, r *http.Request, s *session) {
	id := r.PathValue("id")
	if s == nil {
		c.lapsed(w, r, typedPlainly(r.PostForm))
		return
	}
	p, err := c.item(r, s, id)
	if err != nil {
		c.itemError(w, r, err)
		return
	}
	keepTyped(p, r, s.person)
	p.Notice = &templates.Notice{Kind: "again"}
	if !p.CanRespond() {
		p.Notice = &templates.Notice{Text: "Nothing has been recorded: this page was made for an earlier sign-in."}
	}
	c.render(w, r, http.StatusForbidden, "item", p)
}

// typedPlainly collects what was typed where no card tells what is sensitive.
// The form itself says which fields are not; one that doesn't loses them.
func typedPlainly(f url.Values) string {
	var out []string
	for _, name := range append(strings.Fields(f.Get("plain")), "comment", "reason") {
		if s := typed(f, name); s != "" && name != "csrf" && name != "nonce" {
			out = append(out, templates.Text(s))
		}
	}
	return strings.Join(out, "\n")
}

func (c *Channel) showOutcome(w http.ResponseWriter, r *http.Request, s *session, out hub.Outcome) {
	// Read again: what the hub said may have changed what there is to see.
	p, err := c.item(r, s, r.PathValue("id"))
	if err != nil {
		c.itemError(w, r, err)
		return
	}
	keepTyped(p, r, s.person)
	p.Notice = &templates.Notice{
		Good: out.Kind == hub.Counted || out.Kind == hub.Held,
		Text: templates.Outcome(out, s.person),
	}
	if out.Kind == hub.Unclear && p.CanRespond() {
		placeErrors(p, out.Fields)
	}
	c.render(w, r, statusOf(out), "item", p)
}

func statusOf(o hub.Outcome) int {
	switch o.Kind {
	case hub.AlreadyResolved:
		return http.StatusConflict
	case hub.Unclear:
		return http.StatusUnprocessableEntity
	case hub.Refused:
		switch o.Reason {
		case hub.ReasonInvalid:
			return http.StatusUnprocessableEntity
		case hub.ReasonNotFound:
			return http.StatusNotFound
		}
		return http.StatusForbidden
	}
	return http.StatusOK
}

// readAnswer turns the form into an Answer; whether it is valid is the hub's to
// say.
func readAnswer(r *http.Request, card *hub.Card, who *hub.Person, verb hub.Verb) hub.Answer {
	f := r.PostForm
	a := hub.Answer{MessageID: card.MessageID, Actor: who.Actor(), Verb: verb, Comment: typed(f, "comment")}
	switch verb {
	case hub.VerbAnswer:
		if card.Mode == ma2h.Input {
			a.Fields = readFields(f, card, who)
		} else {
			a.Option, _ = strconv.Atoi(f.Get("option"))
		}
	case hub.VerbDecline, hub.VerbDismiss:
		if reason := typed(f, "reason"); reason != "" {
			a.Comment = reason
		}
	}
	if card.Type == ma2h.Task && len(card.Checklist) > 0 {
		a.Checklist = readSteps(f, card.Checklist)
	}
	return a
}

func readSteps(f url.Values, list []ma2h.ChecklistItem) []ma2h.ChecklistItem {
	out := slices.Clone(list)
	for i := range out {
		out[i].Done = slices.Contains(f["step"], strconv.Itoa(i+1))
	}
	return out
}

// typed returns a text as it was typed: browsers send CR LF for a line break.
func typed(f url.Values, name string) string {
	return strings.TrimSpace(strings.ReplaceAll(f.Get(name), "\r\n", "\n"))
}

// keepTyped puts what somebody typed back into the page; never what is
// sensitive. Where the form is gone, it is shown to be copied.
func keepTyped(p *templates.ItemPage, r *http.Request, who *hub.Person) {
	f := r.PostForm
	p.Comment, p.Reason = typed(f, "comment"), typed(f, "reason")
	p.ExpandDecline = p.Reason != ""
	var lost []string
	for i := range p.Fields {
		field := &p.Fields[i]
		refill(field, f)
		if v := field.Value; v != "" && !field.Sensitive && f.Has(field.Name) {
			lost = append(lost, field.Title+": "+v)
		}
	}
	if p.IsTask() && len(p.Steps) > 0 && p.CanRespond() {
		p.Steps = readSteps(f, p.Steps)
	}
	if !p.CanRespond() {
		for _, s := range []string{p.Comment, p.Reason} {
			if s != "" {
				lost = append(lost, s)
			}
		}
		p.Lost = strings.Join(lost, "\n")
	}
}

// placeErrors puts each complaint at its field, lists them all with a link to
// the field. Where one finds no place, the notice says them all.
func placeErrors(p *templates.ItemPage, errs []hub.FieldError) {
	p.Errors = map[string]string{}
	placed := len(errs) > 0
	var mend []templates.Link
	for _, e := range errs {
		i := slices.IndexFunc(p.Fields, func(f templates.FormField) bool { return f.Field.Name == e.Field })
		switch {
		case i >= 0:
			p.Fields[i].Error = e.Msg
			mend = append(mend, templates.Link{Label: templates.Line(p.Fields[i].Title + ": " + e.Msg), Href: "#" + p.Fields[i].ID})
		case e.Field == "comment" || e.Field == "value" || e.Field == "checklist":
			p.Errors[e.Field] = e.Msg
			mend = append(mend, templates.Link{Label: names[e.Field] + ": " + e.Msg, Href: "#" + e.Field})
		default:
			placed = false
		}
	}
	if placed {
		p.Notice.Kind, p.Notice.Mend = "mend", mend
	}
}

// names are what the page calls what is not a field of the agent's form.
var names = map[string]string{"comment": "Comment", "value": "Choice", "checklist": "Steps"}

// receiptKey names one sending of one form. The nonce makes a double click one
// answer; what was sent is in the key too, so that a form that was mended and
// sent again is another. The hash tells nothing of a sensitive value, since
// nobody keeps the nonce.
func receiptKey(r *http.Request, s *session, verb hub.Verb) string {
	nonce := r.PostForm.Get("nonce")
	if nonce == "" {
		nonce = newID()
	}
	h := sha256.New()
	for _, k := range slices.Sorted(maps.Keys(r.PostForm)) {
		if k == "csrf" {
			continue
		}
		// Quoting keeps neighbouring values apart.
		h.Write([]byte(strconv.Quote(k) + "="))
		for _, v := range r.PostForm[k] {
			h.Write([]byte(strconv.Quote(v) + ","))
		}
	}
	h.Write([]byte(strconv.Quote(nonce)))
	sum := base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:18])
	return strings.Join([]string{r.PathValue("id"), s.Person, string(verb), sum}, "/")
}

// maxAgentText is how much of a User-Agent the history keeps, in runes.
const maxAgentText = 200

func userAgent(r *http.Request) string {
	s, _ := templates.Cut(templates.Line(r.UserAgent()), maxAgentText)
	return s
}
