package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"beckon/channels"
	"beckon/config"
	"beckon/hub/app"
)

const (
	botToken   = "bkn_bottoken"
	otherToken = "bkn_othertoken"
	opsToken   = "bkn_opstoken"
)

// yaml is the config that the tests share; %s is the database.
const signSecret = "signing-secret-0123456789abcdef"

const yaml = `
listen: 127.0.0.1:0
store: %s
people:
  alice: {name: Alice Ng, tz: Asia/Singapore}
  bob: {name: Bob Roy, tz: Europe/Paris}
agents:
  deploybot/dev-team: {token: env:BOT}
  other/bot: {token: env:OTHER}
operators:
  ops: {token: env:OPS}
limits: {requests_per_minute: 0, open_messages: 0}
routes:
  - ask: [alice, bob]
    post: [{web: alice}]
`

func parse(t testing.TB, text string) *config.Config {
	t.Helper()
	env := map[string]string{"BOT": botToken, "OTHER": otherToken, "OPS": opsToken, "MAIL": "secret", "SIGN": signSecret}
	cfg, err := config.Parse("beckon.yaml", []byte(text), channels.All(), func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	})
	if err != nil {
		t.Fatalf("config: %v", err)
	}
	return cfg
}

// process is a hub that runs in this process, as a real one does.
type process struct {
	t    testing.TB
	app  *app.App
	url  string
	stop func()
}

func start(t testing.TB, cfg *config.Config) *process {
	t.Helper()
	a, err := app.New(t.Context(), cfg, app.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	p := &process{t: t, app: a, url: "http://" + a.Addr().String()}
	p.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(p.stop)
	return p
}

func startNew(t testing.TB) *process {
	t.Helper()
	return start(t, parse(t, fmt.Sprintf(yaml, filepath.Join(t.TempDir(), "beckon.db"))))
}

// do sends a request as an agent or operator does.
func (p *process) do(method, path, token, body string) (int, []byte) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, b
}

// envelope is an ask (or what change makes of it) with its own key.
func envelope(key string, change func(map[string]any)) string {
	m := map[string]any{
		"ma2h_version": "0.5", "type": "ask", "created_at": "2026-12-01T09:00:00Z", "title": "Ship web-app 2.3?",
		"agent":           map[string]any{"id": "deploybot/dev-team", "run_id": "run_1", "runtime": "cli"},
		"idempotency_key": key,
		"request": map[string]any{"mode": "select", "options": []any{
			map[string]any{"value": "ship", "label": "Ship to prod now"}, map[string]any{"value": "hold", "label": "Hold for review"},
		}},
	}
	if change != nil {
		change(m)
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (p *process) submit(body string) string {
	p.t.Helper()
	status, b := p.do("POST", "/v1/messages", botToken, body)
	var ack struct{ ID string }
	if status != http.StatusAccepted || json.Unmarshal(b, &ack) != nil {
		p.t.Fatalf("submit: %d %s", status, b)
	}
	return ack.ID
}

// browser is a person at the page: cookies, and forms sent as they came.
type browser struct {
	t    testing.TB
	c    *http.Client
	base string
}

func (p *process) signIn(person string) *browser {
	p.t.Helper()
	jar, _ := cookiejar.New(nil)
	b := &browser{p.t, &http.Client{Jar: jar}, p.url}
	if status, page := b.get(p.app.Link(person, "", time.Hour)); status != http.StatusOK {
		p.t.Fatalf("sign in: %d %s", status, page)
	}
	return b
}

func (b *browser) get(u string) (int, string) {
	b.t.Helper()
	resp, err := b.c.Get(u)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp.StatusCode, text(b.t, resp.Body)
}

var (
	hidden = regexp.MustCompile(`<input[^>]*type="hidden"[^>]*>`)
	attr   = regexp.MustCompile(`(name|value)="([^"]*)"`)
)

// post sends the page's form for an action with what a person chose.
func (b *browser) post(id, action string, chosen url.Values) (int, string) {
	b.t.Helper()
	return b.send(id, action, b.form(id, action, chosen))
}

// form reads the page and fills in what it hides in the form.
func (b *browser) form(id, action string, chosen url.Values) url.Values {
	b.t.Helper()
	_, page := b.get(b.base + "/i/" + id)
	i := strings.Index(page, `action="/i/`+id+"/"+action+`"`)
	if i < 0 {
		b.t.Fatalf("no form for %s on the page:\n%s", action, page)
	}
	form := page[i:]
	form = form[:strings.Index(form, "</form>")]
	for _, in := range hidden.FindAllString(form, -1) {
		var name, value string
		for _, a := range attr.FindAllStringSubmatch(in, -1) {
			if a[1] == "name" {
				name = a[2]
			} else {
				value = html.UnescapeString(a[2])
			}
		}
		chosen.Set(name, value)
	}
	return chosen
}

func (b *browser) send(id, action string, chosen url.Values) (int, string) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), "POST", b.base+"/i/"+id+"/"+action, strings.NewReader(chosen.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", b.base)
	resp, err := b.c.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp.StatusCode, text(b.t, resp.Body)
}

func text(t testing.TB, r io.ReadCloser) string {
	t.Helper()
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// rawConn speaks HTTP/1.1 over one connection with no more work than needed,
// so that a benchmark measures the hub.
type rawConn struct {
	c   net.Conn
	buf []byte
}

func dial(t testing.TB, p *process) *rawConn {
	t.Helper()
	c, err := net.Dial("tcp", p.app.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &rawConn{c: c, buf: make([]byte, 0, 8192)}
}

var contentLength = regexp.MustCompile(`(?i)\r\ncontent-length: (\d+)\r\n`)

// roundTrip writes a request and returns the status line and the body.
func (r *rawConn) roundTrip(req []byte) (status string, body []byte, err error) {
	if _, err := r.c.Write(req); err != nil {
		return "", nil, err
	}
	buf := r.buf[:0]
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.c.Read(buf[len(buf):cap(buf)])
		if err != nil {
			return "", nil, err
		}
		buf = buf[:len(buf)+n]
		head := bytes.Index(buf, []byte("\r\n\r\n"))
		if head < 0 {
			continue
		}
		m := contentLength.FindSubmatch(buf[:head+2])
		if m == nil {
			return "", nil, fmt.Errorf("no Content-Length in %q", buf[:head])
		}
		var length int
		for _, d := range m[1] {
			length = length*10 + int(d-'0')
		}
		if len(buf) >= head+4+length {
			r.buf = buf
			return string(buf[9:12]), buf[head+4 : head+4+length], nil
		}
	}
}

// request renders a request for a rawConn.
func request(method, path, token, body string) []byte {
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		method, path, token, len(body), body)
}
