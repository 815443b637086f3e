package templates

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"beckon/hub"
	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json/jsontext"
)

// Page is what every page has.
type Page struct {
	CSS     string      // path of the style sheet
	JS      string      // path of the script
	Person  *hub.Person // who has signed in; nil for nobody
	Whole   bool        // the sign-in reaches the person's whole list
	CSRF    string      // goes into every form
	SignOut string      // where the sign-out form goes
	Live
}

// Live is what the script keeps a page up to date by. The zero Live is a page
// that stands still.
type Live struct {
	Self     string    // path that shows the same page again
	Watch    string    // path of its events; "" when nothing more can change
	Revision string    // of what the page shows
	Now      time.Time // of the hub's clock, for the countdown
}

// ListPage is a person's list, in the order of its sections.
type ListPage struct {
	Page
	Show     string // one of [Shows]
	Tabs     []Link
	Filters  []Filter
	Filtered bool   // some filter is set
	Clear    string // path of the same list without filters
	Sections []Section
	MayTell  bool   // there is an agent that the person may write to
	Paged    bool   // this is not the first page
	Newest   string // path of the first one
}

// Shows are the ways to look at the list: "" is what waits and what was decided
// lately, "open" only what waits, "answered" what the person decided, "all"
// everything.
func Shows() []string { return []string{"", "open", "answered", "all"} }

// Section is a run of messages, newest first.
type Section struct {
	Kind string // "open", "others", "past", "answered" or "all": which words go with it
	Rows []*hub.Card
	More string // path of the next page; "" for the last
	// Looked is how far a search went when it gave up before it had a page
	// full; More continues it. Zero: it did not.
	Looked int
}

// Filter is one of the selects above the list.
type Filter struct {
	Name, Label string
	Choices     []Choice
}

// Link leads somewhere. Current is where one is.
type Link struct {
	Label, Href string
	Current     bool
}

// ItemPage is one message.
type ItemPage struct {
	Page
	Card   *hub.Card
	Nonce  string // makes sending a form twice one answer
	Action string // path that the form's actions hang below, such as /i/msg_1
	Notice *Notice
	Fields []FormField
	Parts  []Part
	Steps  []ma2h.ChecklistItem
	// What somebody has typed, kept when it was not accepted.
	Comment, Reason string
	Lost            string // the same, where there is no form to show it in any more
	Errors          map[string]string
	History         []HistoryLine
	ExpandDecline   bool
	Tell            *TellForm // nil for who may not write to the agent
}

// TellForm is where a person writes to an agent.
type TellForm struct {
	Agent string
	Seen  string // "last seen 2 min ago"
	Text  string // what was typed and not passed on
	Error string
}

// TellPage is where a person writes to any agent, and sees what became of it.
type TellPage struct {
	Page
	Nonce  string
	Notice *Notice
	Agents []TellAgent
	Form   TellForm
	Sent   []TellLine // newest first
	More   string     // path of what was written before; "" for nothing
}

// TellAgent is an agent that one may write to.
type TellAgent struct {
	ID, Seen string
	Chosen   bool
}

// TellLine is something that was written.
type TellLine struct {
	At                        time.Time
	Agent, Title, Body, State string
}

// CanRespond reports whether the page shows anything to send.
func (p *ItemPage) CanRespond() bool {
	return p.Card.Status == ma2h.Open && p.Card.MayAnswer && !p.Card.Hidden && !Over(p.Card)
}

// IsAsk, IsTask and IsInput tell the forms apart.
func (p *ItemPage) IsAsk() bool { return p.Card.Type == ma2h.Ask }

// IsTask reports a task.
func (p *ItemPage) IsTask() bool { return p.Card.Type == ma2h.Task }

// IsInput reports an ask that wants a form filled in.
func (p *ItemPage) IsInput() bool { return p.IsAsk() && p.Card.Mode == ma2h.Input }

// Offered returns the choices that an ask gave, when the page shows them without
// buttons.
func (p *ItemPage) Offered() []hub.CardOption {
	if !p.IsAsk() || p.Card.Hidden {
		return nil
	}
	return p.Card.Options
}

// Chosen is the position of the option that was decided on, 0 for none.
func (p *ItemPage) Chosen() int {
	if p.Card.Decision == nil {
		return 0
	}
	return p.Card.Decision.Option
}

// Wanted names the fields of a form that nobody filled in.
func (p *ItemPage) Wanted() []string {
	if p.Card.Hidden || p.Card.Decision != nil && len(p.Card.Decision.Values) > 0 {
		return nil
	}
	var names []string
	for _, f := range p.Card.Fields {
		names = append(names, f.Title)
	}
	return names
}

// Plain lists the controls whose text may be shown again to whoever sent it.
func (p *ItemPage) Plain() string {
	var names []string
	for _, f := range p.Fields {
		if !f.Sensitive {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, " ")
}

// Notice is said at the top of the page.
type Notice struct {
	Good bool
	Text string
	// Kind picks words that the template owns, instead of Text: "recorded",
	// "saved", "mend" (fields are marked), "again" (the sign-in is another one
	// now), or "unknown" (nothing is known to be recorded).
	Kind string
	// Mend leads to the fields that are marked; the label says what is wrong.
	Mend []Link
}

// FormField is a field of an input ask as the form shows it.
type FormField struct {
	hub.Field
	ID      string // of the HTML control
	Name    string // of the HTML control
	Control string // text, area, password, number, date, datetime, email, url, radio, select
	Choices []Choice
	Value   string // what was typed, or proposed; never for a sensitive field
	Error   string
	Hint    string
	Zone    string // whose clock a date and time is read by
	Seconds bool   // a time is given to the second
}

// DescribedBy lists the ids of what is said about the control.
func (f FormField) DescribedBy() string {
	var ids []string
	for _, s := range []struct {
		there bool
		id    string
	}{
		{f.Description != "", "about"}, {f.Hint != "", "hint"}, {f.Sensitive, "secret"}, {f.Zone != "", "zone"}, {f.Error != "", "error"},
	} {
		if s.there {
			ids = append(ids, f.ID+"-"+s.id)
		}
	}
	return strings.Join(ids, " ")
}

// InputMode is the keyboard that a phone shows. The browser checks nothing by it,
// so that it never refuses what the hub would take. A number keyboard has no
// minus sign everywhere.
func (f FormField) InputMode() string {
	switch {
	case f.Control == "email" || f.Control == "url":
		return f.Control
	case f.Control != "number" || f.Minimum == "" || strings.HasPrefix(f.Minimum, "-"):
		return ""
	case f.Type == hub.FieldInteger:
		return "numeric"
	}
	return "decimal"
}

// Choice is one value of a field that has a few.
type Choice struct {
	Value, Label string
	Chosen       bool
}

// Part is one piece of context as the page shows it: text, a tree or a file. A
// long one is folded, with a summary to open it by.
type Part struct {
	Text    string
	Cut     bool   // this is not all of it
	Raw     string // path that shows all of it as plain text
	Tree    *Node
	File    *FileLink
	Fold    bool
	Summary string
	Lines   int // of Text
}

// Bounds beyond which a part is folded.
const (
	foldLines = 16
	foldRunes = 1200
	foldNodes = 14
)

// TextPart lays out text, cut at max runes.
func TextPart(s string, max int) Part {
	p := Part{Lines: strings.Count(strings.TrimSpace(s), "\n") + 1}
	p.Text, p.Cut = Cut(Text(s), max)
	p.Fold = p.Lines > foldLines || utf8.RuneCountInString(p.Text) > foldRunes
	first, _, _ := strings.Cut(strings.TrimSpace(p.Text), "\n")
	p.Summary, _ = Cut(Line(first), 60)
	return p
}

// DataPart lays out JSON.
func DataPart(v jsontext.Value) Part {
	tree, cut := readTree(v)
	p := Part{Tree: tree, Cut: cut}
	p.Fold = p.Tree.size() > foldNodes
	var names []string
	for _, k := range p.Tree.Kids {
		names = append(names, k.Name)
	}
	p.Summary = namesOf(names, len(names)+p.Tree.More)
	return p
}

// FileLink is a link that nobody has checked. Href is empty when the page does
// not offer it.
type FileLink struct{ Name, Type, Href, Host string }

// Node is a piece of data as people read it: a value, or named or numbered
// children. More says how many were left out.
type Node struct {
	Name  string
	Value string
	Kids  []Node
	Leaf  bool
	List  bool // Kids are numbered, not named
	More  int
}

// size counts a node and everything below it.
func (n *Node) size() int {
	total := 1
	for i := range n.Kids {
		total += n.Kids[i].size()
	}
	return total
}

// HistoryLine is one event of a message.
type HistoryLine struct {
	At   time.Time
	Text string
}

// ProblemPage says why a page is not there. Kind is one of [ProblemKinds].
type ProblemPage struct {
	Page
	Kind string
	Item string // path of the message that this was about, if any
}

// ProblemKinds are the problems that problem.html has words for.
func ProblemKinds() []string {
	return []string{
		"link-expired", "link-invalid", "link-gone", "not-found", "method",
		"cross-site", "form-old", "form-large", "form-bad", "internal",
	}
}

// Hint says the limits of a field in words; empty when it has none.
func Hint(f hub.Field) string {
	var s []string
	add := func(format string, a ...any) { s = append(s, fmt.Sprintf(format, a...)) }
	if len(f.Enum) > 0 || f.Type == hub.FieldBoolean {
		return "" // the choices say it
	}
	switch {
	case f.MinLength > 0 && f.MaxLength > 0 && f.MinLength == f.MaxLength:
		add("exactly %d characters", f.MinLength)
	case f.MinLength > 1 && f.MaxLength > 0:
		add("%d to %d characters", f.MinLength, f.MaxLength)
	case f.MaxLength > 0:
		add("at most %d characters", f.MaxLength)
	case f.MinLength > 1:
		add("at least %d characters", f.MinLength)
	}
	if f.Type == hub.FieldInteger {
		add("a whole number")
	} else if f.Type == hub.FieldNumber {
		add("a number")
	}
	switch {
	case f.Minimum != "" && f.Maximum != "":
		add("%s to %s", Line(f.Minimum), Line(f.Maximum))
	case f.Minimum != "":
		add("%s or more", Line(f.Minimum))
	case f.Maximum != "":
		add("%s or less", Line(f.Maximum))
	}
	if f.Pattern != "" {
		p, _ := Cut(Line(f.Pattern), 80)
		add("pattern %s", p)
	}
	return strings.Join(s, ", ")
}
