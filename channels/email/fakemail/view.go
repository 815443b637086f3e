package fakemail

import (
	"html"
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// view is what the page shows.
type view struct {
	Me      Person
	People  []viewPerson
	Threads []viewThread // newest first
	Open    *viewThread  // with its mails
	Reply   *Mail        // what a reply replies to, nil if nothing
	New     *newMail
	Gone    bool // the thread that was asked for is not here

	Draft  string
	Style  Style
	Error  string
	Theme  string // "light", "dark" or "" for what the device has
	Here   string // the path of the page
	Nonce  string
	News   int // what the mailbox has counted so far
	server *Server
}

type newMail struct{ To, Subject, Text string }

type viewPerson struct {
	Person
	Current bool
	Unread  int
}

type viewThread struct {
	ID, From, Subject, Snippet, At string
	Count                          int
	Unread, Current                bool
	Mails                          []viewMail
}

// viewMail is one mail of the open thread.
type viewMail struct {
	Mail
	Who, Initial, AtShort, AtLong string
	Snippet                       string
	Open                          bool
	AsText                        bool          // the text part is shown though there is HTML
	Written                       template.HTML // the text part, with links
	Quoted                        template.HTML // what a reply quotes
	Head                          string        // the header as it was sent
	Label                         string        // of the case that it tries
	Refused                       string
}

// Styles and Cases are for the reply box.
func (v *view) Styles() []Style { return Styles() }

func (v *view) Cases() []CaseInfo { return v.server.Cases() }

// view gathers what a person sees.
func (p *page) view(r *http.Request, person string) *view {
	s := p.s
	v := &view{Theme: theme(r), server: s, Me: s.person(person)}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.order {
		b := s.boxes[k]
		v.People = append(v.People, viewPerson{b.Person, k == key(person), len(b.unread)})
	}
	b := s.boxes[key(person)]
	if b == nil {
		return v
	}
	v.News = b.news
	now := time.Now().In(b.Zone)
	for _, t := range threads(b.mails) {
		last := t[len(t)-1]
		row := viewThread{
			ID: t[0].ID, Subject: subject(t[0]), Count: len(t), From: correspondent(t),
			Snippet: snippet(last), At: short(last.At.In(b.Zone), now),
		}
		for _, m := range t {
			row.Unread = row.Unread || b.unread[m.ID]
			row.Mails = append(row.Mails, v.mailView(m, now))
		}
		v.Threads = append(v.Threads, row)
	}
	slices.SortStableFunc(v.Threads, func(x, y viewThread) int {
		return y.Mails[len(y.Mails)-1].At.Compare(x.Mails[len(x.Mails)-1].At)
	})
	return v
}

// open shows the thread with a mail in it, and marks it as read. asText is the
// mail whose text part is wanted.
func (v *view) open(s *Server, id, asText string) bool {
	for i := range v.Threads {
		t := &v.Threads[i]
		if !slices.ContainsFunc(t.Mails, func(m viewMail) bool { return m.ID == id }) {
			continue
		}
		t.Current, t.Unread = true, false
		v.Open = t
		last := 0
		for k := range t.Mails {
			m := &t.Mails[k]
			if !m.Sent {
				last = k
				v.Reply = &m.Mail
			}
			m.AsText = m.HTML == "" || m.ID == asText
		}
		for last > 0 && t.Mails[last-1].Sent { // what the last mail answers
			last--
		}
		for k := range t.Mails {
			t.Mails[k].Open = k >= last || t.Mails[k].ID == asText
		}
		s.markRead(v.Me.Address, t.Mails)
		return true
	}
	return false
}

func (s *Server) markRead(person string, mails []viewMail) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.boxes[key(person)]
	if b == nil {
		return
	}
	for _, m := range mails {
		delete(b.unread, m.ID)
	}
}

func (v *view) mailView(m *Mail, now time.Time) viewMail {
	at := m.At.In(now.Location())
	x := viewMail{
		Mail: *m, Who: sender(m), AtShort: short(at, now), AtLong: at.Format("Mon 2 Jan 2006, 15:04:05"),
		Snippet: snippet(m),
	}
	x.Initial = initial(x.Who)
	head, _, _ := strings.Cut(strings.ReplaceAll(string(m.Raw), "\r\n", "\n"), "\n\n")
	x.Head = strings.ToValidUTF8(head, "\uFFFD")
	own, quoted := split(m)
	x.Written, x.Quoted = linked(own), linked(quoted)
	if m.Err != nil {
		x.Refused = plainError(m.Err)
	}
	if m.Case != "" {
		x.Label = string(m.Case)
		for _, c := range v.server.Cases() {
			if c.Case == m.Case {
				x.Label = c.Label
			}
		}
	}
	return x
}

// sender is who a mail seems to be from.
func sender(m *Mail) string {
	switch {
	case m.From == nil:
		return "(no sender)"
	case m.From.Name != "":
		return m.From.Name
	}
	return m.From.Address
}

// correspondent is who a thread is with: who wrote to the person first, or whom
// the person wrote to.
func correspondent(t []*Mail) string {
	for _, m := range t {
		if !m.Sent {
			return sender(m)
		}
	}
	if len(t[0].To) > 0 {
		return "To " + t[0].To[0].Address
	}
	return sender(t[0])
}

func subject(m *Mail) string {
	if strings.TrimSpace(m.Subject) == "" {
		return "(no subject)"
	}
	return m.Subject
}

func initial(name string) string {
	for _, r := range name {
		return strings.ToUpper(string(r))
	}
	return "?"
}

// short is a time as lists have it.
func short(t, now time.Time) string {
	switch {
	case t.Year() == now.Year() && t.YearDay() == now.YearDay():
		return t.Format("15:04")
	case t.Year() == now.Year():
		return t.Format("2 Jan")
	}
	return t.Format("2 Jan 2006")
}

// snippet is how a mail begins, without what its subject says already.
func snippet(m *Mail) string {
	own, _ := split(m)
	s := oneLine(own)
	if s == "" && m.HTML != "" {
		s = oneLine(htmlText(m.HTML, wordsAlone))
	}
	r := []rune(s)
	if len(r) > 140 {
		return string(r[:140]) + "…"
	}
	return s
}

var quoteBegins = regexp.MustCompile(`(?m)^(> |_{20,}$|On .{10,200} wrote:$|On .{10,80}\n.{0,80}wrote:$)`)

// split separates what a sent mail says from what it quotes. What came in is
// shown whole.
func split(m *Mail) (own, quoted string) {
	text := strings.Trim(m.Text, "\n")
	if !m.Sent {
		return text, ""
	}
	if at := quoteBegins.FindStringIndex(text); at != nil {
		return strings.TrimRight(text[:at[0]], "\n"), text[at[0]:]
	}
	return text, ""
}

var webLink = regexp.MustCompile(`https?://[^\s<>"]+[^\s<>".,;:!?)\]']`)

// linked is text as HTML, with addresses that can be followed.
func linked(text string) template.HTML {
	var b strings.Builder
	last := 0
	for _, at := range webLink.FindAllStringIndex(text, -1) {
		url := html.EscapeString(text[at[0]:at[1]])
		b.WriteString(html.EscapeString(text[last:at[0]]))
		b.WriteString(`<a href="` + url + `" target="_blank" rel="noopener noreferrer">` + url + `</a>`)
		last = at[1]
	}
	b.WriteString(html.EscapeString(text[last:]))
	return template.HTML(b.String()) //nolint:gosec // every part was escaped
}
