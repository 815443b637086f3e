package email

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"mime"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"beckon/channels/reply"
	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"

	"github.com/emersion/go-msgauth/dkim"
	"golang.org/x/net/html"
	"pgregory.net/rapid"
)

func decodeSubject(t testing.TB, s string) string {
	t.Helper()
	out, err := new(mime.WordDecoder).DecodeHeader(s)
	if err != nil {
		t.Fatalf("the subject %q: %v", s, err)
	}
	return out
}

func TestEncodeSubject(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := templates.Line(rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~éא語😀]{0,150}`)).Draw(rt, "subject"))
		s = "Re: [Q-7F3K2M] " + s
		got := encodeSubject(s)
		for word := range strings.SplitSeq(got, " ") {
			if strings.HasPrefix(word, "=?UTF-8?") && len(word) > maxEncodedWord {
				rt.Fatalf("an encoded word of %d characters: %s", len(word), word)
			}
		}
		if !strings.HasPrefix(got, "Re: [Q-7F3K2M] ") {
			rt.Fatalf("the tag can't be read in %q", got)
		}
		// White space between encoded words is none; it is at their ends here.
		if back := decodeSubject(t, got); back != s || !utf8.ValidString(back) {
			rt.Fatalf("%q comes back as %q (%s)", s, back, got)
		}
	})
}

// TestMailtoIsRead holds that what a link writes is read as that choice alone, or
// there is no link.
func TestMailtoIsRead(t *testing.T) {
	t.Parallel()
	label := rapid.OneOf(rapid.SampledFrom([]string{"Ship", "Hold", "ship", "1", "2", "3", "no", "Yes", "decline", "Decline", "2. Hold", "don't ship", "", " ", "Ship?", "語", "Ship if green"}), rapid.String())
	rapid.Check(t, func(rt *rapid.T) {
		card := ask(func(c *hub.Card) {
			c.Mode = rapid.SampledFrom([]ma2h.Mode{ma2h.Select, ma2h.Confirm}).Draw(rt, "mode")
			c.Options = nil
			for i := range rapid.IntRange(1, 5).Draw(rt, "options") {
				c.Options = append(c.Options, hub.CardOption{N: i + 1, Value: label.Draw(rt, "value"), Label: label.Draw(rt, "label")})
			}
		})
		for n, link := range writeLinks(card, "Q-7F3K2M", "hub+qaaaaaaaaaaaaaaaaaaaa@example.com") {
			u, err := url.Parse(link)
			if err != nil || u.Scheme != "mailto" || strings.Contains(link, "+") {
				rt.Fatalf("%q: %v", link, err)
			}
			q, err := url.ParseQuery(u.RawQuery)
			if err != nil || len(q) != 2 {
				rt.Fatalf("%q: %v", link, err)
			}
			body := q.Get("body")
			if r := reply.Read(card, body); !r.Clear() || r.Option != n || r.Comment != "" {
				rt.Fatalf("link %d writes %q, which is read as %+v", n, body, r)
			}
			if strings.ContainsAny(body+q.Get("subject"), "\r\n") || utf8.RuneCountInString(body) > maxWrite+5 {
				rt.Fatalf("link %d writes more than one short line: %q", n, body)
			}
		}
	})
}

// TestLinks holds that the links of every mail are the page's and mailto ones, as
// a link scanner finds them.
func TestLinks(t *testing.T) {
	t.Parallel()
	onDay(t, func(t *testing.T) {
		for _, plain := range []bool{true, false} {
			c := writer(t, func(s *section) { s.PlainLinks = plain })
			page := "https://beckon.example.com/l/alice.msg_01JE3ZK7Q8"
			if plain {
				page = "https://beckon.example.com/i/msg_01JE3ZK7Q8"
			}
			for name, d := range drafts() {
				text, rich := parts(t, compose(t, c, d))
				pages := 0
				for _, h := range hrefs(t, rich) {
					switch {
					case h == page:
						pages++
					case !strings.HasPrefix(h, "mailto:hub%2Bq"):
						t.Errorf("%s: a link to %s", name, h)
					}
				}
				if pages != 1 || strings.Count(text, page) != 1 {
					t.Errorf("%s: the page is linked %d times, and %d times in the text; want once each", name, pages, strings.Count(text, page))
				}
			}
		}
	})
}

func hrefs(t *testing.T, doc string) (out []string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			switch a.Key {
			case "href":
				out = append(out, a.Val)
			case "src", "srcset", "background", "action", "poster", "data", "cite", "ping":
				t.Errorf("<%s %s=%s>", n.Data, a.Key, a.Val)
			}
		}
	}
	return out
}

// TestWriteLinksOnlyWhereTheyWork holds that nobody is offered to begin a mail that
// would be refused.
func TestWriteLinksOnlyWhereTheyWork(t *testing.T) {
	t.Parallel()
	c := writer(t)
	for name, change := range map[string]func(*hub.Card){
		"not theirs": func(c *hub.Card) { c.MayAnswer = false },
		"no answer":  func(c *hub.Card) { c.CanAnswer = false },
		"secret":     func(c *hub.Card) { c.PageOnly = true },
		"sensitive":  func(c *hub.Card) { c.Hidden = true },
	} {
		if m := c.mailOf(templates.MailAsk, ask(change), "Q-7F3K2M", "hub@example.com"); m.Write != nil {
			t.Errorf("%s: there are links: %v", name, m.Write)
		}
	}
	if m := c.mailOf(templates.MailAsk, ask(), "Q-7F3K2M", "hub@example.com"); len(m.Write) != 3 {
		t.Errorf("an open ask has %d links, want 3", len(m.Write))
	}
}

// TestSigned has another implementation verify the signature.
func TestSigned(t *testing.T) {
	t.Parallel()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	edPublic, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsaPublic, err := x509.MarshalPKIXPublicKey(rsaKey.Public())
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		key    any
		record string
	}{
		"rsa":     {rsaKey, "v=DKIM1; k=rsa; p=" + base64.StdEncoding.EncodeToString(rsaPublic)},
		"ed25519": {edKey, "v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(edPublic)},
	} {
		der, err := x509.MarshalPKCS8PrivateKey(tt.key)
		if err != nil {
			t.Fatal(err)
		}
		c := writer(t, func(s *section) {
			s.DKIM = &dkimSection{Selector: "beckon", Key: hub.NewSecret(string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))}
		})
		for _, kind := range []string{"ask", "remind", "ask-other-script", "hostile"} {
			raw := compose(t, c, drafts()[kind])
			verify := func(raw []byte) error {
				got, err := dkim.VerifyWithOptions(bytes.NewReader(raw), &dkim.VerifyOptions{LookupTXT: func(name string) ([]string, error) {
					if name != "beckon._domainkey.example.com" {
						return nil, fmt.Errorf("asked for %s", name)
					}
					return []string{tt.record}, nil
				}})
				if err == nil && len(got) != 1 {
					return fmt.Errorf("%d signatures", len(got))
				}
				if err == nil {
					err = got[0].Err
				}
				return err
			}
			if err := verify(raw); err != nil {
				t.Errorf("%s, %s: %v", name, kind, err)
			}
			for what, changed := range map[string][]byte{
				"another Subject": append([]byte("Subject: another\r\n"), raw...),
				"another From":    append([]byte("From: eve@example.com\r\n"), raw...),
				"another body":    bytes.Replace(raw, []byte("reply above this line"), []byte("reply below this line"), 1),
			} {
				if verify(changed) == nil {
					t.Errorf("%s, %s: %s is not noticed", name, kind, what)
				}
			}
		}
	}
}

func TestReferencesAreBounded(t *testing.T) {
	t.Parallel()
	c := writer(t)
	d := drafts()["remind"]
	for i := range 50 {
		d.after = append(d.after, fmt.Sprintf("id%d@example.com", i))
	}
	h := parsed(t, compose(t, c, d)).Header
	refs := strings.Fields(h.Get("References"))
	if len(refs) != maxReferences || refs[0] != "<"+d.root+">" || refs[len(refs)-1] != "<id49@example.com>" || h.Get("In-Reply-To") != "<id49@example.com>" {
		t.Errorf("%d references from %s to %s, in reply to %s", len(refs), refs[0], refs[len(refs)-1], h.Get("In-Reply-To"))
	}
}

func TestDisplayName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"deploybot/dev-team":      "deploybot/dev-team",
		"a <b@c.example>":         "a b c.example",
		"x\r\nBcc: y":             "x Bcc y",
		"\u202Eevil":              "\uFFFDevil",
		"":                        "",
		strings.Repeat("ab ", 40): strings.TrimSpace(strings.Repeat("ab ", 20)) + "…",
	} {
		if got := displayName(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
