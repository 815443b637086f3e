package inbound

import (
	"regexp"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// replyPrefix is what programs put in front of the subject of a reply or forward,
// and gateways in front of mail from outside.
var replyPrefix = regexp.MustCompile(`(?i)^\s*((re|aw|antw|antwort|sv|vs|ref|rif|r|odp|ynt|res|rép|rv|fw|fwd|wg|tr|enc|i|vl|vb|doorst|pd|ilt|továbbítás|vá|bls|ha|re(ply)?\d+|απ|πρθ|отв|відп|на|回复|回覆|答复|转发|轉寄|返信|회신|전달|השב|הועבר|رد|إعادة توجيه)(\s?\[\d+\]|\s?\(\d+\))?\s*[:：]|\[(external|ext|extern|externe?|spam\??)\]|\*+(external|spam)\*+|external:)\s*`)

// baseSubject takes those prefixes off.
func baseSubject(s string) string {
	for {
		at := replyPrefix.FindStringIndex(s)
		if at == nil {
			return strings.TrimSpace(s)
		}
		s = s[at[1]:]
	}
}

// subjectTag finds the tags of subjects of ours.
var subjectTag = regexp.MustCompile(`(?i)\[(Q-[0-9A-Z]{2,16})\]`)

// tags returns the tags in a subject, in capitals.
func tags(subject string) []string {
	var out []string
	for _, m := range subjectTag.FindAllStringSubmatch(subject, 3) {
		out = append(out, strings.ToUpper(m[1]))
	}
	return unique(out)
}

// sameSubject reports whether a mail's subject is still that of our mail. Without
// one on either side nobody changed it.
func sameSubject(theirs, ours string) bool {
	for _, tag := range tags(ours) {
		if strings.Contains(strings.ToUpper(theirs), tag) {
			return true
		}
	}
	theirs, ours = foldSubject(theirs), foldSubject(ours)
	return theirs == "" || ours == "" || strings.Contains(theirs, ours) || strings.Contains(ours, theirs)
}

// foldSubject is a subject without prefixes, tag, letter case, white space and a
// cut at its end.
func foldSubject(s string) string {
	s = subjectTag.ReplaceAllString(baseSubject(s), "")
	s = cases.Fold().String(norm.NFKC.String(baseSubject(s)))
	return strings.TrimRight(oneLine(s), " .…")
}
