package fakemail

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestThreads groups mails, written as "id: references".
func TestThreads(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		mails []string
		want  string
	}{
		{"none", nil, "[]"},
		{"two apart", []string{"a", "b"}, "[[a] [b]]"},
		{"a reply", []string{"a", "x", "b: a"}, "[[a b] [x]]"},
		{"a long way back", []string{"a", "b: a", "c: a b", "d: c"}, "[[a b c d]]"},
		{"the root is not here", []string{"b: a", "c: a"}, "[[b c]]"},
		{"the last one comes first", []string{"c: a b", "a", "b: a"}, "[[c a b]]"},
		{"one joins two", []string{"a", "x", "b", "c: a b", "d: x"}, "[[a b c] [x d]]"},
		{"and they stay joined", []string{"a", "b", "c: a b", "d: b", "e: a"}, "[[a b c d e]]"},
		{"without ids", []string{"", "", ": a", "a"}, "[[] [] [ a]]"},
		{"the same id twice", []string{"a", "a"}, "[[a a]]"},
	}
	for _, tt := range tests {
		var mails []*Mail
		for i, s := range tt.mails {
			id, refs, _ := strings.Cut(s, ":")
			mails = append(mails, &Mail{MessageID: id, References: strings.Fields(refs), At: time.Unix(int64(i), 0)})
		}
		got := [][]string{}
		for _, th := range threads(mails) {
			var ids []string
			for _, m := range th {
				ids = append(ids, m.MessageID)
			}
			got = append(got, ids)
		}
		if s := fmt.Sprint(got); s != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, s, tt.want)
		}
	}
}

func TestMailto(t *testing.T) {
	t.Parallel()
	tests := []struct{ link, want string }{
		{"mailto:hub%2Bqk7@hub.test?subject=Re%3A%20%5BQ-7F%5D&body=hold%0D%0A", "body=hold\r\n subject=Re: [Q-7F] to=hub+qk7@hub.test"},
		{"mailto:hub+qk7@hub.test?SUBJECT=a+b", "subject=a+b to=hub+qk7@hub.test"},
		{"mailto:?to=a@b.test&body=x", "body=x to=a@b.test"},
		{"mailto:a@b.test?cc=c@d.test&subject=%zz", "to=a@b.test"},
	}
	for _, tt := range tests {
		u, err := url.Parse(tt.link)
		if err != nil {
			t.Fatal(err)
		}
		q, err := url.ParseQuery(mailto(u))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, name := range []string{"body", "subject", "to"} {
			if q.Has(name) {
				got = append(got, name+"="+q.Get(name))
			}
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: %q, want %q", tt.link, s, tt.want)
		}
	}
}

// TestFramed: what a mail may do in its frame.
func TestFramed(t *testing.T) {
	t.Parallel()
	const head, foot = "<html><head></head><body>", "</body></html>"
	tests := []struct{ name, in, theme, want string }{
		{"web link", `<a href="https://x.test/" target="_top" ping="/p">x</a>`, "", `<a target="_blank" rel="noopener noreferrer" href="https://x.test/">x</a>`},
		{"mail link", `<a href="mailto:a@b.test?body=2">x</a>`, "", `<a target="_top" href="/new?body=2&amp;to=a%40b.test">x</a>`},
		{"script link", `<a href="javascript:alert(1)">x</a>`, "", `<a>x</a>`},
		{"own page", `<a href="/as/sam">x</a>`, "", `<a>x</a>`},
		{"other host", `<a href="//evil.test/">x</a>`, "", `<a>x</a>`},
		{"below", `<a href="#two">x</a>`, "", `<a href="#two">x</a>`},
		{"script", `<p>a<script>alert(1)</script>b</p>`, "", `<p>ab</p>`},
		{"no theme", `<style>@media (prefers-color-scheme: dark){a{}}</style>`, "", `<style>@media (prefers-color-scheme: dark){a{}}</style>`},
	}
	for _, tt := range tests {
		if got := framed(head+tt.in+foot, tt.theme, "/new"); got != head+tt.want+foot {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
	got := framed(`<html><head><base href="https://evil.test/"><meta http-equiv="refresh" content="0;url=https://evil.test/"><meta name="color-scheme" content="light dark"><style>@media (Prefers-Color-Scheme:dark){a{}}@media ( prefers-color-scheme: light ){b{}}</style></head><body></body></html>`, "dark", "/new")
	want := `<html><head><meta name="color-scheme" content="light dark"/><style>@media (min-width:0){a{}}@media (max-width:0){b{}}</style><style>:root{color-scheme:dark!important}</style></head><body></body></html>`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("theme (-want +got):\n%s", diff)
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		n    int
		want []string
	}{
		{"", 5, []string{""}},
		{"abc", 5, []string{"abc"}},
		{"abc de", 5, []string{"abc", "de"}},
		{"ab cd", 5, []string{"ab cd"}},
		{"ab cd ef", 5, []string{"ab cd", "ef"}},
		{"abcdefgh ij", 5, []string{"abcdefgh", "ij"}},
		{"abcdefgh", 5, []string{"abcdefgh"}},
		{"本番 へ 行く", 4, []string{"本番 へ", "行く"}},
		{" abcdef g", 5, []string{" abcdef", "g"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, wrap(tt.in, tt.n)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.in, diff)
		}
	}
}

func TestShort(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	for at, want := range map[time.Time]string{
		now.Add(-time.Hour):      "08:00",
		now.Add(-10 * time.Hour): "30 Nov",
		now.AddDate(-1, 0, 0):    "1 Dec 2025",
	} {
		if got := short(at, now); got != want {
			t.Errorf("%s is %q, want %q", at, got, want)
		}
	}
}
