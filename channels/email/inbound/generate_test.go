package inbound

import (
	"encoding/base64"
	"fmt"
	"html"
	"math/rand/v2"
	"mime/quotedprintable"
	"slices"
	"strconv"
	"strings"

	"beckon/hub"

	"golang.org/x/text/encoding/htmlindex"
)

// generated is a reply made of parts that were picked at random.
type generated struct {
	raw     []byte
	options []string
	want    int  // the option that it names; 0 for none
	plain   bool // it names it plainly, so that it is to be recorded
	what    string
	sent    string
	card    *hub.Card
}

// maker makes replies.
type maker struct {
	*rand.Rand
	n int
}

func pick[T any](m *maker, list []T) T { return list[m.IntN(len(list))] }

// one in n.
func (m *maker) one(n int) bool { return m.IntN(n) == 0 }

// form is what a person writes on the first line, or more.
type form struct {
	text  string
	want  int
	plain bool
	what  string
}

// plainForm names one option as plainly as people do.
func (m *maker) plainForm(options []string) form {
	n := 1 + m.IntN(len(options))
	label, num := options[n-1], strconv.Itoa(n)
	forms := []struct{ what, text string }{
		{"number", num},
		{"number and dot", num + "."},
		{"number and bracket", num + ")"},
		{"number in brackets", "(" + num + ")"},
		{"hash", "#" + num},
		{"option", "Option " + num},
		{"option and dot", "option " + num + "."},
		{"keycap", num + "\ufe0f\u20e3"},
		{"full width", string(rune('０' + n))},
		{"bold number", "*" + num + "*"},
		{"label", label},
		{"lower case", strings.ToLower(label)},
		{"upper case", strings.ToUpper(label)},
		{"label and dot", label + "."},
		{"label and exclamation mark", label + "!"},
		{"quotes", "\"" + label + "\""},
		{"curly quotes", "“" + label + "”"},
		{"bold", "*" + label + "*"},
		{"number and label", num + ". " + label},
		{"bullet", "- " + label},
		{"label and thanks", label + ", thanks"},
		{"please", "please " + label},
		{"spaces", "  " + label + "\u00a0 "},
		{"zero width", "\u200b" + label + "\u200b"},
		{"comment after a dash", num + " - checked with Bob"},
	}
	f := pick(m, forms)
	return form{f.text, n, true, f.what}
}

// unclearForm is what nothing may be recorded of, though it names options.
func (m *maker) unclearForm(options []string, t tongue) form {
	n := 1 + m.IntN(len(options))
	label, other := options[n-1], options[n%len(options)]
	forms := []struct{ what, text string }{
		{"negation", "Do not " + label},
		{"don't", "don't " + label + " this"},
		{"no, not", "No, not " + label},
		{"condition", label + " if the tests pass"},
		{"but", label + ", but only tomorrow"},
		{"two labels", label + " or " + other},
		{"two numbers", fmt.Sprintf("%d or %d", n, n%len(options)+1)},
		{"slash", label + "/" + other},
		{"question", label + "?"},
		{"which", "Should I " + label + " or " + other + "?"},
		{"out of range", strconv.Itoa(len(options) + 1)},
		{"zero", "0"},
		{"big number", "4711"},
		{"version", fmt.Sprintf("%d.%d", n, n)},
		{"time", fmt.Sprintf("%d:00", n)},
		{"count", fmt.Sprintf("%d days", n)},
		{"emoji", "👍"},
		{"struck out", "~~" + label + "~~"},
		{"free text", "Let me look at this first"},
		{"question back", "What does the migration do?"},
		{"word within", "I talked to the " + label + " team"},
		{"taken back", label + "\nScratch that."},
		{"both lines", label + "\n" + other},
		{"half", label[:len(label)/2] + "…"},
		{"later line", "Hello Bob\nI would say\n" + label},
		{"condition below", label + "\nbut only if Bob agrees"},
		{"not yet", label + " - not yet"},
		{"wait", label + "? wait"},
		{"inline", "> " + label + "\n\nNo!"},
		{"list", label + ", " + other},
		{"range", "1-2"},
		{"unsure", label + " maybe"},
		{"not sure", "not sure, " + label + "?"},
		{"nothing", ""},
	}
	if len(t.not) > 0 && m.one(4) {
		not := pick(m, t.not)
		return form{fmt.Sprintf(not, label), 0, false, "negation in " + t.name}
	}
	if m.one(8) {
		return form{label + "\n\n" + fmt.Sprintf(pick(m, t.rather), strings.ToLower(other)), 0, false, "taken back in " + t.name}
	}
	f := pick(m, forms)
	return form{f.text, 0, false, f.what}
}

// client is how a mail program lays out a reply: as text, and as HTML if it sends
// that.
type client struct {
	name   string
	plain  func(l layout) string
	html   func(l layout) string
	flowed bool
}

// layout is what a client puts together.
type layout struct {
	answer, signature, attribution, quoted, htmlAnswer, htmlSignature string
	tongue                                                            tongue
	subject                                                           string
	banner                                                            string // of a gateway, above all
}

func quote(s, mark string) string {
	return mark + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n"+mark)
}

func (l layout) headerBlock(bold bool) string {
	t := l.tongue
	names := []string{t.block[0] + ": Hub <hub@hub.test>", t.block[1] + ": Monday, November 30, 2026 1:00 PM", t.block[2] + ": Alice Example <alice@example.test>", t.block[3] + ": " + l.subject}
	if !bold {
		return strings.Join(names, "\n")
	}
	for i, n := range names {
		k, v, _ := strings.Cut(n, ": ")
		names[i] = "<b>" + k + ":</b> " + html.EscapeString(v)
	}
	return strings.Join(names, "<br>")
}

func htmlLines(s string) string {
	return strings.ReplaceAll(html.EscapeString(s), "\n", "<br>\n")
}

func clients() []client {
	reply := func(l layout) string {
		return l.answer + l.signature + "\n\n" + l.attribution + "\n\n" + quote(l.quoted, "> ") + "\n"
	}
	return []client{
		{name: "Gmail", plain: reply, html: func(l layout) string {
			return `<div dir="ltr">` + l.htmlAnswer + l.htmlSignature + `</div><br><div class="gmail_quote gmail_quote_container"><div dir="ltr" class="gmail_attr">` + html.EscapeString(l.attribution) + `<br></div><blockquote class="gmail_quote" style="margin:0px 0px 0px 0.8ex">` + htmlLines(l.quoted) + `</blockquote></div>`
		}},
		{name: "Gmail, HTML alone", html: func(l layout) string {
			return `<div dir="auto">` + l.htmlAnswer + `</div>` + l.htmlSignature + `<br><div class="gmail_quote"><div class="gmail_attr">` + html.EscapeString(l.attribution) + `<br></div><blockquote class="gmail_quote">` + htmlLines(l.quoted) + `</blockquote></div>`
		}},
		{name: "iOS Mail", plain: func(l layout) string {
			return l.answer + l.signature + "\n\n" + quote(l.attribution+"\n\n\ufeff\n"+l.quoted, "> ") + "\n"
		}},
		{name: "Apple Mail", flowed: true, plain: reply, html: func(l layout) string {
			return `<html><body style="overflow-wrap: break-word;">` + l.htmlAnswer + l.htmlSignature + `<div><br><blockquote type="cite"><div>` + html.EscapeString(l.attribution) + `</div><br class="Apple-interchange-newline"><div>` + htmlLines(l.quoted) + `</div></blockquote></div></body></html>`
		}},
		{name: "Thunderbird, top", flowed: true, plain: reply},
		{name: "Thunderbird, bottom", flowed: true, plain: func(l layout) string {
			return l.attribution + "\n" + quote(l.quoted, "> ") + "\n\n" + l.answer + l.signature + "\n"
		}},
		{name: "Outlook", plain: func(l layout) string {
			return l.answer + l.signature + "\n\n" + l.headerBlock(false) + "\n\n" + l.quoted + "\n"
		}, html: func(l layout) string {
			return `<div class="WordSection1"><p class="MsoNormal">` + l.htmlAnswer + `<o:p></o:p></p>` + l.htmlSignature + `<div style="border:none;border-top:solid #E1E1E1 1.0pt;padding:3.0pt 0in 0in 0in"><p class="MsoNormal">` + l.headerBlock(true) + `</p></div><p class="MsoNormal">` + htmlLines(l.quoted) + `</p></div>`
		}},
		{name: "Outlook on the web", plain: func(l layout) string {
			return l.answer + l.signature + "\n" + strings.Repeat("_", 32) + "\n" + l.headerBlock(false) + "\n\n" + l.quoted + "\n"
		}, html: func(l layout) string {
			return `<div style="font-family:Aptos">` + l.htmlAnswer + `</div>` + l.htmlSignature + `<div id="appendonsend"></div><hr style="display:inline-block;width:98%"><div id="divRplyFwdMsg" dir="ltr"><font>` + l.headerBlock(true) + `</font></div><div>` + htmlLines(l.quoted) + `</div>`
		}},
		{name: "Outlook, plain", plain: func(l layout) string {
			return l.answer + l.signature + "\n\n" + l.tongue.original + "\n" + l.headerBlock(false) + "\n\n" + l.quoted + "\n"
		}},
		{name: "Samsung", plain: func(l layout) string {
			return l.answer + l.signature + "\n\n-------- Original message --------\nFrom: Hub <hub@hub.test>\nDate: 30/11/2026 13:00 (GMT+00:00)\nTo: alice@example.test\nSubject: " + l.subject + "\n\n" + l.quoted + "\n"
		}},
		{name: "Yahoo", plain: func(l layout) string {
			return l.answer + l.signature + "\n\n    " + l.attribution + "  \n \n " + strings.ReplaceAll(l.quoted, "\n", "\n ") + "\n"
		}, html: func(l layout) string {
			return `<div class="yahoo-style-wrap"><div dir="ltr">` + l.htmlAnswer + `</div>` + l.htmlSignature + `</div><div id="yahoo_quoted_1" class="yahoo_quoted"><div>` + html.EscapeString(l.attribution) + `</div><div>` + htmlLines(l.quoted) + `</div></div>`
		}},
		{name: "Proton", plain: func(l layout) string {
			return l.answer + l.signature + "\n\nSent with [Proton Mail](https://proton.me/mail/home) secure email.\n\n" + l.attribution + "\n\n" + quote(l.quoted, "> ") + "\n"
		}},
		{name: "mutt", plain: func(l layout) string {
			return l.attribution + "\n" + quote(l.quoted, "> ") + "\n\n" + l.answer + l.signature + "\n"
		}},
		{name: "wrapped attribution", plain: func(l layout) string {
			return l.answer + l.signature + "\n\n" + wrapped(l.attribution) + "\n\n" + quote(l.quoted, ">") + "\n"
		}},
		{name: "Outlook for phones", plain: func(l layout) string {
			return l.answer + "\n\nGet Outlook for Android<https://aka.ms/AAb9ysg>\n" + strings.Repeat("_", 32) + "\n" + l.headerBlock(false) + "\n\n" + l.quoted + "\n"
		}, html: func(l layout) string {
			return `<html><body><div dir="auto">` + l.htmlAnswer + `</div><div id="ms-outlook-mobile-signature"><div></div>Get <a href="https://aka.ms/AAb9ysg">Outlook for Android</a></div><hr style="display:inline-block;width:98%" tabindex="-1"><div id="divRplyFwdMsg" dir="ltr">` + l.headerBlock(true) + `</div>` + htmlLines(l.quoted) + `</body></html>`
		}},
		{name: "Mail.ru", html: func(l layout) string {
			return `<HTML><BODY><div>` + l.htmlAnswer + `</div>` + l.htmlSignature + `<blockquote style="border-left:1px solid #0857A6; margin:10px; padding:0 0 0 10px;">` + html.EscapeString(l.attribution) + `<br>&nbsp;<div id="">` + htmlLines(l.quoted) + `</div></blockquote></BODY></HTML>`
		}},
		{name: "QQ", html: func(l layout) string {
			return `<div>` + l.htmlAnswer + `</div>` + l.htmlSignature + `<div><br></div><div style="font-size: 12px;font-family: Arial Narrow;padding:2px 0 2px 0;">------------------&nbsp;原始邮件&nbsp;------------------</div><div style="font-size: 12px;background:#efefef;padding:8px;">` + l.headerBlock(true) + `</div><div>` + htmlLines(l.quoted) + `</div>`
		}},
		{name: "tables", html: func(l layout) string {
			return `<table><tr><td><p>&nbsp;</p><p><span style="font-size:11pt">` + l.htmlAnswer + `</span></p><p>&nbsp;</p></td></tr></table>` + l.htmlSignature + `<div class="moz-cite-prefix">` + html.EscapeString(l.attribution) + `<br></div><blockquote type="cite" cite="mid:x@y">` + htmlLines(l.quoted) + `</blockquote>`
		}},
		{name: "no quote", plain: func(l layout) string { return l.answer + l.signature + "\n" }},
	}
}

// wrapped breaks a line as old clients do, at 60 letters or so.
func wrapped(s string) string {
	var out []string
	n := 0
	for _, w := range strings.Fields(s) {
		if n += len(w); n > 40 && len(out) > 0 {
			out[len(out)-1] += "\n" + w
			n = len(w)
			continue
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}

// reply makes one.
func (m *maker) reply() generated {
	m.n++
	options := pick(m, questionSets())
	t, c := pick(m, tongues()), pick(m, clients())
	f := m.plainForm(options)
	if m.one(3) {
		f = m.unclearForm(options, t)
	}
	g := generated{options: options, want: f.want, plain: f.plain}
	g.sent = sentFor(options)
	g.card = choices(options...)
	for i := range g.card.Options {
		g.card.Options[i].Value = options[i]
	}
	subject := "[" + aliceTag + "] Ship web-app 2.3?"
	l := layout{answer: f.text, quoted: g.sent, tongue: t, subject: subject, attribution: fmt.Sprintf(pick(m, t.wrote), "Hub <hub@hub.test>")}
	sign := m.sign(&l)
	noise := m.noise(&l, f)
	l.htmlAnswer, l.htmlSignature = htmlLines(l.answer), strings.TrimPrefix(htmlLines(l.signature), "<br>\n")
	if sign != "none" {
		l.htmlSignature = "<div><br></div><div>" + l.htmlSignature + "</div>"
	}
	letter, header := m.address(t, subject)
	charset, body := m.encode(c, l)
	letter = letter.add(body.fields...)
	letter.body = body.body
	g.raw = letter.bytes()
	g.what = fmt.Sprintf("%d: %s, %s, %s, %s, signature %s, noise %s, header %s", m.n, f.what, c.name, t.name, charset, sign, noise, header)
	return g
}

func sentFor(options []string) string {
	var b strings.Builder
	b.WriteString("Ship web-app 2.3?\n\ndeploybot/dev-team asks (web-app, high).\nAnswer by Tue 1 Dec, 18:00 Singapore time.\n\nAll checks passed.\n\n")
	for i, o := range options {
		fmt.Fprintf(&b, "  %d. %s\n", i+1, o)
	}
	b.WriteString("\nTo answer, reply to this mail with a number on the first line. What follows becomes your comment.\nTo decline, reply \"decline\". Or open the page: https://beckon.example.com/i/1\n\n-- reply above this line --\nAsked of: Alice Ng. Message msg_1")
	return b.String()
}

// sign adds a signature, as people have it.
func (m *maker) sign(l *layout) string {
	t := l.tongue
	switch m.IntN(6) {
	case 0:
		l.signature = "\n\n" + pick(m, t.mobile)
		return "of a phone"
	case 1:
		l.signature = "\n\n-- \nAlice Example, Team 1\nRoom 3, +49 30 1"
		return "with dashes"
	case 2:
		l.signature = "\n\nAlice Example\nRelease Manager | Example GmbH\nT +49 30 1234567"
		return "of a company"
	case 3:
		l.signature = "\n\n" + t.regards + "\nAlice"
		return "regards"
	case 4:
		l.signature = "\n\n--\nAlice"
		return "with bare dashes"
	}
	return "none"
}

// noise adds what gateways and people put around.
func (m *maker) noise(l *layout, f form) string {
	switch m.IntN(9) {
	case 0:
		if l.tongue.banner != "" {
			l.banner = l.tongue.banner
		}
		return "banner"
	case 1:
		l.answer = "\n\n\n" + l.answer
		return "blank lines"
	case 2:
		if l.tongue.greeting != "" && f.plain {
			l.answer = l.tongue.greeting + "\n\n" + l.answer
		}
		return "greeting"
	case 3:
		if f.plain {
			l.answer += "\n\nThe migration looked fine on staging."
		}
		return "comment"
	case 4:
		l.answer += "   "
		return "spaces at the end"
	case 5:
		l.signature += "\n\nThis e-mail is confidential and intended only for the addressee. If you are not the addressee, delete it."
		return "disclaimer"
	case 6:
		l.answer = "\ufeff" + l.answer
		return "byte order mark"
	}
	return "none"
}

// address makes the header of a reply that is surely from Alice.
func (m *maker) address(t tongue, subject string) (letter, string) {
	l := aliceReply().with("Subject: "+encodeWord(t.re)+subject, fmt.Sprintf("Message-ID: <g%d@mail.example.test>", m.n))
	switch m.IntN(8) {
	case 0:
		return l.noAuth(), "nothing checked"
	case 1:
		return l.noToken(), "no token"
	case 2:
		return l.with("In-Reply-To:", "References:"), "no ids"
	case 3:
		return l.with("Delivered-To: "+strings.ToUpper(aliceToken), "To: "+strings.ToUpper(aliceToken)), "token in capitals"
	case 4:
		return l.add("X-Auto-Response-Suppress: DR, OOF, AutoReply"), "Exchange"
	case 5:
		return l.add("Precedence: list", "List-Id: <team.example.test>"), "list"
	case 6:
		return l.with("Subject: " + encodeWord(t.re) + "Ship web-app 2.3?"), "no tag"
	}
	return l, "plain"
}

func encodeWord(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r > '~' }) {
		return s
	}
	return "=?utf-8?B?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

// encode puts the forms of the text into a charset and an encoding, UTF-8 when
// the charset has not all of it.
func (m *maker) encode(c client, l layout) (string, letter) {
	charset := "utf-8"
	if m.one(2) {
		charset = pick(m, l.tongue.charsets)
	}
	var parts []letter
	if c.plain != nil {
		typ := "text/plain"
		text := c.plain(l)
		if l.banner != "" {
			text = l.banner + "\n\n" + text
		}
		if c.flowed && m.one(2) {
			typ += "; format=flowed"
			text = stuffed(text)
		}
		parts = append(parts, m.part(typ, &charset, text))
	}
	if c.html != nil {
		text := c.html(l)
		if l.banner != "" {
			text = `<div style="background:#ffeb9c">` + html.EscapeString(l.banner) + `</div><br>` + text
		}
		parts = append(parts, m.part("text/html", &charset, text))
	}
	if len(parts) == 1 {
		return charset, parts[0]
	}
	body := "This is a multi-part message.\n"
	for _, p := range parts {
		body += "--b1\n" + strings.Join(p.fields, "\n") + "\n\n" + p.body + "\n"
	}
	return charset, letter{[]string{"Content-Type: multipart/alternative; boundary=\"b1\""}, body + "--b1--\n"}
}

// stuffed is text as format=flowed has it, without soft breaks (RFC 3676 §4.4).
func stuffed(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if l != "-- " {
			l = strings.TrimRight(l, " ")
		}
		if strings.HasPrefix(l, " ") || strings.HasPrefix(l, "From ") {
			l = " " + l
		}
		lines[i] = l
	}
	return strings.Join(lines, "\n")
}

func (m *maker) part(typ string, charset *string, text string) letter {
	raw := []byte(text)
	if *charset != "utf-8" {
		e, err := htmlindex.Get(*charset)
		if err != nil {
			panic(err)
		}
		if b, err := e.NewEncoder().Bytes(raw); err == nil {
			raw = b
		} else {
			*charset = "utf-8"
		}
	}
	fields := []string{"Content-Type: " + typ + "; charset=" + *charset}
	encodings := []string{"8bit", "quoted-printable", "base64"}
	if *charset == "iso-2022-jp" {
		encodings = []string{"7bit", "base64"}
	}
	e := pick(m, encodings)
	fields = append(fields, "Content-Transfer-Encoding: "+e)
	var b strings.Builder
	switch e {
	case "quoted-printable":
		w := quotedprintable.NewWriter(&b)
		_, _ = w.Write(raw) // a Builder takes everything
		_ = w.Close()
		return letter{fields, strings.ReplaceAll(b.String(), "\r\n", "\n")}
	case "base64":
		for line := range slices.Chunk([]byte(base64.StdEncoding.EncodeToString(raw)), 76) {
			b.Write(line)
			b.WriteByte('\n')
		}
		return letter{fields, b.String()}
	}
	return letter{fields, string(raw)}
}
