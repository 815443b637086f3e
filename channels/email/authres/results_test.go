package authres

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTrusted(t *testing.T) {
	t.Parallel()
	const id = "mx.hub.test"
	none := Verdict{DMARC: None, DKIM: None, SPF: None}
	for _, tt := range []struct {
		name    string
		headers []string
		id      string
		unnamed bool
		from    string // "" is a.test
		want    Verdict
	}{
		{
			name: "all passed", headers: []string{id + "; dkim=pass header.d=a.test; spf=pass smtp.mailfrom=a.test; dmarc=pass header.from=a.test"},
			want: Verdict{By: id, DMARC: Pass, DKIM: Pass, SPF: Pass, DKIMDomain: "a.test", SPFDomain: "a.test"},
		},
		{name: "no header", want: none},
		{name: "nobody is trusted", id: "-", headers: []string{id + "; dmarc=pass"}, want: none},
		{name: "the name in another case", headers: []string{"MX.Hub.TEST; DMARC=Pass header.From=A.Test"}, want: Verdict{By: "MX.Hub.TEST", DMARC: Pass, DKIM: None, SPF: None}},
		{name: "the name in quotes, with a version", headers: []string{`"mx.hub.test" 1; dmarc=pass`}, want: Verdict{By: id, DMARC: Pass, DKIM: None, SPF: None}},
		{name: "somebody else's name", headers: []string{"mx.evil.test; dmarc=pass header.from=a.test"}, want: none},
		{name: "a name that begins with ours", headers: []string{id + ".evil.test; dmarc=pass"}, want: none},
		{name: "a name that ends in ours", headers: []string{"x." + id + "; dmarc=pass"}, want: none},
		{name: "our name as the version of another", headers: []string{"evil.test " + id + "; dmarc=pass"}, want: none},
		{name: "our name in a comment", headers: []string{"(" + id + ";) evil.test; dmarc=pass"}, want: none},
		{name: "our name in the middle of a quoted one", headers: []string{`"` + id + `; x"; dmarc=pass`}, want: none},
		{name: "our name with a version of its own making", headers: []string{id + " 2; dmarc=pass"}, want: none},
		{name: "our name after a slash", headers: []string{id + "/1; dmarc=pass"}, want: none},
		{
			name: "only the topmost of ours counts", headers: []string{id + "; dmarc=fail header.from=a.test", id + "; dmarc=pass header.from=a.test"},
			want: Verdict{By: id, DMARC: Fail, DKIM: None, SPF: None},
		},
		{name: "a lower one adds nothing", headers: []string{id + "; none", id + "; dmarc=pass header.from=a.test"}, want: Verdict{By: id, DMARC: None, DKIM: None, SPF: None}},
		{name: "others above ours don't matter", headers: []string{"mx.other.test; dmarc=fail", id + "; dmarc=pass"}, want: Verdict{By: id, DMARC: Pass, DKIM: None, SPF: None}},
		{name: "the worst of two", headers: []string{id + "; dmarc=pass header.from=a.test; dmarc=fail header.from=a.test; spf=pass; spf=softfail"}, want: Verdict{By: id, DMARC: Fail, DKIM: None, SPF: SoftFail}},
		{name: "the worst of two, the other way round", headers: []string{id + "; dmarc=none; dmarc=pass"}, want: Verdict{By: id, DMARC: None, DKIM: None, SPF: None}},
		{
			name: "a quoted local part", headers: []string{id + `; spf=pass smtp.mailfrom="x; dmarc=pass header.from=a.test a"@evil.test; dkim=none; dmarc=fail header.from=a.test`},
			want: Verdict{By: id, DMARC: Fail, DKIM: None, SPF: Pass, SPFDomain: "evil.test"},
		},
		{
			name: "a quoted local part, and no real result", headers: []string{id + `; spf=pass smtp.mailfrom="x; dmarc=pass header.from=a.test; dkim=pass header.d=a.test"@evil.test`},
			want: Verdict{By: id, DMARC: None, DKIM: None, SPF: Pass, SPFDomain: "evil.test"},
		},
		{
			name: "a local part that lost its quotes", headers: []string{id + `; spf=pass smtp.mailfrom=x; dmarc=pass header.from=a.test a@evil.test`},
			want: Verdict{By: id, DMARC: None, DKIM: None, SPF: Pass, SPFDomain: "x"},
		},
		{
			name: "the same, and its real result", headers: []string{id + `; spf=pass smtp.mailfrom=x; dmarc=pass header.from=a.test; dmarc=fail header.from=a.test`},
			want: Verdict{By: id, DMARC: Fail, DKIM: None, SPF: Pass, SPFDomain: "x"},
		},
		{name: "a comment", headers: []string{id + `; spf=pass (helo is x; dmarc=pass header.from=a.test) smtp.helo=x`}, want: Verdict{By: id, DMARC: None, DKIM: None, SPF: Pass}},
		{name: "a comment that swallows the rest", headers: []string{id + `; dkim=pass header.d=a.test; spf=pass smtp.mailfrom=x(@evil.test; dmarc=fail`, id + "; dmarc=pass"}, want: Verdict{By: id, DMARC: None, DKIM: None, SPF: None, Damaged: true}},
		{name: "damage to the first word", headers: []string{id + "(; dmarc=fail", id + "; dmarc=pass"}, want: Verdict{By: id, DMARC: None, DKIM: None, SPF: None, Damaged: true}},
		{name: "a header in a header", headers: []string{id + "; spf=pass smtp.mailfrom=x\r\nAuthentication-Results: " + id + "; dmarc=pass"}, want: Verdict{By: id, DMARC: None, DKIM: None, SPF: None, Damaged: true}},
		{name: "pass for another From", headers: []string{id + "; dmarc=pass header.from=evil.test"}, want: Verdict{By: id, DMARC: None, DKIM: None, SPF: None}},
		{name: "pass for a subdomain's organization", from: "mail.a.test", headers: []string{id + "; dmarc=pass header.from=a.test"}, want: Verdict{By: id, DMARC: Pass, DKIM: None, SPF: None}},
		{name: "fail for whatever", headers: []string{id + "; dmarc=fail header.from=evil.test"}, want: Verdict{By: id, DMARC: Fail, DKIM: None, SPF: None}},
		{name: "a signature of somebody else", headers: []string{id + "; dkim=pass header.d=evil.test"}, want: Verdict{By: id, DMARC: None, DKIM: None, SPF: None}},
		{name: "a signature of nobody", headers: []string{id + "; dkim=pass"}, want: Verdict{By: id, DMARC: None, DKIM: None, SPF: None}},
		{name: "ours and the provider's", headers: []string{id + "; dkim=pass header.d=a.test; dkim=fail header.d=esp.test"}, want: Verdict{By: id, DMARC: None, DKIM: Pass, SPF: None, DKIMDomain: "a.test"}},
		{name: "a signature by header.i", headers: []string{id + "; dkim=pass header.i=@mail.a.test header.s=x"}, want: Verdict{By: id, DMARC: None, DKIM: Pass, SPF: None, DKIMDomain: "mail.a.test"}},
		{name: "a signature that broke on the way", headers: []string{id + "; dkim=fail (body hash did not verify) header.d=a.test; dmarc=fail"}, want: Verdict{By: id, DMARC: Fail, DKIM: Fail, SPF: None, DKIMDomain: "a.test"}},
		{name: "one that broke, of nobody said", headers: []string{id + "; dkim=fail (body hash did not verify); dmarc=fail"}, want: Verdict{By: id, DMARC: Fail, DKIM: Fail, SPF: None}},
		{name: "a local part in header.i", headers: []string{id + `; dkim=pass header.i="x@a.test "@evil.test`}, want: Verdict{By: id, DMARC: None, DKIM: None, SPF: None}},
		{
			name: "Microsoft 365", id: "-", unnamed: true, headers: []string{"spf=pass (sender IP is 192.0.2.1)\r\n smtp.mailfrom=a.test; dkim=pass (signature was verified)\r\n header.d=a.test;dmarc=pass action=none\r\n header.from=a.test;compauth=pass reason=100"},
			want: Verdict{By: Unnamed, DMARC: Pass, DKIM: Pass, SPF: Pass, DKIMDomain: "a.test", SPFDomain: "a.test"},
		},
		{name: "the same, not configured", headers: []string{"spf=pass smtp.mailfrom=a.test; dmarc=pass header.from=a.test"}, want: none},
		{name: "unnamed, below another", id: "-", unnamed: true, headers: []string{"mx.evil.test; none", "dmarc=pass header.from=a.test"}, want: none},
		{name: "unnamed, and damaged", id: "-", unnamed: true, headers: []string{"spf=pass (x; dmarc=pass"}, want: Verdict{By: Unnamed, DMARC: None, DKIM: None, SPF: None, Damaged: true}},
		{name: "Yahoo", headers: []string{id + "; dkim=pass header.i=@a.test header.s=s1; dmarc=pass(p=REJECT) header.from=a.test;"}, want: Verdict{By: id, DMARC: Pass, DKIM: Pass, SPF: None, DKIMDomain: "a.test"}},
		{name: "OpenDMARC's comment", headers: []string{id + "; dmarc=pass (p=none; dis=none) header.from=a.test"}, want: Verdict{By: id, DMARC: Pass, DKIM: None, SPF: None}},
		{name: "words that are none of the RFC's", headers: []string{id + "; dmarc=bestguesspass header.from=a.test; spf=hardfail"}, want: Verdict{By: id, DMARC: None, DKIM: None, SPF: Fail}},
		{name: "a method of another version", headers: []string{id + "; dmarc/2=pass"}, want: Verdict{By: id, DMARC: None, DKIM: None, SPF: None}},
		{name: "an international domain", from: "bücher.test", headers: []string{id + "; dmarc=pass header.from=xn--bcher-kva.test"}, want: Verdict{By: id, DMARC: Pass, DKIM: None, SPF: None}},
		{name: "a public suffix is no organization", from: "a.co.uk", headers: []string{id + "; dmarc=pass header.from=co.uk; dkim=pass header.d=b.co.uk"}, want: Verdict{By: id, DMARC: None, DKIM: None, SPF: None}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			trust, from := id, "a.test"
			switch tt.id {
			case "-":
				trust = ""
			default:
				if tt.id != "" {
					trust = tt.id
				}
			}
			if tt.from != "" {
				from = tt.from
			}
			if d := cmp.Diff(tt.want, Trusted(tt.headers, trust, tt.unnamed, from)); d != "" {
				t.Errorf("Trusted(%q) (-want +got):\n%s", tt.headers, d)
			}
		})
	}
}

func TestSameOrganization(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"a.test", "a.test", true},
		{"A.Test.", "a.test", true},
		{"mail.a.test", "x.y.a.test", true},
		{"a.test", "b.test", false},
		{"a.co.uk", "b.co.uk", false},
		{"co.uk", "co.uk", true},
		{"co.uk", "a.co.uk", false},
		{"aa.test", "a.test", false},
		{"localhost", "localhost", true},
		{"localhost", "x.localhost", false},
		{"bücher.test", "mail.xn--bcher-kva.test", true},
		{"", "", false},
		{"", "a.test", false},
		{"[192.0.2.1]", "[192.0.2.1]", true},
	} {
		if got := SameOrganization(tt.a, tt.b); got != tt.want {
			t.Errorf("SameOrganization(%q, %q) = %v", tt.a, tt.b, got)
		}
	}
}
