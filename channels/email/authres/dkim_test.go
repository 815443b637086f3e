package authres

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"encoding/base64"
	"net"
	"strings"
	"testing"

	"github.com/emersion/go-msgauth/dkim"
	"github.com/google/go-cmp/cmp"
)

// signedBy returns a mail with a real signature of a domain, and what DNS must
// say for it.
func signedBy(t *testing.T, mail string, domains ...string) (string, map[string]string) {
	t.Helper()
	records := map[string]string{}
	for _, d := range domains {
		public, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := dkim.Sign(&b, strings.NewReader(mail), &dkim.SignOptions{Domain: d, Selector: "s", Signer: private, Hash: crypto.SHA256, HeaderCanonicalization: dkim.CanonicalizationRelaxed, BodyCanonicalization: dkim.CanonicalizationRelaxed, HeaderKeys: []string{"From", "To", "Subject"}}); err != nil {
			t.Fatal(err)
		}
		mail = b.String()
		records["s._domainkey."+d] = "v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(public)
	}
	return mail, records
}

func TestCheckDKIM(t *testing.T) {
	t.Parallel()
	const mail = "From: Alice <alice@a.test>\r\nTo: hub@hub.test\r\nSubject: Re: Ship?\r\n\r\nApprove\r\n"
	ours, records := signedBy(t, mail, "a.test")
	sub, subRecords := signedBy(t, mail, "mail.a.test")
	theirs, theirRecords := signedBy(t, mail, "evil.test")
	both, bothRecords := signedBy(t, mail, "a.test", "esp.test")
	for _, tt := range []struct {
		name    string
		raw     string
		records map[string]string
		want    Verdict
	}{
		{"signed by the From domain", ours, records, Verdict{DKIM: Pass, DKIMDomain: "a.test"}},
		{"line ends lost on a disk", strings.ReplaceAll(ours, "\r\n", "\n"), records, Verdict{DKIM: Pass, DKIMDomain: "a.test"}},
		{"signed by a subdomain", sub, subRecords, Verdict{DKIM: Pass, DKIMDomain: "mail.a.test"}},
		{"signed by somebody else", theirs, theirRecords, Verdict{DKIM: None}},
		{"signed twice", both, bothRecords, Verdict{DKIM: Pass, DKIMDomain: "a.test"}},
		{"not signed", mail, records, Verdict{DKIM: None}},
		{"the body changed", strings.Replace(ours, "Approve", "Reject", 1), records, Verdict{DKIM: Fail, DKIMDomain: "a.test"}},
		{"the subject changed", strings.Replace(ours, "Ship?", "Drop?", 1), records, Verdict{DKIM: Fail, DKIMDomain: "a.test"}},
		{"the key is gone", ours, nil, Verdict{DKIM: Fail, DKIMDomain: "a.test"}},
		{"DNS is down", ours, map[string]string{"s._domainkey.a.test": "down"}, Verdict{DKIM: TempError, DKIMDomain: "a.test"}},
		{"a text that was added beyond l=", strings.Replace(ours, "v=1;", "v=1; l=1;", 1), records, Verdict{DKIM: Fail, DKIMDomain: "a.test"}},
		{"no header", "\r\n\r\n", nil, Verdict{DKIM: None}},
		{"nothing", "", nil, Verdict{DKIM: None}},
		{"junk", "DKIM-Signature: ;;;=\r\n\r\n", nil, Verdict{DKIM: None}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.want.By, tt.want.DMARC, tt.want.SPF = Own, None, None
			got := CheckDKIM(t.Context(), []byte(tt.raw), "a.test", func(_ context.Context, name string) ([]string, error) {
				switch r := tt.records[name]; r {
				case "":
					return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
				case "down":
					return nil, &net.DNSError{Err: "server misbehaving", Name: name, IsTemporary: true}
				default:
					return []string{r}, nil
				}
			})
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("CheckDKIM (-want +got):\n%s", d)
			}
		})
	}
}

// A mail with a thousand signatures must not make us ask DNS a thousand times.
func TestCheckDKIMAsksLittle(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for range 1000 {
		b.WriteString("DKIM-Signature: v=1; a=rsa-sha256; d=evil.test; s=s; h=From; bh=AA==; b=AA==\r\n")
	}
	b.WriteString("From: alice@a.test\r\n\r\nApprove\r\n")
	asked := make(chan string, 1000)
	v := CheckDKIM(t.Context(), []byte(b.String()), "a.test", func(_ context.Context, name string) ([]string, error) {
		asked <- name
		return nil, &net.DNSError{IsNotFound: true}
	})
	if len(asked) > maxSignatures || v.Proved() {
		t.Errorf("asked %d times, verdict %+v", len(asked), v)
	}
}

func FuzzCheckDKIM(f *testing.F) {
	f.Add("DKIM-Signature: v=1; a=rsa-sha256; d=a.test; s=s; h=From; bh=AA==; b=AA==; t=1; x=2; l=1; i=@a.test; q=dns/txt; c=relaxed/simple\r\nFrom: a@a.test\r\n\r\nx\r\n", "v=DKIM1; k=rsa; h=sha256; s=email; t=s; p=AAAA")
	f.Add("DKIM-Signature: v=1; a=ed25519-sha256; d=a.test; s=s; h=From; bh=AA==; b=AA==\nDKIM-Signature:;\nFrom: a@a.test\n\nx\n", "p=AA==; k=ed25519")
	f.Fuzz(func(t *testing.T, raw, record string) {
		if v := CheckDKIM(t.Context(), []byte(raw), "a.test", func(context.Context, string) ([]string, error) { return []string{record}, nil }); v.Proved() {
			t.Errorf("proved by %q: %+v", raw, v)
		}
	})
}
