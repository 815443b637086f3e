package inbound

import (
	"net/mail"
	"regexp"
	"strings"
)

// maxDiagnostic bounds what is kept of a server's words, in runes.
const maxDiagnostic = 300

// recipientReport is what a delivery report says about one recipient (RFC 3464
// §2.3).
type recipientReport struct{ recipient, action, status, diagnostic string }

// deliveryReports reads message/delivery-status: the groups of fields that are
// about a recipient. The group about the whole mail comes first, and some servers
// leave out the blank line after it.
func (m *Mail) deliveryReports() []recipientReport {
	var out []recipientReport
	rest := m.delivery[:min(len(m.delivery), maxReport)]
	for len(rest) > 0 {
		h, after := readHeader(rest)
		if len(after) == len(rest) {
			break
		}
		rest = after
		r := recipientReport{
			recipient:  reportAddress(firstOf(h.first("final-recipient"), h.first("original-recipient"))),
			action:     strings.ToLower(firstWord(h.first("action"))),
			status:     statusCode.FindString(h.first("status")),
			diagnostic: oneLine(decodeWords(h.first("diagnostic-code"))),
		}
		if original := reportAddress(h.first("original-recipient")); original != "" {
			r.recipient = original // the address that we know
		}
		if r.action != "" || r.status != "" {
			out = append(out, r.settled())
		}
	}
	return out
}

// settled fills in what a server left out, or wrote less exactly than it knew.
func (r recipientReport) settled() recipientReport {
	_, text, typed := strings.Cut(r.diagnostic, ";")
	if typed {
		r.diagnostic = oneLine(text)
	}
	r.diagnostic = cut(r.diagnostic, maxDiagnostic)
	if r.status == "" || strings.HasSuffix(r.status, ".0.0") {
		if s := enhancedCode(r.diagnostic); s != "" {
			r.status = s // exim writes 5.0.0 and keeps the truth for the diagnostic
		}
	}
	switch r.action {
	case "failed", "delayed", "delivered", "relayed", "expanded":
		return r
	}
	switch {
	case strings.HasPrefix(r.status, "2"):
		r.action = "delivered"
	case strings.HasPrefix(r.status, "4"):
		r.action = "delayed"
	default:
		r.action = "failed"
	}
	return r
}

// worstReport picks what counts for us: what is said about one of the addresses, if
// anything is, and then a failure before a delay before a success.
func worstReport(reports []recipientReport, addresses []string) recipientReport {
	var best recipientReport
	rank := -1
	for _, r := range reports {
		n := strings.Index("expanded relayed delivered delayed failed", r.action)
		for _, a := range addresses {
			if canonical(r.recipient) != "" && canonical(r.recipient) == canonical(a) {
				n += 1000
				break
			}
		}
		if n > rank {
			best, rank = r, n
		}
	}
	return best
}

// reportAddress reads "rfc822; <alice@example.com>".
func reportAddress(s string) string {
	if _, after, ok := strings.Cut(s, ";"); ok {
		s = after
	}
	if a, err := mail.ParseAddress(strings.TrimSpace(s)); err == nil {
		return a.Address
	}
	return addressLike.FindString(s)
}

func firstWord(s string) string {
	if i := strings.IndexAny(s, " \t;("); i >= 0 {
		return s[:i]
	}
	return s
}

var (
	statusCode = regexp.MustCompile(`[245]\.\d{1,3}\.\d{1,3}`)
	// enhanced finds a status among other words; addresses have one number more.
	enhanced  = regexp.MustCompile(`(?:^|[^\d.])([245]\.\d{1,3}\.\d{1,3})(?:[^\d.]|\.?$|\.[^\d])`)
	replyCode = regexp.MustCompile(`(?:^|[^\d.])([45]\d\d)[ -]`)
)

// enhancedCode finds a status code in a server's words (RFC 3463), also one that
// only an SMTP reply code tells.
func enhancedCode(s string) string {
	if m := enhanced.FindStringSubmatch(s); m != nil {
		return m[1]
	}
	if m := replyCode.FindStringSubmatch(s); m != nil {
		switch m[1] {
		case "550", "551", "553":
			return "5.1.1"
		case "552":
			return "5.2.2"
		case "554":
			return "5.7.0"
		case "452":
			return "4.2.2"
		default:
			return m[1][:1] + ".0.0"
		}
	}
	return ""
}

// reasonFor says in a few words why a mail did not arrive, for people.
func reasonFor(b *Bounce) string {
	class, rest, _ := strings.Cut(b.Status, ".")
	switch detail := rest; {
	case b.Action == "delayed":
		return "not delivered yet; the mail server is still trying"
	case detail == "1.1" || detail == "1.0" || detail == "1.3" || detail == "1.6" || detail == "1.10":
		return "no such address"
	case detail == "1.2" || detail == "4.4" || detail == "4.3" || detail == "1.8" && class == "5":
		return "no mail server for that address"
	case detail == "2.1":
		return "mailbox disabled"
	case detail == "2.2":
		return "mailbox full"
	case detail == "2.3" || detail == "3.4":
		return "mail too large"
	case detail == "4.7" || class == "4":
		return "the mail server gave up after trying for a while"
	case strings.HasPrefix(detail, "7."):
		return "refused by the other side's policy"
	case b.Diagnostic != "":
		return "not delivered: " + cut(b.Diagnostic, 120)
	}
	return "not delivered"
}

// cut shortens text to n runes, and says so.
func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return strings.TrimSpace(string(r[:n-1])) + "…"
	}
	return s
}
