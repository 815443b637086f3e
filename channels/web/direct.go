package web

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"time"

	"beckon/hub"
	"beckon/templates"
)

// sentRows is how much of what a person wrote one page shows.
const sentRows = 20

// showTell shows where a person writes to agents, and what became of it.
func (c *Channel) showTell(w http.ResponseWriter, r *http.Request) {
	s := c.session(r, "")
	if s == nil {
		c.signInPage(w, r)
		return
	}
	p := c.tellPage(r, s, r.URL.Query().Get("agent"))
	if p == nil {
		c.problem(http.StatusServiceUnavailable, "internal")(w, r)
		return
	}
	if r.URL.Query().Has("told") {
		p.Notice = &templates.Notice{Good: true, Text: "Passed on. What became of it stands below."}
	}
	c.render(w, r, http.StatusOK, "tell", p)
}

// tellPage reads the page; nil when the hub can't.
func (c *Channel) tellPage(r *http.Request, s *session, chosen string) *templates.TellPage {
	p := &templates.TellPage{Page: c.base(s, ""), Nonce: newID()}
	for _, id := range c.desk.DirectableAgents(s.Person) {
		p.Agents = append(p.Agents, templates.TellAgent{ID: id, Seen: c.seen(r, id), Chosen: id == chosen})
	}
	sent, err := c.desk.Sent(r.Context(), s.Person, hub.SentQuery{Before: r.URL.Query().Get("before"), Limit: sentRows + 1})
	if err != nil {
		c.log.ErrorContext(r.Context(), "read what was written to agents", "err", err)
		return nil
	}
	if len(sent) > sentRows {
		sent = sent[:sentRows]
		p.More = "/tell?before=" + sent[sentRows-1].ID
	}
	for i := range sent {
		m := &sent[i]
		p.Sent = append(p.Sent, templates.TellLine{At: m.CreatedAt, Agent: m.AgentID, Title: m.Title, Body: m.Body, State: templates.Sent(m, s.person)})
	}
	return p
}

// seen says when an agent last showed that it is there.
func (c *Channel) seen(r *http.Request, agentID string) string {
	at, err := c.desk.LastSeen(r.Context(), agentID)
	if err != nil {
		c.log.WarnContext(r.Context(), "read when an agent was seen", "agent", agentID, "err", err)
	}
	return templates.LastSeen(at, time.Now())
}

// tell takes the form of the page for all agents.
func (c *Channel) tell(w http.ResponseWriter, r *http.Request, s *session) {
	agent := r.PostForm.Get("agent")
	o, err := c.direct(r, s, agent, "")
	if err == nil && o.Kind == hub.Accepted {
		http.Redirect(w, r, "/tell?told", http.StatusSeeOther)
		return
	}
	p := c.tellPage(r, s, agent)
	if p == nil {
		c.problem(http.StatusServiceUnavailable, "internal")(w, r)
		return
	}
	var status int
	p.Form, p.Notice, status = told(r, o, err)
	if err != nil {
		p.Nonce = r.PostForm.Get("nonce") // so that sending it again can't count twice
	}
	c.render(w, r, status, "tell", p)
}

// tellNotYet takes that form from a sign-in that is over.
func (c *Channel) tellNotYet(w http.ResponseWriter, r *http.Request, s *session) {
	if s == nil {
		c.lapsed(w, r, templates.Text(typed(r.PostForm, "text")))
		return
	}
	p := c.tellPage(r, s, r.PostForm.Get("agent"))
	if p == nil {
		c.problem(http.StatusServiceUnavailable, "internal")(w, r)
		return
	}
	p.Form.Text = typed(r.PostForm, "text")
	p.Notice = &templates.Notice{Text: "Nothing has been passed on yet: this page was made for an earlier sign-in. What you typed is still below. Send it again."}
	c.render(w, r, http.StatusForbidden, "tell", p)
}

// tellItem takes the form on a message's page.
func (c *Channel) tellItem(w http.ResponseWriter, r *http.Request, s *session) {
	id := r.PathValue("id")
	p, err := c.item(r, s, id)
	if err != nil {
		c.itemError(w, r, err)
		return
	}
	o, err := c.direct(r, s, p.Card.AgentID, id)
	if err == nil && o.Kind == hub.Accepted {
		http.Redirect(w, r, itemPath(id)+"?told", http.StatusSeeOther)
		return
	}
	form, n, status := told(r, o, err)
	if p.Tell != nil {
		p.Tell.Text, p.Tell.Error = form.Text, form.Error
	}
	if p.Notice = n; err != nil {
		p.Nonce = r.PostForm.Get("nonce")
	}
	c.render(w, r, status, "item", p)
}

// told says what became of a form that was not accepted, with what was typed.
func told(r *http.Request, o hub.DirectOutcome, err error) (templates.TellForm, *templates.Notice, int) {
	f := templates.TellForm{Text: typed(r.PostForm, "text")}
	if err != nil {
		return f, &templates.Notice{Text: "The hub could not pass this on just now. What you typed is still below. Send it again."}, http.StatusServiceUnavailable
	}
	if o.Kind == hub.Unclear && len(o.Fields) > 0 {
		f.Error = o.Fields[0].Msg
	}
	return f, &templates.Notice{Text: templates.Direct(&o)}, statusOf(hub.Outcome{Kind: o.Kind, Reason: o.Reason})
}

// direct passes what was typed on; about is a message's id, or "".
func (c *Channel) direct(r *http.Request, s *session, agent, about string) (hub.DirectOutcome, error) {
	text := typed(r.PostForm, "text")
	nonce := r.PostForm.Get("nonce")
	if nonce == "" {
		nonce = newID()
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{nonce, agent, about, text}, "\x00")))
	o, err := c.desk.Direct(r.Context(), hub.Direction{
		AgentID: agent, Person: s.Person, Body: text, About: about,
		Receipt: hub.Receipt{
			Channel: Name, Key: strings.Join([]string{"tell", s.Person, base64.RawURLEncoding.EncodeToString(sum[:18])}, "/"),
			Evidence: s.evidence(userAgent(r)), Reusable: true,
		},
	})
	if err != nil {
		c.log.ErrorContext(r.Context(), "write to an agent", "agent", agent, "err", err)
	}
	return o, err
}
