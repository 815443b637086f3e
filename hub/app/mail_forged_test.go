package app_test

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"beckon/channels/email/mailtest"

	"github.com/emersion/go-smtp"
)

// forgery is a mail that may look like an answer and is none.
type forgery struct {
	name string
	from string // of the envelope: eve@evil.test
	// to is where it goes: alice's token.
	to func(q, other asked) string
	// raw is the mail. ID stands for a Message-ID of its own.
	raw  func(q, other asked) string
	kind string
	told int    // notices about the question, to whom it was asked
	what string // in that notice
}

const server = "Authentication-Results: mx.example.test; "

// letter is a mail from a person's phone, with what a case has in the place of its
// From and above its other headers.
func letter(q asked, headers, text string) string {
	return headers + "Subject: Re: " + q.subject + "\nMessage-ID: ID\nIn-Reply-To: " + q.ref + "\nDate: Tue, 1 Dec 2026 10:00:00 +0000\n\n" + text + "\n"
}

const (
	fromAlice = "From: Alice Ng <alice@example.test>\nTo: hub@example.test\n"
	fromEve   = "From: Alice Ng <eve@evil.test>\nTo: hub@example.test\n"
)

// with is a mail of headers that answers "1".
func with(headers string) func(q, other asked) string {
	return func(q, _ asked) string { return letter(q, headers, "1") }
}

// strange is a mail of headers that names the question nowhere but in its address.
func strange(headers string) func(q, other asked) string {
	return func(asked, asked) string {
		return headers + "Subject: hello\nMessage-ID: ID\nDate: Tue, 1 Dec 2026 10:00:00 +0000\n\n1\n"
	}
}

func plainAddress(asked, asked) string { return "hub@example.test" }

// forgeries say of each way to answer in somebody's name what comes of it.
func forgeries() []forgery {
	const doubt = "not recorded"
	return slices.Concat([]forgery{
		// Who.
		{name: "no token", to: plainAddress, raw: strange(fromAlice), kind: "unmatched"},
		{name: "In-Reply-To", to: plainAddress, raw: with(fromAlice), kind: "rejected_auth", told: 1, what: doubt},
		{name: "In-Reply-To, of a stranger", to: plainAddress, raw: with(fromEve), kind: "identity_mismatch", told: 1, what: "…@evil.test"},
		{name: "the tag alone", to: plainAddress, kind: "rejected_auth", told: 1, what: doubt, raw: func(q, _ asked) string {
			return fromAlice + "Subject: " + q.subject + "\nMessage-ID: ID\n\n1\n"
		}},
		{name: "stolen token", raw: with(fromEve), kind: "identity_mismatch", told: 1, what: "…@evil.test"},
		{name: "stolen token, alice as Reply-To and Sender", raw: with(fromEve + "Reply-To: alice@example.test\nSender: alice@example.test\n"), kind: "identity_mismatch", told: 1, what: "…@evil.test"},
		{name: "stolen token, her address as the name", raw: with("From: \"alice@example.test\" <eve@evil.test>\n"), kind: "identity_mismatch", told: 1, what: "…@evil.test"},
		{name: "stolen token, her address in a comment", raw: with("From: eve@evil.test (<alice@example.test>)\n"), kind: "identity_mismatch", told: 1, what: "…@evil.test"},
		{name: "stolen token, a letter that looks like hers", raw: with("From: <\u0430lice@example.test>\n"), kind: "identity_mismatch", told: 1},
		{name: "stolen token, her address as a subdomain", raw: with("From: alice@example.test.evil.test\n"), kind: "identity_mismatch", told: 1},
		{name: "somebody else who was asked", to: func(q, _ asked) string { return q.token }, raw: with("From: bob@example.test\n"), kind: "identity_mismatch", told: 1, what: "…@example.test"},
		{name: "her own address, his token", to: func(q, _ asked) string { return q.bob }, raw: strange(fromAlice), kind: "identity_mismatch", told: 1, what: "…@example.test"},
		{name: "two questions at once", to: func(q, other asked) string { return q.token + " " + other.token }, raw: with(fromAlice), kind: "answer_suspect", told: 1, what: doubt},
		{name: "several in From", raw: with("From: alice@example.test, eve@evil.test\n"), kind: "rejected_auth", told: 1, what: doubt},
		{name: "two From", raw: with(fromEve + "From: alice@example.test\n"), kind: "rejected_auth", told: 1, what: doubt},
		{name: "no From", raw: with(""), kind: "rejected_auth", told: 1, what: doubt},
		{name: "From is ours", raw: with("From: hub@example.test\n"), kind: "loop"},
		{name: "From is the token itself", kind: "loop", raw: func(q, _ asked) string { return letter(q, "From: "+q.token+"\n", "1") }},
		{name: "Sender is ours", raw: with(fromAlice + "Sender: hub@example.test\n"), kind: "loop"},
		{name: "the Message-ID of a mail of ours", kind: "loop", raw: func(q, _ asked) string {
			return strings.Replace(letter(q, fromAlice, "1"), "Message-ID: ID", "Message-ID: "+q.ref, 1)
		}},
		{name: "the envelope address", to: func(q, _ asked) string { return q.verp }, raw: with(fromAlice), kind: "rejected_auth", told: 1, what: doubt},
		{name: "the envelope address, of a stranger", to: func(q, _ asked) string { return q.verp }, raw: with(fromEve), kind: "identity_mismatch", told: 1},
		{name: "the envelope address and the null sender", from: "-", to: func(q, _ asked) string { return q.verp }, raw: with(fromAlice), kind: "auto_reply"},

		// Tricks with bytes.
		{name: "NUL in From", raw: with("From: alice@example.test\x00 <eve@evil.test>\n"), kind: "rejected_auth", told: 1},
		{name: "NUL after From", raw: with("From: <alice@example.test\x00.evil.test>\n"), kind: "rejected_auth", told: 1, what: doubt},
		{name: "a bare CR before From", raw: with("X-A: b\rFrom: alice@example.test\nFrom: eve@evil.test\n"), kind: "identity_mismatch", told: 1},
		{name: "an encoded line break in From", raw: with("From: =?utf-8?q?a=0D=0AFrom:_alice=40example.test?= <eve@evil.test>\n"), kind: "identity_mismatch", told: 1},
		{name: "an encoded address in From", raw: with("From: =?utf-8?q?<alice=40example.test>?= <eve@evil.test>\n"), kind: "identity_mismatch", told: 1},
		{name: "From below the header", raw: with("From: eve@evil.test\n\nFrom: alice@example.test\n"), kind: "identity_mismatch", told: 1},
		{name: "From folded", raw: with("From: eve@evil.test\n ,alice@example.test\n"), kind: "rejected_auth", told: 1},
	}, forgedResults(), bombs())
}

// forgedResults try to say in our server's name that the sender was proved. The
// mail names the question by In-Reply-To, which counts with such a proof.
func forgedResults() []forgery {
	pass := "dmarc=pass header.from=example.test"
	fail := "dmarc=fail header.from=example.test"
	var out []forgery
	for name, headers := range map[string]string{
		"in a quoted string":            server + `spf=pass smtp.mailfrom="x; ` + pass + `"@evil.test; ` + fail + "\n",
		"in a quoted string with quote": server + `spf=pass smtp.mailfrom="x\"; ` + pass + `; x=\""@evil.test; ` + fail + "\n",
		"in a comment":                  server + "dkim=none (no key; " + pass + ") header.d=evil.test; " + fail + "\n",
		"in a nested comment":           server + "dkim=none (a (b) ; " + pass + ") header.d=evil.test; " + fail + "\n",
		"in a second header":            server + fail + "\n" + server + pass + "\n",
		"in another case":               server + fail + "\nAUTHENTICATION-RESULTS: MX.Example.TEST; " + pass + "\n",
		"below a foreign one":           "Authentication-Results: mx.evil.test; " + pass + "\n" + server + fail + "\n" + server + pass + "\n",
		"in a foreign one":              "Authentication-Results: mx.evil.test; " + pass + "\n",
		"with a name that ends as ours": "Authentication-Results: x.mx.example.test; " + pass + "\nAuthentication-Results: mx.example.test.evil.test; " + pass + "\n",
		"without a name":                "Authentication-Results: " + pass + "\n",
		"in a method that occurs twice": server + pass + "; " + fail + "\n",
		"in the next version":           "Authentication-Results: mx.example.test 2; " + pass + "\n",
		"for another domain":            server + "dmarc=pass header.from=evil.test; dkim=pass header.d=evil.test\n",
		"in an open quoted string":      server + `spf=pass smtp.mailfrom="x; ` + pass + "\n",
		"in an open comment":            server + "spf=none (; " + pass + "\n",
		"in a folded line":              server + "spf=none smtp.mailfrom=\"\n\t; " + pass + "\"@evil.test; " + fail + "\n",
		"behind a NUL":                  server + "spf=none\x00; " + pass + "\n",
		"in ARC":                        "ARC-Authentication-Results: i=1; mx.example.test; " + pass + "\n",
	} {
		out = append(out, forgery{name: "results " + name, to: plainAddress, raw: with(headers + fromAlice), kind: "rejected_auth", told: 1, what: "not recorded"})
	}
	return append(out,
		forgery{name: "the token, and DMARC failed", raw: with(server + fail + "\n" + server + pass + "\n" + fromAlice), kind: "rejected_auth", told: 1, what: "not recorded"},
		forgery{name: "the token, and our results are damaged", raw: with(server + "spf=none (; " + pass + "\n" + fromAlice), kind: "answer_suspect", told: 1, what: "not recorded"})
}

// bombs are mails that are hard to take apart.
func bombs() []forgery {
	nested := func(n int, text string) string {
		var b, end strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n", i, i)
		}
		b.WriteString("Content-Type: text/plain\n\n" + text + "\n")
		for i := n - 1; i >= 0; i-- {
			fmt.Fprintf(&end, "--b%d--\n", i)
		}
		return b.String() + end.String()
	}
	mime := func(from, rest string) func(q, other asked) string {
		return func(q, _ asked) string {
			return from + "Subject: Re: " + q.subject + "\nMessage-ID: ID\nMIME-Version: 1.0\n" + rest
		}
	}
	many := "Content-Type: multipart/mixed; boundary=b\n\n" + strings.Repeat("--b\nContent-Type: multipart/mixed; boundary=c\n\n--c\nContent-Type: text/plain\n\nx\n--c--\n", 20000) + "--b--\n"
	wide := "Content-Type: multipart/alternative; boundary=b\n\n" + strings.Repeat("--b\nContent-Type: text/plain\n\nx\n", 50000) + "--b--\n"
	return []forgery{
		{name: "5,000 headers and then From", raw: with(fromEve + strings.Repeat("X-Filler: x\n", 5000) + "From: alice@example.test\n"), kind: "identity_mismatch", told: 1},
		{name: "7,000 headers and then From", raw: with(strings.Repeat("X-Filler: x\n", 7000) + fromEve), kind: "rejected_auth", told: 1},
		{name: "nested 1,000 deep", raw: mime(fromAlice, nested(1000, "1")), kind: "unreadable", told: 1},
		{name: "nested 1,000 deep, of a stranger", raw: mime(fromEve, nested(1000, "1")), kind: "identity_mismatch", told: 1},
		{name: "20,000 nested multiparts", raw: mime(fromAlice, many), kind: "answer", told: 1},
		{name: "50,000 parts", raw: mime(fromAlice, wide), kind: "answer", told: 1},
		{name: "24 MB", raw: mime(fromEve, "\n1\n\n"+strings.Repeat(strings.Repeat("x", 998)+"\n", 24<<10)), kind: "identity_mismatch", told: 1},
		{name: "a deep HTML", raw: mime(fromAlice, "Content-Type: text/html\n\n<p>What is it?"+strings.Repeat("<div><blockquote>", 20000)+"1"), kind: "answer", told: 1},
	}
}

// Whoever answers in somebody's name, and whatever the mail is made of, resolves
// nothing. Each mail has its receipt and its line in the log; the person who was
// asked is told once when somebody may have answered in their name, and nobody
// else is told anything.
func TestForgedAnswers(t *testing.T) {
	t.Parallel()
	s := newSiege(t, "    authserv_id: mx.example.test\n")
	cases := forgeries()
	asks := s.asks("forged", len(cases), nil)
	other := s.asks("other", 1, nil)[0]
	for i, f := range cases {
		q := asks[i]
		to, from := q.token, "eve@evil.test"
		if f.to != nil {
			to = f.to(q, other)
		}
		if f.from != "" {
			from = strings.Trim(f.from, "-")
		}
		raw := strings.Replace(f.raw(q, other), "Message-ID: ID", fmt.Sprintf("Message-ID: <forged.%d@evil.test>", i), 1)
		before := s.receipts()
		for range 2 { // once more changes nothing
			if err := s.hand(from, raw, strings.Fields(to)...); err != nil {
				t.Errorf("%s: %v", f.name, err)
			}
		}
		if n := s.receipts() - before; n != 1 {
			t.Errorf("%s: %d receipts", f.name, n)
		}
		if kinds := s.log.kinds(); len(kinds) != 2*(i+1) || kinds[2*i] != f.kind || kinds[2*i+1] != f.kind {
			t.Errorf("%s: logged as %q, want %s", f.name, kinds[min(2*i, len(kinds)):], f.kind)
		}
		if n := s.told(q.id); n != f.told {
			t.Errorf("%s: %d notices, want %d", f.name, n, f.told)
		}
	}
	mails := s.notices(asks, cases)
	for i, f := range cases {
		if got := s.status(asks[i].id); got != "open" {
			t.Errorf("%s: the question is %s", f.name, got)
		}
		if got := mails[asks[i].id]; len(got) != f.told || !strings.Contains(strings.Join(got, "\n"), f.what) {
			t.Errorf("%s: told %q, want %d with %q", f.name, got, f.told, f.what)
		}
	}
	if got := s.status(other.id); got != "open" {
		t.Errorf("the other question is %s", got)
	}
	for _, user := range []string{"eve", "list"} {
		if got := s.dovecot.Mails(user, "INBOX"); len(got) != 0 {
			t.Errorf("%s got mail:\n%s", user, got[0].Raw)
		}
	}

	// The person themselves still can.
	q := asks[0]
	if err := s.hand("alice@example.test", letter(q, fromAlice, "2"), q.token); err != nil {
		t.Fatal(err)
	}
	if resolution, value, _ := s.response(q.id); resolution != "answered by human:alice" || value != "hold" {
		t.Errorf("got %s %q", resolution, value)
	}
}

// notices waits until all that was to be told about forgeries has arrived, and
// returns it by question.
func (s *siege) notices(asks []asked, cases []forgery) map[string][]string {
	s.t.Helper()
	want := 2 * len(asks)
	for _, f := range cases {
		want += f.told
	}
	var out map[string][]string
	err := mailtest.Eventually(func() error {
		out = map[string][]string{}
		n := 0
		for _, user := range []string{"alice", "bob"} {
			for _, m := range s.mails(user, 0) {
				n++
				if strings.HasPrefix(m.Header.Get("Subject"), "Re: ") {
					id := m.Header.Get("X-Beckon-Message")
					out[id] = append(out[id], plain(s.t, m))
				}
			}
		}
		if n != want+2 { // and those of the other question
			return fmt.Errorf("%d mails, want %d", n, want+2)
		}
		return nil
	})
	if err != nil {
		s.t.Error(err)
	}
	return out
}

// A mail that is too big is refused while it comes in.
func TestHugeMailIsRefused(t *testing.T) {
	t.Parallel()
	s := newSiege(t, "")
	q := s.asks("huge", 1, nil)[0]
	err := s.hand("alice@example.test", letter(q, fromAlice, "1\n"+strings.Repeat(strings.Repeat("x", 998)+"\n", 27<<10)), q.token)
	if e, ok := errors.AsType[*smtp.SMTPError](err); !ok || e.Code != 552 {
		t.Errorf("the mail: %v", err)
	}
	if n := len(s.log.kinds()); n != 0 || s.receipts() != 0 || s.status(q.id) != "open" {
		t.Errorf("%d mails came in, %d receipts", n, s.receipts())
	}
	if err := s.hand("alice@example.test", letter(q, fromAlice, "1"), q.token); err != nil {
		t.Fatal(err)
	}
	if _, value, _ := s.response(q.id); value != "ship" {
		t.Errorf("the answer is %q", value)
	}
}

// Ten thousand guesses find no token, and the server says so at once.
func TestGuessedTokens(t *testing.T) {
	t.Parallel()
	s := newSiege(t, "")
	q := s.asks("guess", 1, nil)[0]
	local, domain, _ := strings.Cut(q.token, "@")
	secret := local[len("hub+q"):]
	seed := rand.New(rand.NewPCG(5, 5))
	const letters = "abcdefghijklmnopqrstuvwxyz234567"
	guess := func(i int) string {
		b := []byte(secret)
		if i < len(b) { // all but one letter is known
			b[i] = letters[(strings.IndexByte(letters, b[i])+1)%len(letters)]
		} else {
			for j := range b {
				b[j] = letters[seed.IntN(len(letters))]
			}
		}
		return "hub+" + string("qb"[i/len(b)%2]) + string(b) + "@" + domain
	}
	const guesses, each = 10000, 1000
	found := 0
	for range guesses / each {
		conn, err := net.Dial("unix", s.socket)
		if err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(conn)
		say := func(line string) string {
			if line != "" {
				fmt.Fprint(conn, line+"\r\n")
			}
			for {
				reply, err := r.ReadString('\n')
				if err != nil {
					t.Fatalf("after %s: %v", line, err)
				}
				if len(reply) < 4 || reply[3] != '-' {
					return strings.TrimSpace(reply)
				}
			}
		}
		say("")
		say("LHLO evil.test")
		say("MAIL FROM:<alice@example.test>")
		for range each {
			if reply := say("RCPT TO:<" + guess(found) + ">"); !strings.HasPrefix(reply, "550 ") {
				t.Errorf("a guess: %s", reply)
			}
			found++
		}
		if reply := say("DATA"); !strings.HasPrefix(reply, "5") {
			t.Errorf("DATA without a recipient: %s", reply)
		}
		_ = conn.Close()
	}
	if n := len(s.log.kinds()); n != 0 || s.receipts() != 0 || s.told(q.id) != 0 || s.status(q.id) != "open" {
		t.Errorf("%d mails came in, %d receipts, %d notices", n, s.receipts(), s.told(q.id))
	}
}

// An answer to a question that ran out or was withdrawn changes nothing, and its
// author hears of it, in a mail whose headers are ours, whatever theirs hold.
func TestAnswerAfterTheEnd(t *testing.T) {
	t.Parallel()
	s := newSiege(t, "")
	withdrawn := s.asks("withdrawn", 1, nil)[0]
	if code, b := s.do("POST", "/v1/messages/"+withdrawn.id+"/cancel", botToken, ""); code != http.StatusOK {
		t.Fatalf("withdraw: %d %s", code, b)
	}
	lapsed := s.asks("lapsed", 1, func(m map[string]any) { m["expires_at"] = time.Now().Add(8 * time.Second).UTC().Format(time.RFC3339) })[0]
	if resolution, _, _ := s.response(lapsed.id); resolution != "expired by system:expiry" {
		t.Fatalf("it is %s", resolution)
	}
	for q, want := range map[asked]string{withdrawn: "cancelled", lapsed: "expired"} {
		s.about("alice", q.id, 2) // the question and its end
		raw := strings.Replace(letter(q, fromAlice, "1"), "Message-ID: ID", "Message-ID: <a@b.test>\n\t<c@d.test>\r\rBcc: eve@example.test\x00\n", 1)
		raw = strings.Replace(raw, "\n\n", "\n", 1) // the blank line that the trick left
		if err := s.hand("alice@example.test", raw, q.token); err != nil {
			t.Fatal(err)
		}
		if got := s.status(q.id); got != want || s.told(q.id) != 1 {
			t.Errorf("it is %s, want %s; %d notices", got, want, s.told(q.id))
		}
		late := s.about("alice", q.id, 3)[2]
		for name, values := range late.Header {
			if name == "Bcc" || strings.Contains(strings.Join(values, " "), "eve@") {
				t.Errorf("the notice has %s: %q", name, values)
			}
		}
	}
	if kinds := s.log.kinds(); !slices.Equal(kinds, []string{"expired", "expired"}) {
		t.Errorf("logged as %q", kinds)
	}
	if got := s.dovecot.Mails("eve", "INBOX"); len(got) != 0 {
		t.Errorf("eve got:\n%s", got[0].Raw)
	}
}
