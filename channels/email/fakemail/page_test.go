package fakemail_test

import (
	"bufio"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	gomail "github.com/wneessen/go-mail"

	"beckon/channels/email/fakemail"
)

// browser is a person's browser without a script engine.
type browser struct {
	t    *testing.T
	base string
	c    *http.Client
}

func openPage(t *testing.T, s *fakemail.Server) *browser {
	t.Helper()
	srv := httptest.NewServer(s.Handler())
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{}
	t.Cleanup(func() {
		_ = s.Close() // streams end with it
		tr.CloseIdleConnections()
		srv.Close()
	})
	return &browser{t, srv.URL, &http.Client{Transport: tr, Jar: jar, Timeout: 20 * time.Second}}
}

func (b *browser) read(resp *http.Response, err error) (int, string) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

func (b *browser) get(path string) string {
	b.t.Helper()
	status, page := b.read(b.c.Get(b.base + path))
	if status != http.StatusOK {
		b.t.Fatalf("%s: HTTP %d: %s", path, status, page)
	}
	return page
}

func (b *browser) post(path string, form url.Values) (int, string) {
	b.t.Helper()
	return b.read(b.c.PostForm(b.base+path, form))
}

func has(t *testing.T, page string, parts ...string) {
	t.Helper()
	page, _, _ = strings.Cut(page, "<script ")
	for _, p := range parts {
		if !strings.Contains(page, p) && !strings.Contains(html.UnescapeString(page), p) {
			t.Errorf("%q is not on the page:\n%s", p, page[strings.Index(page, "<body"):])
		}
	}
}

// TestPage: without scripts, a person reads, replies and sees what came of it.
func TestPage(t *testing.T) {
	t.Parallel()
	h, addr := startHub(t, "tcp", true, nil)
	s := start(t, fakemail.Options{Hub: addr})
	b := openPage(t, s)
	has(t, b.get("/"), "No mail yet", alice, "Sam Mate")
	m := sent(t, s, func(m *gomail.Msg) { m.Subject("Ship <b>it</b>?") })

	list := b.get("/as/" + alice)
	has(t, list, "Ship &lt;b&gt;it&lt;/b&gt;?", `class="row unread"`, "deploybot (via Beckon)", "Open a mail and reply")
	has(t, b.get("/as/sam@phone.test"), "Alice Ng (1)")
	thread := b.get("/as/" + alice + "/" + m.ID)
	has(t, thread, `src="/as/alice@phone.test/`+m.ID+`/html"`, "to "+alice, "Reply <small>to "+token, `Reply-To: "deploybot" <hub+`)
	has(t, b.get("/as/"+alice), `class="row"`) // read

	text := b.get("/as/" + alice + "/" + m.ID + "?text=" + m.ID)
	has(t, text, "  2. Hold for review: Wait for a human PR review.", `<a href="https://beckon.example.com/i/msg_01JE3ZK7Q8" target="_blank" rel="noopener noreferrer">`)
	if strings.Contains(text, "<iframe") {
		t.Error("the text part stands in a frame")
	}
	if got := b.get("/as/" + alice + "/" + m.ID + "/original"); got != string(m.Raw) {
		t.Errorf("the original is\n%s", got)
	}

	status, page := b.post("/as/"+alice+"/"+m.ID, url.Values{"text": {"2\r\nRead <it> first."}, "style": {"gmail"}})
	has(t, page, "✓ Handed over.", token+": 250", "2\nRead &lt;it&gt; first.", "Quoted text", `<option value="gmail" selected>`)
	if got := h.all(); status != 200 || len(got) != 1 || got[0].to != token {
		t.Errorf("HTTP %d, the hub got %+v", status, got)
	}
	status, page = b.post("/as/"+alice+"/"+m.ID, url.Values{"text": {""}, "style": {"apple"}, "case": {"bounced"}})
	has(t, page, `<span class="tag">Bounce</span>`, "Mail Delivery System")
	if got := h.all(); status != 200 || len(got) != 2 || got[1].to != verp {
		t.Errorf("HTTP %d, the hub got %+v", status, got)
	}
}

// TestPageMistakes: what can't be done is said, and what was written stays.
func TestPageMistakes(t *testing.T) {
	t.Parallel()
	_, addr := startHub(t, "tcp", true, func(taken) error { return errTemporary })
	s := start(t, fakemail.Options{Hub: addr})
	b := openPage(t, s)
	m := sent(t, s)
	at := "/as/" + alice + "/" + m.ID
	tests := []struct {
		name, path string
		form       url.Values
		status     int
		want       []string
	}{
		{"refused", at, url.Values{"text": {"2"}, "style": {"apple"}}, 200, []string{"✗ Not taken.", "451 4.3.0", "try later"}},
		{"style", at, url.Values{"text": {"what I wrote"}, "style": {"telex"}}, 422, []string{"Nothing was sent: there is no style", "what I wrote</textarea>"}},
		{"case", at, url.Values{"text": {"what I wrote"}, "style": {"apple"}, "case": {"smoke"}}, 422, []string{"Nothing was sent: there is no case"}},
		{"gone", "/as/" + alice + "/m999", url.Values{"text": {"2"}, "style": {"apple"}}, 404, []string{"That mail is not here"}},
		{"address", "/as/" + alice + "/new", url.Values{"to": {"nobody"}, "subject": {"s"}, "text": {"what I wrote"}, "style": {"plain"}}, 422, []string{"is no address", "what I wrote</textarea>", `value="nobody"`, `<option value="plain" selected>`}},
		{"unknown address", "/as/" + alice + "/new", url.Values{"to": {"x@hub.test"}, "text": {"hi"}, "style": {"plain"}}, 200, []string{"✗ Not taken.", "550 5.1.1 no such address here"}},
	}
	for _, tt := range tests {
		status, page := b.post(tt.path, tt.form)
		if status != tt.status {
			t.Errorf("%s: HTTP %d, want %d", tt.name, status, tt.status)
		}
		has(t, page, tt.want...)
	}
	if status, page := b.post(at, url.Values{"text": {strings.Repeat("x", 1<<20)}}); status != 400 || !strings.Contains(page, "1048576 bytes") {
		t.Errorf("a huge form: HTTP %d: %s", status, page)
	}
	for _, path := range []string{"/as/" + alice + "/m999", "/as/" + alice + "/m999/html", "/as/" + alice + "/m999/original", "/as/sam@phone.test/" + m.ID, "/elsewhere"} {
		if status, _ := b.read(b.c.Get(b.base + path)); status != 404 {
			t.Errorf("%s: HTTP %d, want 404", path, status)
		}
	}
}

// TestMailtoButton: a button in a mail begins a mail, which the person sends.
func TestMailtoButton(t *testing.T) {
	t.Parallel()
	h, addr := startHub(t, "tcp", true, nil)
	s := start(t, fakemail.Options{Hub: addr})
	b := openPage(t, s)
	m := sent(t, s, func(m *gomail.Msg) {
		m.AddAlternativeString(gomail.TypeTextHTML, `<a href="mailto:`+url.PathEscape(token)+`?subject=Re%3A%20%5BQ-7F3K2M%5D&amp;body=hold">Answer 2</a>`)
		parts := m.GetParts()
		m.SetBodyString(gomail.TypeTextPlain, "x")
		m.AddAlternativeString(gomail.TypeTextHTML, string(must(parts[len(parts)-1].GetContent())))
	})
	g := regexp.MustCompile(`href="(/as/[^"]*/new\?[^"]*)"`).FindStringSubmatch(b.get("/as/" + alice + "/" + m.ID + "/html"))
	if g == nil {
		t.Fatalf("no link to a new mail in %s", m.HTML)
	}
	page := b.get(html.UnescapeString(g[1]))
	form := url.Values{"style": {"apple"}}
	for name, re := range map[string]string{"to": `name="to" value="([^"]*)"`, "subject": `name="subject" value="([^"]*)"`, "text": `<textarea [^>]*>([^<]*)<`} {
		form.Set(name, html.UnescapeString(regexp.MustCompile(re).FindStringSubmatch(page)[1]))
	}
	if form.Get("to") != token || form.Get("subject") != "Re: [Q-7F3K2M]" || form.Get("text") != "hold" {
		t.Errorf("the form is %v", form)
	}
	_, page = b.post("/as/"+alice+"/new", form)
	has(t, page, "✓ Handed over.")
	if got := h.all(); len(got) != 1 || got[0].to != token || !strings.Contains(string(got[0].raw), "\r\nhold\r\n") {
		t.Errorf("the hub got %+v", got)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestTheme: the choice stays, for the mail as well.
func TestTheme(t *testing.T) {
	t.Parallel()
	s := start(t, fakemail.Options{})
	b := openPage(t, s)
	m := sent(t, s)
	for theme, want := range map[string]string{"dark": "color-scheme:dark!important", "light": "color-scheme:light!important"} {
		_, page := b.post("/theme", url.Values{"theme": {theme}, "back": {"/as/" + alice + "/" + m.ID}})
		has(t, page, `data-theme="`+theme+`"`, "<iframe")
		if rich := b.get("/as/" + alice + "/" + m.ID + "/html"); !strings.Contains(rich, want) {
			t.Errorf("%s: the mail does not have %s", theme, want)
		}
	}
	_, page := b.post("/theme", url.Values{"theme": {"plaid"}, "back": {"https://evil.test/"}})
	if !strings.Contains(page, `<html lang="en">`) {
		t.Error("an unknown theme is kept")
	}
}

// TestPageForgery: other sites can neither send forms nor reach it by a name of
// their own, and nothing of a mail runs.
func TestPageForgery(t *testing.T) {
	t.Parallel()
	s := start(t, fakemail.Options{})
	b := openPage(t, s)
	m := sent(t, s)
	tests := []struct {
		name   string
		change func(*http.Request)
		want   int
	}{
		{"own page", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-origin") }, 200},
		{"other site", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		{"rebound name", func(r *http.Request) { r.Host = "evil.example" }, 421},
	}
	for _, tt := range tests {
		r, err := http.NewRequestWithContext(within(t), http.MethodPost, b.base+"/as/"+alice+"/"+m.ID, strings.NewReader("text=2&style=apple"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		tt.change(r)
		if status, page := b.read(b.c.Do(r)); status != tt.want {
			t.Errorf("%s: HTTP %d, want %d: %s", tt.name, status, tt.want, page)
		}
	}
	if n := len(s.Mails(alice)); n != 2 {
		t.Errorf("%d mails, want the question and one reply", n)
	}
	for path, want := range map[string]string{
		"/as/" + alice + "/" + m.ID:               "default-src 'none'; style-src 'nonce-",
		"/as/" + alice + "/" + m.ID + "/html":     "sandbox allow-same-origin allow-popups allow-popups-to-escape-sandbox allow-top-navigation-by-user-activation; default-src 'none';",
		"/as/" + alice + "/" + m.ID + "/original": "default-src 'none';",
	} {
		resp, err := b.c.Get(b.base + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got := resp.Header.Get("Content-Security-Policy"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// TestNews: the stream tells of each mail, and ends with the server.
func TestNews(t *testing.T) {
	t.Parallel()
	s := start(t, fakemail.Options{})
	b := openPage(t, s)
	r, err := http.NewRequestWithContext(within(t), http.MethodGet, b.base+"/as/"+alice+"/news", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := b.c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	next := func() string {
		for lines.Scan() {
			if lines.Text() != "" {
				return lines.Text()
			}
		}
		return "end"
	}
	if got := next(); got != "data: 0" {
		t.Errorf("it begins with %q", got)
	}
	send(t, s, question(t))
	if got := next(); got != "data: 1" {
		t.Errorf("with a mail it says %q", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := next(); got != "end" {
		t.Errorf("after Close it says %q", got)
	}
}
