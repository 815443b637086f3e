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
	Person  *hub.Person // who has signed in; nil for nobody
	Whole   bool        // the sign-in reaches the person's whole list
	CSRF    string      // goes into every form
	SignOut string      // where the sign-out form goes
}

// ListPage is what waits for a person, and what was decided lately.
type ListPage struct {
	Page
	Open, Past         []*hub.Card
	MoreOpen, MorePast string // where the next page begins; "" for the last
	Paged              bool   // this is not the first page
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
}

// CanRespond reports whether the page shows anything to send.
func (p *ItemPage) CanRespond() bool {
	return p.Card.Status == ma2h.Open && p.Card.MayAnswer
}

// IsAsk, IsTask and IsInput tell the forms apart.
func (p *ItemPage) IsAsk() bool { return p.Card.Type == ma2h.Ask }

// IsTask reports a task.
func (p *ItemPage) IsTask() bool { return p.Card.Type == ma2h.Task }

// IsInput reports an ask that wants a form filled in.
func (p *ItemPage) IsInput() bool { return p.IsAsk() && p.Card.Mode == ma2h.Input }

// Decided reports whether the page shows how the message ended.
func (p *ItemPage) Decided() bool { return p.Card.Decision != nil }

// Mine is what the hub said to the reader, when the reader decided this.
func (p *ItemPage) Mine() string {
	d := p.Card.Decision
	if d == nil || p.Person == nil || d.Actor != p.Person.Actor() {
		return ""
	}
	o := hub.Outcome{Kind: hub.Accepted, Decision: d, Status: d.Resolution, Verb: hub.Verb(d.Resolution)}
	return Outcome(o, p.Person)
}

// Notice is said at the top of the page.
type Notice struct {
	Good bool
	Text string
	// Kind picks words that the template owns, instead of Text: "saved", "mend"
	// (fields are marked), or "unknown" (nothing is known to be recorded).
	Kind string
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
	Cut     bool // Text is not all of it
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
	p := Part{Tree: Tree(v)}
	p.Fold = p.Tree.size() > foldNodes
	var names []string
	for _, k := range p.Tree.Kids {
		names = append(names, k.Name)
	}
	p.Summary = Names(names)
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
