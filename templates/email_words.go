package templates

import (
	"strings"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// MailReply is how a person must write to be understood, in the parts that the
// reader of replies gives.
type MailReply struct {
	Numbers string   // "1, 2 or 3", "1 to 12"; "" when no number is read
	Words   string   // "ship, hold, abort"; "" when no words are
	YesNo   bool     // yes and no are read
	Decline bool     // "decline" is read
	Takes   []string // of each field of a form: "yes or no", "a number", …
}

// maxMailTitle is how many runes of a title a subject takes.
const maxMailTitle = 150

// subjectOf is the same for a whole thread, but for its "Re: ".
func (m *Mail) subjectOf() string {
	switch m.Kind {
	case MailLink:
		return "Your link to sign in to Beckon"
	case MailTest:
		return "Beckon checks that its mail arrives"
	}
	title, _ := Cut(Line(m.Card.Title), maxMailTitle)
	if title == "" {
		title = "(no title)"
	}
	s := "[" + m.Tag + "] " + title
	if m.Kind != MailAsk {
		s = "Re: " + s
	}
	return s
}

// asks says who asks, for which project and how urgently.
func asks(c *hub.Card) string {
	verb := " asks"
	switch {
	case c.Type == ma2h.Notify:
		verb = " lets you know"
	case c.Type == ma2h.Task:
		verb = " asks for something to be done"
	}
	s := short(c.AgentID) + verb
	var more []string
	if p := short(c.Project); p != "" {
		more = append(more, p)
	}
	if c.Priority != "" {
		more = append(more, string(c.Priority))
	}
	if len(more) > 0 {
		s += " (" + strings.Join(more, ", ") + ")"
	}
	return s + "."
}

// mailLimit says until when and what happens then. A mail is read at any time,
// so it names the day, and whose clock it goes by.
func mailLimit(c *hub.Card) string {
	if c.Status != ma2h.Open {
		return ""
	}
	if c.ExpiresAt.IsZero() {
		return "There is no deadline."
	}
	verb, then := "Answer by ", "If nobody answers: "+full(Then(c))
	switch {
	case c.Hidden: // it may have a default all the same
		then = ""
	case c.Type == ma2h.Task:
		verb, then = "Do it by ", "After that it expires, not done."
	case c.OnExpire == "" && len(c.OnExpireValues) > 0:
		then = "If nobody answers, this is sent: " + full(Then(c))
	case c.OnExpire == "":
		then = "If nobody answers, it expires without an answer."
	}
	return strings.TrimSpace(verb + mailTime(c.ExpiresAt, c.Reader) + ". " + then)
}

// full ends a sentence.
func full(s string) string {
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, "?") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "…") {
		return s
	}
	return s + "."
}

// mailTime writes a time by the reader's clock and names the clock: "Tue 1 Dec,
// 18:00 Singapore time".
func mailTime(t time.Time, reader *hub.Person) string {
	loc := time.UTC
	if reader != nil && reader.Location != nil {
		loc = reader.Location
	}
	t = t.In(loc)
	layout := "Mon 2 Jan, 15:04"
	if t.Year() != time.Now().In(loc).Year() {
		layout = "Mon 2 Jan 2006, 15:04"
	}
	return t.Format(layout) + " " + clockName(t)
}

// clockName names a time zone as people do: by its city.
func clockName(t time.Time) string {
	name := t.Location().String()
	if i := strings.LastIndexByte(name, '/'); i >= 0 && !strings.HasPrefix(name, "Etc/") {
		return strings.ReplaceAll(name[i+1:], "_", " ") + " time"
	}
	abbr := t.Format("MST")
	if strings.HasPrefix(abbr, "+") || strings.HasPrefix(abbr, "-") {
		return "UTC" + abbr
	}
	return abbr
}

const commentFollows = " on the first line. What follows becomes your comment."

// howToReply says how to answer a card by mail; the first sentence is the way to
// answer, the others are what else there is.
func howToReply(c *hub.Card, r *MailReply) []string {
	switch {
	case c.Type == ma2h.Notify && c.MayDirect && !c.Hidden:
		return []string{"This is for your information. What you reply to this mail goes to the agent."}
	case c.Type == ma2h.Notify:
		return []string{"This is for your information; it wants no answer."}
	case !c.MayAnswer:
		return []string{OnlyThese(c.AskedOf, c.AskedTeam)}
	case c.Hidden:
		return []string{"The agent marked this as sensitive, so it is read and answered on the page only."}
	case c.PageOnly:
		return []string{"It asks for something secret, so it is answered on the page only."}
	case c.Type == ma2h.Task:
		return howToDo(c)
	case !c.CanAnswer && !c.CanDecline:
		return []string{"The agent takes no answer here."}
	case !c.CanAnswer:
		if r.Decline {
			return []string{`The agent takes no answer here. To decline, reply to this mail with "decline".`}
		}
		return []string{"The agent takes no answer here; it can be declined on the page."}
	}
	how := howToAnswer(c, r)
	if r.Decline {
		how = append(how, `To decline, reply "decline".`)
	}
	return how
}

func howToDo(c *hub.Card) []string {
	done, cant := `with "done"`, `with "can't do"`
	switch {
	case c.CanAnswer && c.CanDecline:
		return []string{"When it is done, reply to this mail " + done + ", else " + cant + "," + commentFollows}
	case c.CanAnswer:
		return []string{"When it is done, reply to this mail " + done + commentFollows}
	case c.CanDecline:
		return []string{"If you can't do it, reply to this mail " + cant + commentFollows}
	}
	return []string{"The agent takes no answer here."}
}

func howToAnswer(c *hub.Card, r *MailReply) []string {
	if c.Mode == ma2h.Input {
		return howToFill(c, r)
	}
	what := r.Numbers
	switch {
	case r.YesNo && r.Numbers != "":
		what = "yes or no (or " + r.Numbers + ")"
	case r.YesNo:
		what = "yes or no"
	case what == "" && r.Words != "":
		what = Line(r.Words)
	case what == "":
		return []string{"No reply would say plainly which of these is meant, so answer on the page."}
	case strings.Contains(what, " to "):
		what = "a number from " + what
	}
	return []string{"To answer, reply to this mail with " + what + commentFollows}
}

func howToFill(c *hub.Card, r *MailReply) []string {
	if len(c.Fields) != 1 {
		return []string{
			"To answer, reply to this mail with one line for each field, its name and a colon first, as above.",
			"After a blank line you may add a comment.",
		}
	}
	f := &c.Fields[0]
	name := short(f.Name)
	if f.Type == hub.FieldString && len(f.Enum) == 0 {
		return []string{"To answer, reply to this mail with the text of " + name + " alone."}
	}
	takes := "its value"
	if len(r.Takes) == 1 && r.Takes[0] != "" {
		takes = Line(r.Takes[0])
	}
	return []string{"To answer, reply to this mail with " + takes + commentFollows}
}

// mailEnding says how a message ended to somebody who was asked by mail.
func mailEnding(c *hub.Card) string {
	d := c.Decision
	if d == nil {
		return "This is " + Status(c.Status) + "."
	}
	s := Decision(d, c.Reader)
	switch own := c.Reader != nil && d.Actor == c.Reader.Actor(); {
	case own && d.Via != "email", d.Resolution == ma2h.Expired:
		return s
	case !own:
		return s + " Nothing is left for you to do."
	}
	what := ""
	switch {
	case d.Resolution == ma2h.Declined:
		what = ": declined"
	case d.Resolution == ma2h.Completed:
		what = ": done"
	case d.Resolution == ma2h.Dismissed:
		what = ": can't be done"
	case d.Choice != "":
		what = ": " + short(d.Choice)
	case len(d.Values) > 0:
		what = ", with the values below"
	}
	got := "The agent gets it when it next asks."
	if t := c.Track; t != nil && (t.State == hub.TrackDelivered || t.State == hub.TrackAcked) {
		got = "The agent has it."
	}
	return "Recorded" + what + ". " + got + " If this is wrong, tell the owner of " + short(c.AgentID) + "; an answer can't be changed."
}

// mailOutcome is [Outcome] for somebody who wrote a mail.
func mailOutcome(o *hub.Outcome, c *hub.Card) string {
	switch {
	case o.Direct != nil:
		return Direct(o.Direct)
	case o.Kind == hub.AlreadyResolved && o.Reason != hub.ReasonNotify && o.Status != ma2h.Delivered:
		return mailLate(c, o.Decision)
	case o.Kind == hub.Refused && o.Reason == hub.ReasonNotAllowed:
		return OnlyThese(o.May, o.MayTeam) + " Your reply was not recorded."
	}
	return Outcome(*o, c.Reader)
}

// tellInstead says how what was no answer gets to the agent all the same, "" when
// this reader can't write to it.
func tellInstead(c *hub.Card) string {
	if !c.MayDirect || c.Hidden || c.PageOnly || c.Type == ma2h.Notify {
		return ""
	}
	return ` If it was meant for the agent and not as an answer, reply with "tell" on the first line and your text below it.`
}

// mailLate answers a reply that came after the end; d may be nil.
func mailLate(c *hub.Card, d *hub.Decision) string {
	if d == nil {
		d = c.Decision
	}
	s := Decision(d, c.Reader)
	if s == "" {
		s = "This is already " + Status(c.Status) + "."
	}
	return s + " Your reply changed nothing."
}

// mailDoubt is said to the person's known address when somebody else may have
// written. From is the address that the mail came from, "" when that is their
// own and nothing proves it.
func mailDoubt(from string) string {
	const end = " on the page."
	if from == "" {
		return "A reply came in your name, but nothing shows that it is from you. It was not recorded. " +
			"If it was you, answer again with your usual mail program or" + end
	}
	return "A reply came from another address (" + veil(from) + "). It was not recorded. If it was you, answer from this address or" + end
}

// veil leaves of an address what its owner recognises: "…@gmail.com".
func veil(addr string) string {
	addr = short(addr)
	i := strings.LastIndexByte(addr, '@')
	if i < 0 || i == len(addr)-1 {
		return "one without a domain"
	}
	return "…" + addr[i:]
}

// What is said when a reply can't be read at all.
const mailUnreadable = "I couldn't read your reply: it is encrypted, or in a form that only one program reads. " +
	"Nothing has been recorded. Reply in plain text, or answer on the page."
