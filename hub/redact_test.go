package hub

import (
	"regexp"
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	// Written in halves, so that no scanner takes them for real ones.
	tests := []struct {
		name, secret string
	}{
		{"aws key id", "AKIA" + "IOSFODNN7EXAMPLE"},
		{"github token", "ghp_" + strings.Repeat("a1B2", 9)},
		{"github fine-grained", "github_pat_" + strings.Repeat("a1_", 10)},
		{"gitlab", "glpat-" + strings.Repeat("x", 20)},
		{"slack bot", "xoxb-" + "123456789012-abcdefABCDEF"},
		{"slack app", "xapp-" + "1-A0123-456-abcdef"},
		{"slack webhook", "https://hooks.slack" + ".com/services/T000/B000/XXXX"},
		{"openai", "sk-" + strings.Repeat("k", 24)},
		{"anthropic", "sk-ant-" + strings.Repeat("k", 24)},
		{"stripe", "sk_live_" + strings.Repeat("4", 20)},
		{"google", "AIza" + strings.Repeat("b", 35)},
		{"npm", "npm_" + strings.Repeat("c", 36)},
		{"sendgrid", "SG." + strings.Repeat("d", 22) + "." + strings.Repeat("e", 43)},
		{"our own", "bkn_" + strings.Repeat("a2", 16)},
		{"jwt", "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0In0.abcdefghijkl"},
		{"pem", "-----BEGIN RSA PRIVATE" + " KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"},
		{"pem cut off", "-----BEGIN PRIVATE" + " KEY-----\nMIIE"},
		{"from the config", "hunter-2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := &redactor{extra: []*regexp.Regexp{regexp.MustCompile(`hunter-\d+`)}}
			got := r.text("before " + tt.secret)
			if got != "before "+Mask || r.masked != 1 {
				t.Errorf("text = %q, masked %d", got, r.masked)
			}
			r.masked = 0
			doc := []byte(`{"k":["` + strings.ReplaceAll(tt.secret, "\n", `\n`) + `",1e2],"n":null}`)
			if got := string(r.json(doc)); got != `{"k":["`+Mask+`",1e2],"n":null}` || r.masked != 1 {
				t.Errorf("json = %s, masked %d", got, r.masked)
			}
		})
	}
}

func TestRedactLeavesTextAlone(t *testing.T) {
	t.Parallel()
	r := &redactor{}
	for _, s := range []string{
		"", "Ship web-app 2.3?", "the sk-8 board", "task-force-of-twenty-people-and-more", "AKIA is a prefix",
		"ghost_writer", "a JWT begins with eyJ", "risk-assessment-2026-12-01-final", "-----BEGIN CERTIFICATE-----",
	} {
		if got := r.text(s); got != s || r.masked != 0 {
			t.Errorf("text(%q) = %q, masked %d", s, got, r.masked)
		}
	}
}
