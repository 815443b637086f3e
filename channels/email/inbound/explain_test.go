package inbound

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const contextJSON = `{"question": "q-101", "text": "Deploy?\n\n1. Approve\n2. Reject\n3. Defer", "options": ["Approve", "Reject", "Defer"],
	"recipient": "alice@example.test", "reply_to": "hub+qk7m2x4c9v1p8s3tdz5w@hub.test", "message_id": "<q-101.r-alice.1@hub.test>",
	"authserv_id": "mx.hub.test", "verp": "bounce+b.q101@hub.test", "late": ["<late@example.test>"]}`

func TestReadContext(t *testing.T) {
	t.Parallel()
	plain, err := ReadContext([]byte(contextJSON))
	if err != nil {
		t.Fatal(err)
	}
	within, err := ReadContext([]byte(`{"context": ` + contextJSON + `, "samples": [1], "unknown": {}}`))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(plain, within); d != "" {
		t.Errorf("the context and the one in an object differ:\n%s", d)
	}
	for data, want := range map[string]string{
		"":                       "no JSON object",
		"[]":                     "no JSON object",
		`{"question": 1}`:        "no JSON object",
		`{"options": "Approve"}`: "no JSON object",
		`{}`:                     "question is missing",
		`{"context": {}}`:        "question is missing",
		strings.Replace(contextJSON, `"alice@example.test"`, `" "`, 1):                           "recipient is missing",
		strings.Replace(contextJSON, `"alice@example.test"`, `"alice"`, 1):                       `recipient: "alice" is no address`,
		strings.Replace(contextJSON, `"hub+qk7m2x4c9v1p8s3tdz5w@hub.test"`, `"hub"`, 1):          `reply_to: "hub" is no address`,
		strings.Replace(contextJSON, `"bounce+b.q101@hub.test"`, `"@"`, 1):                       `verp: "@" is no address`,
		strings.Replace(contextJSON, `"authserv_id"`, `"policy": "lax", "authserv_id"`, 1):       `policy: "lax" is none of strict, normal, token`,
		strings.Replace(contextJSON, `"authserv_id"`, `"policy": "strictest", "authserv_id"`, 1): "strict, normal, token",
	} {
		if _, err := ReadContext([]byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadContext(%.60q): %v, want %q", data, err, want)
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	base := letter{[]string{
		"Return-Path: <alice@example.test>",
		"Authentication-Results: mx.hub.test; dmarc=pass header.from=example.test",
		"From: Alice <alice@example.test>",
		"To: hub+qk7m2x4c9v1p8s3tdz5w@hub.test",
		"Subject: Re: [Q-101] Deploy?",
		"Message-ID: <1@example.test>",
	}, "Approve\n"}
	plain := base.with("To: hub@hub.test", "Subject: Approve")
	for _, tt := range []struct {
		name   string
		mail   letter
		kind   Kind
		who    string
		choice string
	}{
		{"a reply", base, Answer, "alice@example.test", "Approve"},
		{"the token in capitals", base.with("To: HUB+QK7M2X4C9V1P8S3TDZ5W@HUB.TEST"), Answer, "alice@example.test", "Approve"},
		{"a greeting to the hub", base.says("Hi hub,\n\nReject\n"), Answer, "alice@example.test", "Reject"},
		{"by our id", plain.add("In-Reply-To: <Q-101.r-alice.1@hub.test>"), Answer, "alice@example.test", "Approve"},
		{"by the id of the thread", plain.add("References: <q-101@hub.test>"), Answer, "alice@example.test", "Approve"},
		{"by another mail to the same person", plain.add("References: <q-101.r-alice.2@hub.test>"), Answer, "alice@example.test", "Approve"},
		{"by the tag", plain.with("Subject: Re: [Q-101] Deploy?"), Answer, "alice@example.test", "Approve"},
		{"late", base.with("Message-ID: <late@example.test>"), LateAnswer, "alice@example.test", "Approve"},
		{"of another question", plain.add("In-Reply-To: <q-007.r-alice.1@hub.test>"), Expired, "alice@example.test", ""},
		{"of another question, in the tag", plain.with("Subject: Re: [Q-007] Deploy?"), Expired, "alice@example.test", ""},
		{"of another question, to another person", plain.add("In-Reply-To: <q-007.r-bob.1@hub.test>"), Expired, "", ""},
		{"of this question, to another person", plain.add("In-Reply-To: <q-101.r-bob.1@hub.test>"), Expired, "", ""},
		{"an id at our domain that is none of ours", plain.add("In-Reply-To: <x.y.1@hub.test>"), Unmatched, "", ""},
		{"an id of ours at another domain", plain.add("In-Reply-To: <q-101.r-alice.1@evil.test>"), Unmatched, "", ""},
		{"an unknown token", plain.with("To: hub+qzzzzzzzzzzzzzzzzzzz@hub.test"), Unmatched, "", ""},
		{"to the envelope address", plain.with("To: bounce+b.q101@hub.test"), Answer, "alice@example.test", "Approve"},
		{"a bounce to the envelope address", plain.with("To: bounce+b.q101@hub.test", "From: MAILER-DAEMON@x.test", "Return-Path: <>", "Subject: failure notice"), BounceFailed, "alice@example.test", ""},
		{"from the envelope address", base.with("From: bounce+x@hub.test"), Loop, "alice@example.test", ""},
		{"from somebody else", base.with("From: bob@example.test"), IdentityMismatch, "", "Approve"},
		{"free text", base.says("Please wait until Monday.\n"), Answer, "alice@example.test", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := ReadContext([]byte(contextJSON))
			if err != nil {
				t.Fatal(err)
			}
			x, err := NewExplainer(c).Explain(t.Context(), tt.mail.bytes())
			if err != nil {
				t.Fatal(err)
			}
			if x.Kind != tt.kind || value(x.Who) != tt.who || value(x.Choice) != tt.choice {
				t.Errorf("%s, %q, %q; want %s, %q, %q; %q", x.Kind, value(x.Who), value(x.Choice), tt.kind, tt.who, tt.choice, x.Reasons)
			}
		})
	}
}

// Questions with two choices, and with none.
func TestExplainForms(t *testing.T) {
	t.Parallel()
	mail := letter{[]string{"From: alice@example.test", "To: hub+t@hub.test", "Message-ID: <1@x>"}, "Yes\n"}.bytes()
	for options, want := range map[string]string{`["Approve", "Reject"]`: "Approve", `["Later", "Now"]`: "", `[]`: ""} {
		c, err := ReadContext([]byte(`{"question": "q", "recipient": "alice@example.test", "reply_to": "hub+t@hub.test", "options": ` + options + `}`))
		if err != nil {
			t.Fatal(err)
		}
		x, err := NewExplainer(c).Explain(t.Context(), mail)
		if err != nil {
			t.Fatal(err)
		}
		if x.Kind != Answer || value(x.Choice) != want || x.Text != "Yes" {
			t.Errorf("options %s: %s, %q, %q; want %q", options, x.Kind, value(x.Choice), x.Text, want)
		}
	}
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
