package authres

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, value string
		unnamed     bool
		want        Header
	}{
		{name: "three results", value: "mx.test; dkim=pass header.d=a.test; spf=pass smtp.mailfrom=a.test; dmarc=pass header.from=a.test", want: Header{ID: "mx.test", Methods: []Method{
			{Name: "dkim", Result: "pass", Props: []Prop{{"header", "d", "a.test"}}},
			{Name: "spf", Result: "pass", Props: []Prop{{"smtp", "mailfrom", "a.test"}}},
			{Name: "dmarc", Result: "pass", Props: []Prop{{"header", "from", "a.test"}}},
		}}},
		{name: "no results", value: "mx.test 1; none", want: Header{ID: "mx.test", Version: "1"}},
		{name: "none in capitals, with a comment", value: "mx.test; NONE (nothing)", want: Header{ID: "mx.test"}},
		{name: "all that RFC 8601 allows between words", value: "(a (nested; \\) comment)) \"mx.test\" (b) 1 (c);\r\n\tdkim / 1 (d) = (e) pass (f) reason (g) = \"good; really\" header . d = a.test", want: Header{ID: "mx.test", Version: "1", Methods: []Method{
			{Name: "dkim", Version: "1", Result: "pass", Props: []Prop{{"", "reason", "good; really"}, {"header", "d", "a.test"}}},
		}}},
		{name: "folded with bare line feeds", value: "mx.test;\n dmarc=pass\n\theader.from=a.test\n", want: Header{ID: "mx.test", Methods: []Method{{Name: "dmarc", Result: "pass", Props: []Prop{{"header", "from", "a.test"}}}}}},
		{name: "Microsoft 365", unnamed: true, value: "spf=pass (sender IP is 192.0.2.1)\r\n smtp.mailfrom=a.test; dkim=pass (signature was verified)\r\n header.d=a.test;dmarc=pass action=none\r\n header.from=a.test;compauth=pass reason=100", want: Header{Methods: []Method{
			{Name: "spf", Result: "pass", Props: []Prop{{"smtp", "mailfrom", "a.test"}}},
			{Name: "dkim", Result: "pass", Props: []Prop{{"header", "d", "a.test"}}},
			{Name: "dmarc", Result: "pass", Props: []Prop{{"", "action", "none"}, {"header", "from", "a.test"}}},
			{Name: "compauth", Result: "pass", Props: []Prop{{"", "reason", "100"}}},
		}}},
		{name: "Yahoo: a comment right after the result", value: "atlas.test; dmarc=pass(p=REJECT) header.from=a.test;", want: Header{ID: "atlas.test", Methods: []Method{{Name: "dmarc", Result: "pass", Props: []Prop{{"header", "from", "a.test"}}}}}},
		{name: "OpenDKIM: a semicolon in a comment", value: "h; dkim=pass (2048-bit key; unprotected) header.b=\"ab/c+=\"", want: Header{ID: "h", Methods: []Method{{Name: "dkim", Result: "pass", Props: []Prop{{"header", "b", "ab/c+="}}}}}},
		{name: "an equals sign in an address", value: "h; spf=pass smtp.mailfrom=bounce+u=a.test@esp.test", want: Header{ID: "h", Methods: []Method{{Name: "spf", Result: "pass", Props: []Prop{{"smtp", "mailfrom", "bounce+u=a.test@esp.test"}}}}}},
		{name: "an empty value", value: "h; spf=none smtp.mailfrom= smtp.helo=x.test", want: Header{ID: "h", Methods: []Method{{Name: "spf", Result: "none", Props: []Prop{{"smtp", "mailfrom", ""}, {"smtp", "helo", "x.test"}}}}}},
		{name: "an empty value at the end", value: "h; spf=none smtp.mailfrom=", want: Header{ID: "h", Methods: []Method{{Name: "spf", Result: "none", Props: []Prop{{"smtp", "mailfrom", ""}}}}}},
		{name: "a quoted local part", value: `h; spf=pass smtp.mailfrom="x; dmarc=pass header.from=v.test a"@evil.test; dmarc=fail`, want: Header{ID: "h", Methods: []Method{
			{Name: "spf", Result: "pass", Props: []Prop{{"smtp", "mailfrom", "x; dmarc=pass header.from=v.test a@evil.test"}}},
			{Name: "dmarc", Result: "fail"},
		}}},
		{name: "a quote in a quoted local part", value: `h; spf=pass smtp.mailfrom="x\"; dmarc=pass"@evil.test`, want: Header{ID: "h", Methods: []Method{{Name: "spf", Result: "pass", Props: []Prop{{"smtp", "mailfrom", `x"; dmarc=pass@evil.test`}}}}}},
		{name: "an encoded word is only letters", value: "h; spf=pass smtp.mailfrom==?utf-8?q?x=3B_dmarc=3Dpass?=@evil.test", want: Header{ID: "h", Methods: []Method{{Name: "spf", Result: "pass", Props: []Prop{{"smtp", "mailfrom", "=?utf-8?q?x=3B_dmarc=3Dpass?=@evil.test"}}}}}},
		{name: "a stray word", value: "h; dmarc=pass a@evil.test", want: Header{ID: "h", Methods: []Method{{Name: "dmarc", Result: "pass", Odd: true}}}},
		{name: "a stray word before the result", value: "h; evil dmarc=pass", want: Header{ID: "h", Methods: []Method{{Name: "dmarc", Result: "pass", Odd: true}}}},
		{name: "a quoted result", value: `h; dmarc="pass"`, want: Header{ID: "h", Methods: []Method{{Name: "dmarc", Result: "pass", Odd: true}}}},
		{name: "a quoted method", value: `h; "dmarc"=pass`, want: Header{ID: "h", Methods: []Method{{Name: "dmarc", Result: "pass", Odd: true}}}},
		{name: "a result in two pieces", value: "h; dmarc=pa(x)ss", want: Header{ID: "h", Methods: []Method{{Name: "dmarc", Result: "pa", Odd: true}}}},
		{name: "no result at all", value: "h; ; dmarc; =; =pass; x=", want: Header{ID: "h", Methods: []Method{{Odd: true}, {Odd: true}, {Result: "pass", Odd: true}, {Name: "x"}}}},
		{name: "three words for an id", value: "evil mx.test 1; dmarc=pass", want: Header{Version: "mx.test", Methods: []Method{{Name: "dmarc", Result: "pass"}}}},
		{name: "nothing", value: "", want: Header{}},
		{name: "letters beyond ASCII", value: "h; dmarc=pass header.from=bücher.test", want: Header{ID: "h", Methods: []Method{{Name: "dmarc", Result: "pass", Props: []Prop{{"header", "from", "bücher.test"}}}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse(tt.value, tt.unnamed)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(&tt.want, got); d != "" {
				t.Errorf("Parse(%q) (-want +got):\n%s", tt.value, d)
			}
		})
	}
}

func TestParseDamaged(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"an open comment":               "h; spf=pass smtp.mailfrom=x(@evil.test; dmarc=fail header.from=a.test",
		"an open nested comment":        "h; spf=pass (a (b) ; dmarc=fail",
		"an open quoted string":         `h; spf=pass smtp.mailfrom="x@evil.test; dmarc=fail`,
		"a backslash at the end":        `h; spf=pass smtp.mailfrom="x\`,
		"a backslash before the end":    `h; spf=pass (x\)`,
		"NUL":                           "h; dmarc=pass\x00",
		"NUL in a quoted string":        "h; spf=pass x=\"\x00\"",
		"a bare CR":                     "h; spf=pass smtp.mailfrom=x\rdmarc=pass",
		"a bare CR in a comment":        "h; spf=pass (x\r) ; dmarc=pass",
		"a line that was never folded":  "h; spf=pass smtp.mailfrom=x\r\nAuthentication-Results: h; dmarc=pass",
		"a line feed in a quoted value": "h; spf=pass x=\"a\nb\"",
		"more results than any server":  "h" + strings.Repeat("; dkim=fail", maxMethods+1),
		"longer than any server's":      "h; dmarc=pass (" + strings.Repeat("x", maxHeader) + ")",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if h, err := Parse(value, false); !errors.Is(err, ErrDamaged) {
				t.Errorf("Parse = %+v, %v; want ErrDamaged", h, err)
			}
		})
	}
}

// FuzzTrusted holds what no header may do, whatever is in it: break us, or pass
// anything for a server that is not ours.
func FuzzTrusted(f *testing.F) {
	for _, seed := range []string{
		"mx.test; dkim=pass header.d=a.test; dmarc=pass header.from=a.test",
		`mx.test 1; spf=pass smtp.mailfrom="x; dmarc=pass"@evil.test (c (d) \)); dmarc=fail`,
		"spf=pass smtp.mailfrom= a.test;\r\n dmarc=pass action=none",
		"(x) \"mx.test\" 1;none", "mx.test; a/1.b.=c==\"d\"e(f)=;;", "mx.test(",
	} {
		f.Add(seed, "mx.test")
	}
	f.Fuzz(func(t *testing.T, value, id string) {
		v := Trusted([]string{value}, id, false, "a.test")
		if v.By != "" && !strings.EqualFold(v.By, id) {
			t.Errorf("%q counts as %q, which is not %q", value, v.By, id)
		}
		if v.By == "" && (v.DMARC != None || v.DKIM != None || v.SPF != None || v.Damaged) {
			t.Errorf("%q says %+v, by nobody", value, v)
		}
		if v.Damaged && v.Proved() {
			t.Errorf("%q is damaged and proves: %+v", value, v)
		}
		// Whatever a server wrote, a sender's quoted local part adds no pass.
		if strings.ContainsAny(value, "\"\\\r\n\x00") {
			return
		}
		hostile := `mx.test; spf=pass smtp.mailfrom="` + value + `"@evil.test; dmarc=fail header.from=a.test`
		if v := Trusted([]string{hostile}, "mx.test", false, "a.test"); v.Proved() {
			t.Errorf("%q proves: %+v", hostile, v)
		}
	})
}
