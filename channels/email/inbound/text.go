package inbound

import (
	"strings"

	"beckon/channels/email/extract"

	"golang.org/x/net/html"
)

// plainText is all text of the mail as it came, for mail that programs wrote.
func (m *Mail) plainText() string {
	var out []string
	for _, b := range m.bodies {
		if strings.TrimSpace(b.plain) != "" {
			out = append(out, b.plain)
		} else {
			out = append(out, htmlText(b.html))
		}
	}
	return strings.Join(out, "\n")
}

// htmlText is the text of an HTML body, in lines, with nothing cut off.
func htmlText(s string) string {
	var out strings.Builder
	skip := 0
	for z := html.NewTokenizer(strings.NewReader(s)); ; {
		switch tt := z.Next(); tt {
		case html.ErrorToken:
			return out.String()
		case html.TextToken:
			if skip == 0 {
				out.Write(z.Text())
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			switch string(name) {
			case "style", "script", "title":
				if tt == html.StartTagToken {
					skip++
				} else if skip > 0 {
					skip--
				}
			case "br", "p", "div", "li", "tr", "h1", "h2", "h3", "pre", "blockquote", "table":
				out.WriteByte('\n')
			}
		}
	}
}

// written is what the person wrote, read from plain text and, if the mail has it,
// from HTML alone as well.
func (m *Mail) written(sent []string) (r extract.Result, fromHTML string) {
	if len(m.bodies) == 0 {
		return extract.Result{}, ""
	}
	var plains, htmls []string
	for _, b := range m.bodies {
		if strings.TrimSpace(b.plain) != "" {
			plains = append(plains, unarmoured(b.plain))
		}
		if b.html != "" {
			htmls = append(htmls, b.html)
		}
	}
	// A text in several parts is one text, as long as all have the same form.
	if len(plains) == 0 || len(plains) == len(m.bodies) {
		r = extract.Body(joined(plains), strings.Join(htmls, "<br>"), sent...)
		if len(plains) > 0 && len(htmls) == len(m.bodies) {
			h := extract.HTML(strings.Join(htmls, "<br>"), sent...)
			fromHTML = h.Own
		}
		return r, fromHTML
	}
	var texts []string
	for _, b := range m.bodies {
		part := extract.Body(unarmoured(b.plain), b.html, sent...)
		texts = append(texts, part.Text)
		r.Cut = append(r.Cut, part.Cut...)
		r.Truncated = r.Truncated || part.Truncated
		r.Unsure = r.Unsure || part.Unsure
	}
	all := extract.Text(strings.Join(texts, "\n\n"), sent...)
	all.Cut, all.Truncated = append(r.Cut, all.Cut...), r.Truncated || all.Truncated
	all.Unsure = all.Unsure || r.Unsure
	return all, ""
}

// joined makes one body of those of several parts.
func joined(parts []string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	return extract.Join(parts...)
}

const (
	signedBegin    = "-----BEGIN PGP SIGNED MESSAGE-----"
	signatureBegin = "-----BEGIN PGP SIGNATURE-----"
	signatureEnd   = "-----END PGP SIGNATURE-----"
	encryptedBegin = "-----BEGIN PGP MESSAGE-----"
)

// unarmoured takes the armour off text that is signed in the clear (RFC 9580 §7);
// nobody checks the signature.
func unarmoured(text string) string {
	before, rest, ok := strings.Cut(text, signedBegin)
	if !ok || before != "" && !strings.HasSuffix(before, "\n") {
		return text
	}
	_, rest, ok = cutBlank(rest) // "Hash: SHA256"
	if !ok {
		return text
	}
	inner, rest, ok := strings.Cut(rest, signatureBegin)
	if !ok {
		return text
	}
	_, after, _ := strings.Cut(rest, signatureEnd)
	lines := strings.Split(inner, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, "- ")
	}
	return before + strings.Join(lines, "\n") + after
}

// cutBlank splits text at its first blank line.
func cutBlank(text string) (before, after string, ok bool) {
	for rest := text; rest != ""; {
		line, next, more := strings.Cut(rest, "\n")
		if strings.TrimSpace(line) == "" && len(rest) < len(text) {
			return text[:len(text)-len(rest)], next, true
		}
		if !more {
			break
		}
		rest = next
	}
	return text, "", false
}

// armoured reports whether the text is encrypted with PGP, in text form.
func (m *Mail) armoured() bool {
	for _, b := range m.bodies {
		if strings.HasPrefix(b.plain, encryptedBegin) || strings.Contains(b.plain, "\n"+encryptedBegin) {
			return true
		}
	}
	return len(m.bodies) == 1 && m.bodies[0].plain == "" && strings.Contains(m.bodies[0].html, encryptedBegin)
}

// unreadable says why nobody can read the mail, "" when it can be read.
func (m *Mail) unreadable(own string) string {
	switch {
	case m.encrypted != "":
		return "encrypted with " + m.encrypted
	case m.armoured():
		return "encrypted with PGP"
	case m.tnef && strings.TrimSpace(own) == "":
		return "all of it is in winmail.dat"
	case m.damaged != "" && own == "":
		return m.damaged
	case len(m.bodies) == 0 && len(m.attachments) > 0:
		return "nothing in it but attachments"
	}
	return ""
}
