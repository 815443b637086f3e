package extract

import "strings"

// Join makes one body of the inline text parts of a mail, in their order.
// Apple Mail sends several when a picture stands between, and a list adds its
// footer as a part.
func Join(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		if strings.TrimSpace(p) == "" {
			continue
		}
		b.WriteString(p)
		if !strings.HasSuffix(p, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Flowed turns a format=flowed body (RFC 3676) into one with a line a
// paragraph: lines that end in a space go on in the next one of the same quote
// depth, and stuffed spaces are taken out. delSp is the parameter DelSp=yes, by
// which that last space is no part of the text. Do this after the charset and
// before Text.
func Flowed(body string, delSp bool) string {
	var out, para strings.Builder
	open, depth := false, 0
	flush := func() {
		if open {
			if depth > 0 {
				out.WriteString(strings.Repeat(">", depth) + " ")
			}
			out.WriteString(para.String())
			out.WriteByte('\n')
			para.Reset()
			open = false
		}
	}
	body = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(body)
	for raw := range strings.SplitSeq(strings.TrimSuffix(body, "\n"), "\n") {
		d := len(raw) - len(strings.TrimLeft(raw, ">"))
		s := strings.TrimPrefix(raw[d:], " ") // space-stuffing, section 4.4
		if open && d != depth {
			flush() // section 4.5: a flowed line before another depth is fixed
		}
		signature := s == "-- " // section 4.3
		if signature {
			flush()
		}
		depth, open = d, true
		if !signature && strings.HasSuffix(s, " ") {
			if delSp {
				s = s[:len(s)-1]
			}
			para.WriteString(s)
			continue
		}
		para.WriteString(s)
		flush()
	}
	flush()
	return out.String()
}

const (
	pgpSigned    = "-----BEGIN PGP SIGNED MESSAGE-----"
	pgpSignature = "-----BEGIN PGP SIGNATURE-----"
	pgpEnd       = "-----END PGP SIGNATURE-----"
)

// unarmour takes the armour of a clear-signed text off (RFC 9580 section 7):
// the header, the "- " before lines that begin with a dash, and the signature.
func unarmour(s string) string {
	if !strings.Contains(s, pgpSigned) {
		return s
	}
	const (
		outside = iota
		header
		text
		signature
	)
	state := outside
	var b strings.Builder
	for l := range strings.SplitSeq(s, "\n") {
		trimmed := strings.TrimSpace(l)
		switch {
		case trimmed == pgpSigned:
			state = header
			continue
		case state == header:
			if trimmed == "" {
				state = text
			} else if !strings.Contains(trimmed, ": ") { // no header, so it is text already
				state = text
				break
			}
			continue
		case state == text && trimmed == pgpSignature:
			state = signature
			continue
		case state == signature:
			if trimmed == pgpEnd {
				state = outside
			}
			continue
		case state == text:
			l = strings.TrimPrefix(l, "- ")
		}
		b.WriteString(l)
		b.WriteByte('\n')
	}
	return b.String()
}
