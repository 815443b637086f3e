package extract

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func FuzzText(f *testing.F) {
	for _, in := range introductions {
		f.Add("Yes.\n\n"+in.line+"\n> Deploy?\n> now\n\nMore.\n-- \nAlice", "Deploy?")
	}
	for _, in := range headerBlocks {
		f.Add("Yes.\n\n"+in.lines+"\n\nDeploy?", "Deploy?\nnow\nor later")
	}
	for _, s := range signedTexts {
		f.Add(strings.ReplaceAll(s.body, "^^^\n", ""), ask)
	}
	f.Add("See below\n\n"+wrote+"\n\n"+ask+"\nyes", ask)
	f.Add("AW> x\nAW> y\n```\n--\n```\n"+pgpSigned+"\nHash: x\n\nhi\n"+pgpSignature, "")
	for _, h := range hostile {
		f.Add(h.make(300), ask)
	}
	f.Fuzz(func(t *testing.T, body, sent string) {
		r := Text(body, sent)
		sound(t, r, len(body) > MaxBytes)
		short, _ := capped(body, MaxBytes)
		var whole []string // a line may have been parted in two
		for _, l := range split(unarmour(clean(short))) {
			whole = append(whole, lineKeys(l.raw)...)
		}
		if !subsequence(lineKeys(r.Text), whole) {
			t.Errorf("%q is not made of lines of %q", r.Text, body)
		}
		if again := Text(r.Text, sent); len(again.Text) > len(r.Text)+2*strings.Count(r.Text, "\n")+2 {
			t.Errorf("%q grows to %q", r.Text, again.Text)
		}
		if strings.Contains(body, "Approve") {
			return
		}
		// An answer above everything stays the first line.
		if r := Text("Approve\n\n"+body, sent); !strings.Contains(sent, "Approve") && r.First != "Approve" {
			t.Errorf("above %q, the first line is %q, cut %q", body, r.First, r.Cut)
		}
	})
}

func FuzzHTML(f *testing.F) {
	for _, m := range htmlMails {
		f.Add(m.body, "Deploy?")
	}
	for _, h := range hostileHTML {
		f.Add(h.make(400), ask)
	}
	f.Fuzz(func(t *testing.T, body, sent string) {
		r := HTML(body, sent)
		if !r.Truncated {
			sound(t, r, false)
		}
		sound(t, Body(body, body, sent), len(body) > MaxBytes)
		sound(t, Text(Flowed(body, len(body)%2 == 0), sent), len(Flowed(body, len(body)%2 == 0)) > MaxBytes)
	})
}

// sound checks what holds of every result.
func sound(t *testing.T, r Result, truncated bool) {
	t.Helper()
	if r.Truncated != truncated {
		t.Errorf("truncated is %v", r.Truncated)
	}
	for _, s := range []string{r.Text, r.Own, r.First} {
		if !utf8.ValidString(s) || strings.IndexFunc(s, func(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\t' }) >= 0 {
			t.Errorf("%q is no text", s)
		}
		if s != "" && (strings.HasPrefix(s, "\n") || strings.HasSuffix(s, "\n")) {
			t.Errorf("%q has blank lines at its ends", s)
		}
	}
	if !subsequence(lineKeys(r.Own), lineKeys(r.Text)) {
		t.Errorf("own %q is not a part of %q", r.Own, r.Text)
	}
	if first, _, _ := strings.Cut(r.Own, "\n"); first != r.First || r.Empty() != (r.First == "") {
		t.Errorf("first line %q of %q", r.First, r.Own)
	}
	for _, why := range r.Cut {
		if why == "" || len(why) > 60 || !ascii(why) {
			t.Errorf("reason %q", why)
		}
	}
}

// lineKeys are the lines of a text that are not blank, as they are compared.
func lineKeys(s string) []string {
	var keys []string
	for raw := range strings.SplitSeq(s, "\n") {
		if l := quoted(raw); l.norm != "" {
			keys = append(keys, l.norm)
		}
	}
	return keys
}

func subsequence(part, whole []string) bool {
	for _, p := range part {
		for len(whole) > 0 && whole[0] != p {
			whole = whole[1:]
		}
		if len(whole) == 0 {
			return false
		}
		whole = whole[1:]
	}
	return true
}
