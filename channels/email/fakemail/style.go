package fakemail

import (
	"html"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Style is which mail program's shape a reply has.
type Style string

// The styles. What they share: the text first, a signature, then the quoted mail.
const (
	Apple   Style = "apple"   // Mail on an iPhone
	Gmail   Style = "gmail"   // Gmail, with a signature set
	Outlook Style = "outlook" // Outlook on a phone
	Plain   Style = "plain"   // text alone, format=flowed, as Thunderbird and others send it
)

// Styles lists all of them.
func Styles() []Style { return []Style{Apple, Gmail, Outlook, Plain} }

// Name is what the page calls it.
func (y Style) Name() string {
	switch y {
	case Apple:
		return "Apple Mail"
	case Gmail:
		return "Gmail"
	case Outlook:
		return "Outlook"
	case Plain:
		return "plain text"
	}
	return string(y)
}

func (y Style) valid() bool { return slices.Contains(Styles(), y) }

// thin stands between the minutes and AM or PM in what phones write in English
// since 2023: a narrow no-break space.
const thin = "\u202f"

// body writes a text with what the style adds. quoted is nil in a mail that
// begins a thread.
func (y Style) body(text string, quoted *Mail, zone *time.Location) part {
	text = strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), " \t\n")
	q := newQuote(quoted, zone)
	switch y {
	case Gmail:
		return alternative(gmailText(text, q), gmailHTML(text, q))
	case Outlook:
		return alternative(outlookText(text, q), outlookHTML(text, q))
	case Plain:
		return part{kind: "text/plain; charset=UTF-8; format=flowed", as: "8bit", text: flowedText(text, q)}
	}
	return alternative(appleText(text, q), appleHTML(text, q))
}

func alternative(text, rich string) part {
	return part{kind: "multipart/alternative", parts: []part{
		{kind: "text/plain; charset=utf-8", text: text}, {kind: "text/html; charset=utf-8", text: rich},
	}}
}

// quote is the mail that is replied to, as a mail program sees it; nil for none.
type quote struct {
	name, address string
	at            time.Time
	to, subject   string
	mail          *Mail
}

func newQuote(m *Mail, zone *time.Location) *quote {
	if m == nil {
		return nil
	}
	q := &quote{mail: m, at: m.At, subject: m.Subject}
	if d, err := m.Header.Date(); err == nil {
		q.at = d
	}
	q.at = q.at.In(zone)
	if m.From != nil {
		q.name, q.address = m.From.Name, m.From.Address
	}
	if q.name == "" {
		q.name = q.address
	}
	if len(m.To) > 0 {
		q.to = m.To[0].Name
		if q.to != "" {
			q.to += " "
		}
		q.to += "<" + m.To[0].Address + ">"
	}
	return q
}

// who is the author as attribution lines have it.
func (q *quote) who() string { return q.name + " <" + q.address + ">" }

// mark puts a mark before each line.
func mark(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.TrimRight("> "+l, " ") + "\n")
	}
	return b.String()
}

func appleText(text string, q *quote) string {
	out := text + "\n\nSent from my iPhone\n"
	if q == nil {
		return out
	}
	// The attribution is quoted too, and an invisible mark begins the mail.
	lines := append([]string{"On " + q.at.Format("Jan 2, 2006, at 3:04"+thin+"PM") + ", " + q.who() + " wrote:", "", "\ufeff"}, q.lines(appleMode)...)
	return out + "\n" + mark(lines)
}

func appleHTML(text string, q *quote) string {
	out := `<html><head><meta http-equiv="content-type" content="text/html; charset=utf-8"></head><body dir="auto">` +
		strings.ReplaceAll(html.EscapeString(text), "\n", "<br>") + `<br id="lineBreakAtBeginningOfSignature"><div dir="ltr">Sent from my iPhone</div>`
	if q != nil {
		out += `<div dir="ltr"><br><blockquote type="cite">On ` + html.EscapeString(q.at.Format("Jan 2, 2006, at 3:04"+thin+"PM")+", "+q.who()) +
			` wrote:<br><br></blockquote></div><blockquote type="cite"><div dir="ltr">&#65279;` + q.html("") + `</div></blockquote>`
	}
	return out + "</body></html>\n"
}

func gmailText(text string, q *quote) string {
	out := text + "\n\n-- \nSent from my phone\n"
	if q == nil {
		return out
	}
	by := strings.Join(wrap("On "+q.at.Format("Mon, Jan 2, 2006 at 3:04"+thin+"PM")+" "+q.who()+" wrote:", 78), "\n")
	var lines []string
	for _, l := range q.lines(starsMode) {
		lines = append(lines, wrap(l, 76)...)
	}
	return out + "\n" + by + "\n\n" + mark(lines)
}

func gmailHTML(text string, q *quote) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" {
			b.WriteString(`<div dir="auto"><br></div>`)
			continue
		}
		b.WriteString(`<div dir="auto">` + html.EscapeString(line) + `</div>`)
	}
	b.WriteString(`<br><span class="gmail_signature_prefix">-- </span><br><div dir="ltr" class="gmail_signature" data-smartmail="gmail_signature">Sent from my phone</div>`)
	if q != nil {
		a := html.EscapeString(q.address)
		b.WriteString(`<br><div class="gmail_quote gmail_quote_container"><div dir="ltr" class="gmail_attr">On ` +
			html.EscapeString(q.at.Format("Mon, Jan 2, 2006 at 3:04"+thin+"PM")+" "+q.name) +
			` &lt;<a href="mailto:` + a + `">` + a + `</a>&gt; wrote:<br></div><blockquote class="gmail_quote" style="margin:0px 0px 0px 0.8ex;border-left:1px solid rgb(204,204,204);padding-left:1ex">` +
			q.html("") + `</blockquote></div>`)
	}
	return b.String() + "\n"
}

func outlookText(text string, q *quote) string {
	out := text + "\n\nGet Outlook for iOS<https://aka.ms/o0ukef>\n"
	if q == nil {
		return out
	}
	return out + "________________________________\nFrom: " + q.who() + "\nSent: " + q.at.Format("Monday, January 2, 2006 3:04:05 PM") +
		"\nTo: " + q.to + "\nSubject: " + q.subject + "\n\n" + strings.Join(q.lines(outlookMode), "\n") + "\n"
}

func outlookHTML(text string, q *quote) string {
	var b strings.Builder
	b.WriteString(`<html><head><meta http-equiv="Content-Type" content="text/html; charset=utf-8"></head><body>`)
	for line := range strings.SplitSeq(text, "\n") {
		if line = html.EscapeString(line); line == "" {
			line = "<br>"
		}
		b.WriteString(`<div dir="auto" style="font-family: Aptos, Calibri, Helvetica, sans-serif; font-size: 12pt;">` + line + `</div>`)
	}
	b.WriteString(`<div id="ms-outlook-mobile-body-separator-line" dir="auto"><br></div><div dir="auto" id="ms-outlook-mobile-signature">Get <a href="https://aka.ms/o0ukef">Outlook for iOS</a></div>`)
	if q != nil {
		b.WriteString(`<hr style="display:inline-block;width:98%" tabindex="-1"><div id="divRplyFwdMsg" dir="ltr"><font face="Calibri, sans-serif" style="font-size:11pt" color="#000000"><b>From:</b> ` +
			html.EscapeString(q.who()) + `<br><b>Sent:</b> ` + html.EscapeString(q.at.Format("Monday, January 2, 2006 3:04:05 PM")) +
			`<br><b>To:</b> ` + html.EscapeString(q.to) + `<br><b>Subject:</b> ` + html.EscapeString(q.subject) + `</font><div>&nbsp;</div></div>` + q.html("x_"))
	}
	return b.String() + "</body></html>\n"
}

// flowedText is RFC 3676: the person's own lines are wrapped softly, and lines
// that could be taken for something else begin with a space.
func flowedText(text string, q *quote) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		soft := wrap(strings.TrimRight(line, " "), 71)
		for i, l := range soft {
			if strings.HasPrefix(l, " ") || strings.HasPrefix(l, ">") || strings.HasPrefix(l, "From ") {
				l = " " + l
			}
			if i < len(soft)-1 {
				l += " "
			}
			b.WriteString(l + "\n")
		}
	}
	b.WriteString("\n-- \nSent from my phone\n")
	if q == nil {
		return b.String()
	}
	b.WriteString("\nOn " + q.at.Format("1/2/06 15:04") + ", " + q.name + " wrote:\n")
	for _, l := range q.lines(starsMode) {
		if strings.HasPrefix(l, ">") {
			b.WriteString(">" + strings.TrimRight(l, " ") + "\n")
			continue
		}
		b.WriteString(strings.TrimRight("> "+l, " ") + "\n")
	}
	return b.String()
}

// wrap breaks a line at spaces to at most n characters where it can.
func wrap(line string, n int) []string {
	var out []string
	for utf8.RuneCountInString(line) > n {
		at, seen := -1, 0
		for i, r := range line {
			if r == ' ' && i > 0 && (seen <= n || at < 0) {
				at = i
			}
			if seen++; seen > n && at >= 0 {
				break
			}
		}
		if at < 0 {
			break
		}
		out = append(out, line[:at])
		line = line[at+1:]
	}
	return append(out, line)
}
