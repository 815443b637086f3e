package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/mail"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"beckon/channels/email/mailtest"

	"github.com/chromedp/chromedp"
)

// A link scanner that stands before a mailbox opens every link of every kind of
// mail, follows it, runs the page's scripts, and sends no form. It answers nothing,
// and the person's links are as good as before.
func TestMailScanner(t *testing.T) {
	t.Parallel()
	ctx := startChrome(t)
	s := newSiege(t, "")
	ids := s.everyMail()
	before := s.state(ids)
	mails := s.mails("alice", 0)
	urls := mailLinks(t, mails)
	if len(urls) < len(ids) {
		t.Fatalf("only %d links in %d mails: %q", len(urls), len(mails), urls)
	}
	jar, _ := cookiejar.New(nil)
	for _, client := range []*http.Client{{}, {Jar: jar}} { // without and with cookies
		for _, u := range urls {
			for _, method := range []string{"HEAD", "GET", "GET", "OPTIONS"} {
				s.visit(client, method, u)
			}
		}
	}
	for _, u := range urls {
		tab, cancel := chromedp.NewContext(ctx)
		deadline, stop := context.WithTimeout(tab, 2*time.Minute)
		err := chromedp.Do(deadline, chromedp.Navigate(u), chromedp.WaitReady("body"))
		if err == nil {
			_, err = chromedp.Run(deadline, chromedp.Evaluate[int](pokeEverything))
		}
		stop()
		cancel()
		if err != nil {
			t.Errorf("open %s: %v", u, err)
		}
	}
	if after := s.state(ids); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	if n := s.receipts(); n != scanReplies {
		t.Errorf("%d receipts, want those of the replies", n)
	}

	// The person opens the same link afterwards, and answers on the page.
	link := mailLinks(t, s.about("alice", ids[0], 1)[:1])[0]
	jar, _ = cookiejar.New(nil)
	b := &browser{t, &http.Client{Jar: jar}, s.url}
	if status, page := b.get(link); status != http.StatusOK || !strings.Contains(page, "Hold for review") {
		t.Fatalf("the link after the scan: %d\n%s", status, page)
	}
	if status, page := b.post(ids[0], "answer", url.Values{"option": {"2"}}); status != http.StatusOK {
		t.Fatalf("answer: %d\n%s", status, page)
	}
	if resolution, value, _ := s.response(ids[0]); resolution != "answered by human:alice" || value != "hold" {
		t.Errorf("got %s %q", resolution, value)
	}
}

// pokeEverything points at all that is on a page, as a scanner does that wants to
// see what a page does.
const pokeEverything = `(() => {
	for (const d of document.querySelectorAll("details")) d.open = true;
	const all = document.querySelectorAll("*");
	for (const el of all) {
		for (const kind of ["pointerover", "mouseover", "mouseenter", "mousemove", "touchstart"]) el.dispatchEvent(new Event(kind, {bubbles: true}));
		if (el.focus) el.focus();
	}
	for (const kind of ["visibilitychange", "scroll", "pageshow"]) { document.dispatchEvent(new Event(kind)); dispatchEvent(new Event(kind)); }
	return all.length;
})()`

// scanReplies is how many mails everyMail hands to the hub.
const scanReplies = 3

// everyMail makes alice get a mail of every kind, and returns the messages; the
// first is open and can be answered with an option.
func (s *siege) everyMail() []string {
	s.t.Helper()
	kind := func(change func(map[string]any)) func(string) asked {
		return func(key string) asked { return s.asks(key, 1, change)[0] }
	}
	ask := kind(nil)
	open := ask("open")
	var ids []string
	for key, change := range map[string]func(map[string]any){
		"confirm": func(m map[string]any) { m["request"] = map[string]any{"mode": "confirm"} },
		"input": func(m map[string]any) {
			m["request"] = map[string]any{"mode": "input", "schema": map[string]any{
				"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []string{"name"},
			}}
		},
		"task": func(m map[string]any) {
			m["type"] = "task"
			m["action"] = map[string]any{"instructions": "Do it.", "checklist": []any{map[string]any{"text": "One"}}}
			delete(m, "request")
		},
		"notify": func(m map[string]any) {
			m["type"] = "notify"
			delete(m, "request")
		},
		"sensitive": func(m map[string]any) { m["sensitive"] = true },
	} {
		ids = append(ids, kind(change)(key).id)
	}
	unclear, doubted, answered, withdrawn := ask("unclear"), ask("doubted"), ask("answered"), ask("withdrawn")
	for _, mail := range [scanReplies]struct {
		q    asked
		from string
		text string
	}{{unclear, fromAlice, "What is it?"}, {doubted, fromEve, "1"}, {answered, fromAlice, "hold"}} {
		if err := s.hand("alice@example.test", strings.Replace(letter(mail.q, mail.from, mail.text), "ID", "<"+mail.q.id+"@x.test>", 1), mail.q.token); err != nil {
			s.t.Fatal(err)
		}
	}
	if status, b := s.do("POST", "/v1/messages/"+withdrawn.id+"/cancel", botToken, ""); status != http.StatusOK {
		s.t.Fatalf("withdraw: %d %s", status, b)
	}
	for _, q := range []asked{unclear, doubted, answered, withdrawn} {
		s.about("alice", q.id, 2)
		ids = append(ids, q.id)
	}
	slices.Sort(ids)
	return append([]string{open.id}, ids...)
}

// state is what is kept of messages, but for what the hub does by itself.
func (s *siege) state(ids []string) string {
	s.t.Helper()
	var b strings.Builder
	for _, id := range ids {
		status, raw := s.do("GET", "/admin/v1/messages/"+id+"/events", opsToken, "")
		var h struct{ Events []struct{ Kind string } }
		if status != http.StatusOK || json.Unmarshal(raw, &h) != nil || len(h.Events) == 0 {
			s.t.Fatalf("history: %d %s", status, raw)
		}
		fmt.Fprintf(&b, "%s %d", id, s.count(`SELECT count(*) FROM delivery WHERE message_id = $1`, id))
		for _, e := range h.Events {
			if e.Kind != "posted" {
				b.WriteString(" " + e.Kind)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

var (
	hrefs    = regexp.MustCompile(`(?:href|src|action)="(https?://[^"]*)"`)
	httpURLs = regexp.MustCompile(`https?://[^\s<>"]+`)
)

// mailLinks are the URLs in mails, in their texts and in their HTML.
func mailLinks(t *testing.T, mails []*mail.Message) []string {
	t.Helper()
	var out []string
	for _, m := range mails {
		b, err := io.ReadAll(m.Body)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.NewReplacer("=\r\n", "", "=3D", "=", "=\n", "").Replace(string(b)) // quoted-printable, as far as links need it
		for _, found := range hrefs.FindAllStringSubmatch(text, -1) {
			out = append(out, html.UnescapeString(found[1]))
		}
		out = append(out, httpURLs.FindAllString(text, -1)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// visit makes one request as a scanner does, and follows where it leads.
func (s *siege) visit(c *http.Client, method, u string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, u, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		s.t.Errorf("%s %s: %v", method, u, err)
		return
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode >= 500 {
		s.t.Errorf("%s %s: %d %v", method, u, resp.StatusCode, err)
	}
}

// startChrome starts a headless browser, or skips.
func startChrome(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no chromium, chromium-browser or google-chrome in PATH")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.WSURLReadTimeout(time.Minute),
	)
	if os.Geteuid() == 0 {
		opts = append(opts, chromedp.NoSandbox)
	}
	alloc, cancel := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx) })
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return ctx
}

// A server that does not take a person's address at all moves the message on to
// the next one at once.
func TestRefusedRecipient(t *testing.T) {
	t.Parallel()
	s := newSiege(t, "", "nosuchuser@example.test", "ghost@elsewhere.test") // exim: 550 relay not permitted
	id := s.submit(envelope("k1", func(m map[string]any) { m["tags"] = []string{"ghost"} }))
	m := s.about("bob", id, 1)[0] // due in an hour, but for the refusal
	s.reply("bob@example.test", m, "ship\n")
	if resolution, value, _ := s.response(id); resolution != "answered by human:bob" || value != "ship" {
		t.Errorf("got %s %q\n%s\n%s", resolution, value, s.log.text(), s.exim.Log())
	}
	if n := s.count(`SELECT count(*) FROM delivery WHERE message_id = $1 AND person = 'ghost' AND state = 'dead' AND last_error LIKE '%550%'`, id); n != 1 {
		_, b := s.do("GET", "/admin/v1/messages/"+id, opsToken, "")
		t.Errorf("the refusal does not show:\n%s", b)
	}
}

// While the mail server is away nothing is lost, and it all arrives once when it
// is back, the hub having been restarted in between.
func TestMailServerAway(t *testing.T) {
	t.Parallel()
	s := newSiege(t, "")
	warm := s.asks("warm", 1, nil)[0] // a connection that is kept
	s.exim.Kill()
	var ids []string
	for i := range 5 {
		ids = append(ids, s.submit(envelope(fmt.Sprintf("away-%d", i), nil)))
	}
	if err := s.hand("alice@example.test", strings.Replace(letter(warm, fromAlice, "What?"), "ID", "<w@x.test>", 1), warm.token); err != nil {
		t.Fatal(err)
	}
	tried := func() error {
		if n := s.count(`SELECT count(*) FROM delivery WHERE kind IN ('post', 'tell') AND tries > 0 AND state <> 'done'`); n < 11 {
			return fmt.Errorf("%d deliveries were tried, want 11", n)
		}
		return nil
	}
	if err := mailtest.Eventually(tried); err != nil {
		t.Fatal(err)
	}
	s.stop()
	s.process = startLogged(t, s.yaml, s.log)
	s.open()
	s.exim.Restart()
	for _, id := range ids {
		m := s.about("alice", id, 1)[0]
		s.about("bob", id, 1)
		s.reply("alice@example.test", m, "1\n")
		if _, value, _ := s.response(id); value != "ship" {
			t.Errorf("%s: the answer is %q", id, value)
		}
	}
	s.about("alice", warm.id, 2) // the question and the help
	for _, id := range ids {
		if a, b := len(s.about("alice", id, 2)), len(s.about("bob", id, 2)); a != 2 || b != 2 {
			t.Errorf("%s: alice has %d mails and bob %d, want the question and what became of it", id, a, b)
		}
	}
	if n := len(s.about("alice", warm.id, 2)); n != 2 {
		t.Errorf("alice has %d mails about the first question", n)
	}
}
