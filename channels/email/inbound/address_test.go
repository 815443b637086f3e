package inbound

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAuthor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, header, want string }{
		{"name and address", "From: Alice Example <alice@example.test>", "alice@example.test"},
		{"address alone", "From: alice@example.test", "alice@example.test"},
		{"another case", "From: ALICE@Example.TEST", "alice@example.test"},
		{"a comment", "From: alice@example.test (Alice, mallory@evil.test)", "alice@example.test"},
		{"a quoted local part", `From: "alice"@example.test`, "alice@example.test"},
		{"an address as a quoted name", `From: "alice@example.test" <mallory@evil.test>`, "mallory@evil.test"},
		{"an address as a bare name", "From: alice@example.test <mallory@evil.test>", "mallory@evil.test"},
		{"an address as an encoded name", "From: =?utf-8?Q?alice=40example.test?= <mallory@evil.test>", "mallory@evil.test"},
		{"an address with a comma as an encoded name", "From: =?utf-8?Q?=3Calice=40example.test=3E=2C?= <mallory@evil.test>", "mallory@evil.test"},
		{"a name with a bare comma", "From: Example, Alice <alice@example.test>", "alice@example.test"},
		{"a name in an unknown charset", "From: =?x-none?Q?=FF?= <alice@example.test>", "alice@example.test"},
		{"a name with a bare quote", "From: Alice \"Ace <alice@example.test>", "alice@example.test"},
		{"an international domain", "From: alice@bücher.test", "alice@xn--bcher-kva.test"},
		{"folded", "From: Alice\r\n <alice@example.test>", "alice@example.test"},
		{"the Kelvin sign is no k", "From: \u212aim@example.test", "\u212aim@example.test"},

		{"none", "To: alice@example.test", ""},
		{"empty", "From: ", ""},
		{"a name alone", "From: Alice", ""},
		{"an empty address", "From: MAILER-DAEMON <>", ""},
		{"two addresses", "From: alice@example.test, mallory@evil.test", ""},
		{"the same one twice", "From: alice@example.test, alice@example.test", ""},
		{"two fields", "From: alice@example.test\r\nFrom: mallory@evil.test", ""},
		{"two fields, in another case", "From: alice@example.test\r\nFROM: alice@example.test", ""},
		{"two in angle brackets", "From: <alice@example.test> <mallory@evil.test>", ""},
		{"something after the brackets", "From: <alice@example.test> mallory@evil.test", ""},
		{"a group", "From: friends: alice@example.test;", ""},
		{"an address in an address", `From: "alice@example.test"@evil.test`, "alice@example.test@evil.test"},
		{"a route", "From: <@evil.test:alice@example.test>", ""},
		{"an encoded address", "From: =?utf-8?Q?alice=40example.test?=", ""},
		{"a bare carriage return", "From: alice@example.test\rX: mallory@evil.test", ""},
		{"NUL", "From: alice@example.test\x00", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h, _ := readHeader([]byte(tt.header + "\r\n\r\n"))
			got, why := h.author()
			if got != tt.want || (got == "") != (why != "") {
				t.Errorf("author of %q is %q (%s), want %q", tt.header, got, why, tt.want)
			}
		})
	}
}

func TestOnBehalf(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"Sender: Carol <carol@example.test>": "carol@example.test",
		"Sender: ALICE@example.test":         "",
		"X: y":                               "",
		"Sender: junk":                       "junk",
		"Sender: alice@example.test\r\nSender: carol@example.test":  "carol@example.test",
		"Sender: =?utf-8?Q?alice=40example.test?= <c@example.test>": "c@example.test",
	} {
		h, _ := readHeader([]byte(header + "\r\n\r\n"))
		if got := h.onBehalf("alice@example.test"); got != want {
			t.Errorf("onBehalf of %q is %q, want %q", header, got, want)
		}
	}
}

func TestRecipients(t *testing.T) {
	t.Parallel()
	m := Parse([]byte("To: Hub <Hub+QTOKEN@hub.test>, \"Bob, R.\" <bob@b.test>\r\nCc: hub+two@hub.test;carol@c.test\r\n" +
		"Delivered-To: hub+three@hub.test\r\nDelivered-To: <hub+four@hub.test>\r\nX-Original-To: hub+five@hub.test\r\nEnvelope-To: hub+six@hub.test\r\n" +
		"X-Envelope-To: hub+seven@hub.test\r\nX-Forwarded-To: hub+eight@hub.test junk\r\nTo: undisclosed-recipients:;\r\nReply-To: hub+no@hub.test\r\n\r\n"))
	got := m.recipients(Envelope{Known: true, To: []string{"prvs=123ab=Hub+env@hub.test", "hub+qtoken@hub.test"}})
	want := []string{
		"Hub+env@hub.test", "hub+qtoken@hub.test", "bob@b.test", "hub+two@hub.test", "carol@c.test", "hub+three@hub.test", "hub+four@hub.test",
		"hub+five@hub.test", "hub+six@hub.test", "hub+seven@hub.test", "hub+eight@hub.test",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("recipients (-want +got):\n%s", d)
	}
}

func TestAnswered(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		header string
		want   []string
	}{
		"both fields, newest first":    {"In-Reply-To: <c@x>\r\nReferences: <a@x> <b@x>\r\n <c@x>", []string{"c@x", "b@x", "a@x"}},
		"several ids in In-Reply-To":   {"In-Reply-To: <a@x>, <b@x>", []string{"b@x", "a@x"}},
		"words around":                 {"In-Reply-To: Your message of \"Mon, 30 Nov\" <a@x>", []string{"a@x"}},
		"no brackets":                  {"References: a@x, b@x", []string{"b@x", "a@x"}},
		"no brackets for some":         {"References: <a@x> b@x", []string{"b@x", "a@x"}},
		"no space between":             {"References: <a@x><b@x>,<c@x>", []string{"c@x", "b@x", "a@x"}},
		"a fold within an id":          {"References: <a\r\n @x>", []string{"a@x"}},
		"an id without a domain":       {"In-Reply-To: <0102018f-abcd-000000>", []string{"0102018f-abcd-000000"}},
		"brackets that are not closed": {"References: <a@x", []string{"a@x"}},
		"none":                         {"X: y", nil},
		"empty":                        {"References: <>", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, _ := readHeader([]byte(tt.header + "\r\n\r\n"))
			if d := cmp.Diff(tt.want, h.answered()); d != "" {
				t.Errorf("answered (-want +got):\n%s", d)
			}
		})
	}
}

func TestSameSubject(t *testing.T) {
	t.Parallel()
	const ours = "[Q-7F3K2M] Ship web-app 2.3 to production?"
	for theirs, want := range map[string]bool{
		"Re: [Q-7F3K2M] Ship web-app 2.3 to production?":  true,
		"AW: WG: [q-7f3k2m] Ship":                         true,
		"[Q-7F3K2M] Approve":                              true,
		"Re: Ship web-app 2.3 to production?":             true,
		"RE: [EXTERNAL] SHIP  web-app 2.3\tto production": true,
		"Re[2]: Ship web-app 2.3 to prod…":                true,
		"":                                                true,
		"Re:":                                             true,
		"回复: Ship web-app 2.3 to production?":             true,
		"Invoice question":                                false,
		"Re: [Q-AAAAAA] Ship something else":              false,
		"Fwd: lunch":                                      false,
		"Re: Re: Ship web-app 2.3 to production? [was: lunch]": true,
	} {
		if got := sameSubject(theirs, ours); got != want {
			t.Errorf("sameSubject(%q) = %v", theirs, got)
		}
	}
	if !sameSubject("Anything", "") {
		t.Error("a subject that we don't know is another one")
	}
}
