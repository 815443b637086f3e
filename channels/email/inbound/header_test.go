package inbound

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadHeader(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, raw string
		want      []string // "name: value", unfolded
		body      string
	}{
		{"a mail", "From: a@a.test\r\nTo: b@b.test\r\n\r\nbody\r\n", []string{"from: a@a.test", "to: b@b.test"}, "body\r\n"},
		{"line feeds only", "From: a@a.test\n\nbody\n", []string{"from: a@a.test"}, "body\n"},
		{"carriage returns only", "From: a@a.test\r\rbody\r", []string{"from: a@a.test"}, "body\n"},
		{"folded", "Subject: one\r\n two\r\n\tthree\r\n\r\n", []string{"subject: one two\tthree"}, ""},
		{"an mbox line", "From alice Mon Nov 30 14:00:00 2026\nFrom: a@a.test\n\nx", []string{"from: a@a.test"}, "x"},
		{"blank lines in front", "\r\n\r\nFrom: a@a.test\r\n\r\nx", []string{"from: a@a.test"}, "x"},
		{"lines that are no field", "From: a@a.test\r\nnonsense\r\n: x\r\nTo : b@b.test\r\n\r\nx", []string{"from: a@a.test", "to: b@b.test"}, "x"},
		{"no body", "From: a@a.test", []string{"from: a@a.test"}, ""},
		{"no header", "\n\n\n", nil, ""},
		{"a fold before any field", " x\r\nTo: b@b.test\r\n\r\n", []string{"to: b@b.test"}, ""},
		{"twice", "To: a\r\nTo: b\r\n\r\n", []string{"to: a", "to: b"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h, body := readHeader([]byte(tt.raw))
			var got []string
			for _, f := range h {
				got = append(got, f.name+": "+unfold(f.value))
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("header (-want +got):\n%s", d)
			}
			if string(body) != tt.body {
				t.Errorf("body %q, want %q", body, tt.body)
			}
		})
	}
}

// A header without an end is bounded, and what follows it is not lost.
func TestReadHeaderIsBounded(t *testing.T) {
	t.Parallel()
	raw := "From: a@a.test\n" + strings.Repeat("X: y\n", 2*maxFields) + "\nbody"
	h, body := readHeader([]byte(raw))
	if len(h) != maxFields || string(body) != "body" {
		t.Errorf("%d fields, body %q", len(h), body)
	}
	raw = "From: a@a.test\nX: " + strings.Repeat("y\n ", maxHeader) + "\n\nbody"
	if h, body = readHeader([]byte(raw)); len(h) != 2 || string(body) != "body" {
		t.Errorf("%d fields, body %q", len(h), body)
	}
}

func TestDecodeWords(t *testing.T) {
	t.Parallel()
	for _, tt := range [][2]string{
		{"Re: =?ISO-2022-JP?B?GyRCM05HJxsoQg==?= [Q-101]", "Re: 確認 [Q-101]"},
		{"=?utf-8?Q?Gr=C3=BC=C3=9Fe?= =?utf-8?Q?_aus_K=C3=B6ln?=", "Grüße aus Köln"},
		{"=?windows-1251?B?xOA=?=", "Да"},
		{"=?gb2312?B?xOO6ww==?=", "你好"},
		{"=?x-unknown?Q?Gr=FC=DFe?=", "Grüße"},
		{"=?utf-8?Q?broken", "=?utf-8?Q?broken"},
		{"Gr\xfc\xdfe", "Grüße"},
		{"Grüße", "Grüße"},
		{"=?utf-8?B?%%%?=", "=?utf-8?B?%%%?="},
		{"a\x00b\x1b[31m", "ab[31m"},
		{"=?utf-8?Q?a=00b=0D=0AX?=", "ab X"},
		{"=?utf-8*en?Q?language?=", "language"},
		{"\"=?utf-8?Q?quoted?=\" <a@a.test>", "\"quoted\" <a@a.test>"},
		{"=?us-ascii?Q?Re:_?= =?utf-8?B?UmU6IFtRLTEwMV0g8J+RjQ==?=", "Re: Re: [Q-101] 👍"},
	} {
		in, want := tt[0], tt[1]
		if got := oneLine(decodeWords(in)); got != want {
			t.Errorf("decodeWords(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestMediaType(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in, typ string
		params  map[string]string
	}{
		{"text/plain; charset=utf-8", "text/plain", map[string]string{"charset": "utf-8"}},
		{"TEXT/Plain; Charset=\"UTF-8\"; format=flowed", "text/plain", map[string]string{"charset": "UTF-8", "format": "flowed"}},
		{"text/plain; charset=utf-8; charset=latin1", "text/plain", map[string]string{"charset": "utf-8"}},
		{"text/plain; charset==utf-8;;", "text/plain", map[string]string{"charset": "=utf-8"}},
		{"multipart/mixed; boundary=\"a b\"; junk", "multipart/mixed", map[string]string{"boundary": "a b"}},
		{"multipart/mixed boundary=x", "multipart/mixed boundary=x", map[string]string{}},
		{"", "", map[string]string{}},
	} {
		typ, params := mediaType(tt.in)
		if typ != tt.typ || !cmp.Equal(params, tt.params) && len(params)+len(tt.params) > 0 {
			t.Errorf("mediaType(%q) = %q, %v; want %q, %v", tt.in, typ, params, tt.typ, tt.params)
		}
	}
}
