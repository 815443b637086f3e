package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"beckon/hub/client"
	"beckon/hub/ma2h"

	"github.com/go-json-experiment/json"
)

func TestSchema(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		fields []string
		want   string // or a part of the error
	}{
		{
			"every type",
			[]string{"z:string!", "a:number", "n:integer!=How many?", "b:boolean", "s:secret", "e:x|y"},
			`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"number"},"n":{"type":"integer","title":"How many?"},` +
				`"b":{"type":"boolean"},"s":{"type":"string","x-ma2h-sensitive":true},"e":{"type":"string","enum":["x","y"]}},"required":["z","n"]}`,
		},
		{"a title with everything", []string{`a:string=Why: "this" = that?`}, `{"type":"object","properties":{"a":{"type":"string","title":"Why: \"this\" = that?"}}}`},
		{"no type", []string{"a"}, "write NAME:TYPE"},
		{"no name", []string{":string"}, "write NAME:TYPE"},
		{"only a mark", []string{"a:!"}, "write NAME:TYPE"},
		{"unknown type", []string{"a:text"}, `"text" is none of`},
		{"empty choice", []string{"a:x|"}, "one of the choices is empty"},
		{"twice", []string{"a:string", "a:number"}, `two fields "a"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := schema(tt.fields)
			if err != nil {
				if !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error %q, want %q in it", err, tt.want)
				}
				return
			}
			if string(got) != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want time.Duration // 0: an error
	}{
		{"90s", 90 * time.Second},
		{"1h30m", 90 * time.Minute},
		{"2d", 48 * time.Hour},
		{"0s", 0},
		{"-1m", 0},
		{"-1d", 0},
		{"d", 0},
		{"10", 0},
		{"", 0},
		{"99999999d", 0},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			var s span
			err := s.UnmarshalText([]byte(tt.text))
			if time.Duration(s) != tt.want || (err != nil) != (tt.want == 0) {
				t.Errorf("got %v, %v; want %v", time.Duration(s), err, tt.want)
			}
		})
	}
}

func TestLeft(t *testing.T) {
	t.Parallel()
	tests := []struct {
		d    time.Duration
		want string
	}{
		{-time.Second, "0 s"},
		{59*time.Second + 600*time.Millisecond, "1 min 00 s"},
		{9*time.Minute + 5*time.Second, "9 min 05 s"},
		{2*time.Hour + 9*time.Minute + 59*time.Second, "2 h 09 min"},
		{72 * time.Hour, "3 days"},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			if got := left(tt.d); got != tt.want {
				t.Errorf("left(%s) = %q, want %q", tt.d, got, tt.want)
			}
		})
	}
}

// TestOneLine holds that nobody's text takes over a terminal.
func TestOneLine(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"line breaks", " a\nb\r\n\tc ", "a b c"},
		{"an escape sequence", "a\x1b[2Jb\x07\u009b31m", "a[2Jb31m"},
		{"turned around", "a\u202eb\u2066c", "abc"},
		{"long", strings.Repeat("ü", 300), strings.Repeat("ü", 200) + "…"},
		{"bad UTF-8", "a\xffb", "a\ufffdb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := oneLine(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		n        int
		want     string
	}{
		{"short", "abc", 3, "abc"},
		{"cut", "abcdef", 4, "abc…"},
		{"wide", "日本語", 6, "日本語"},
		{"wide, cut", "日本語", 5, "日本…"},
		{"wide, cut in the middle of a cell", "日本語", 4, "日…"},
		{"a mark takes no cell", "e\u0301e\u0301", 2, "e\u0301e\u0301"},
		{"emoji", "🚀🚀🚀", 5, "🚀🚀…"},
		{"not at a space", "ab cd", 4, "ab…"},
		{"one", "abc", 1, "…"},
		{"no limit", "abc", 0, "abc"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := fit(tt.in, tt.n); got != tt.want || tt.n > 0 && cells(got) > tt.n {
				t.Errorf("fit(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
			}
		})
	}
}

// TestPages holds that a list gets as many pages as it takes, and no more.
func TestPages(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                     string
		have, limit, over, asked int // over: how many rows more a page has than was asked for
		want                     int
		more                     bool
	}{
		{"none", 0, 50, 0, 1, 0, false},
		{"fewer", 30, 50, 0, 1, 30, false},
		{"as many", 50, 50, 0, 1, 50, false},
		{"more", 51, 50, 0, 1, 50, true},
		{"several pages", 450, 1000, 0, 3, 450, false},
		{"several pages and more", 900, 450, 0, 3, 450, true},
		{"pages that are longer", 100, 50, 7, 1, 50, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			at, asked := 0, 0
			got, more, err := pages(t.Context(), tt.limit, func(_ context.Context, _ string, n int) ([]int, string, error) {
				asked++
				if n < 1 || n > pageSize {
					t.Errorf("asked for %d", n)
				}
				n = min(n+tt.over, tt.have-at)
				at += n
				if at < tt.have {
					return make([]int, n), "next", nil
				}
				return make([]int, n), "", nil
			})
			if err != nil || len(got) != tt.want || more != tt.more || asked != tt.asked {
				t.Errorf("got %d rows, more %t, in %d pages, %v; want %d, %t, %d", len(got), more, asked, err, tt.want, tt.more, tt.asked)
			}
		})
	}
}

func TestEnding(t *testing.T) {
	t.Parallel()
	request := `"request":{"mode":"select","options":[{"value":"a","label":"Plan A"}]}`
	tests := []struct{ name, status, response, want string }{
		{"answered", "answered", `{"value":"a","actor":"human:alice","comment":"go\n on"}`, "alice: Plan A, “go on”"},
		{"a form, which may be sensitive", "answered", `{"value":{ "x": 1 },"actor":"human:alice"}`, "alice: answered"},
		{"declined", "declined", `{"actor":"human:alice"}`, "declined by alice"},
		{"done", "completed", `{"actor":"human:bob","checklist":[{"text":"1","done":true},{"text":"2","done":false}]}`, "bob: done (1 of 2 steps)"},
		{"dismissed", "dismissed", `{"actor":"human:bob"}`, "bob: can't be done"},
		{"expired", "expired", `{"actor":"system:expiry"}`, "expired, nobody answered"},
		{"cancelled", "cancelled", `{"actor":"agent:x/y"}`, "cancelled by x/y"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := message(t, fmt.Sprintf(`{"id":"msg_1","status":%q,%s,"response":{"resolution":%q,"response":%s}}`,
				tt.status, request, tt.status, tt.response))
			if got := ending(m); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestFillKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	const in = ` {"title":"x" , "state": {"n":1.50,"u":"\u00e9"},"agent":{ "run_id":"r1"},"created_at":"2026-01-01T00:00:00Z"}` + "\n"
	const want = ` {"ma2h_version":"0.5","type":"ask","idempotency_key":"k","title":"x" , "state": {"n":1.50,"u":"\u00e9"},` +
		`"agent":{"id":"bot/x","runtime":"cli", "run_id":"r1"},"created_at":"2026-01-01T00:00:00Z"}` + "\n"
	r := &author{remote: remote{Agent: "bot/x"}}
	got, err := fillFile(&shell{in: strings.NewReader(in)}, r, "--file", "-", ma2h.Ask, "k")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if _, err := fillFile(&shell{in: strings.NewReader(`{"agent":{}}`)}, &author{}, "--file", "-", ma2h.Ask, ""); err != errNoAgent {
		t.Errorf("without an agent: %v", err)
	}
	for _, bad := range []string{"", "[]", "{", `{"a":1} x`, `{"a":}`, `{"agent":3}`} {
		if _, err := fillFile(&shell{in: strings.NewReader(bad)}, r, "--file", "-", ma2h.Ask, ""); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// TestSpin holds that the line is for terminals only and leaves nothing behind.
func TestSpin(t *testing.T) {
	t.Setenv("TERM", "xterm")
	var out lockedBuffer
	sh := &shell{err: &out}
	sh.spin(func() string { return "waiting" })()
	if out.String() != "" {
		t.Errorf("without a terminal: %q", out.String())
	}
	sh.term = true
	sh.spin(func() string { return "" })()
	if out.String() != "" {
		t.Errorf("with nothing to say: %q", out.String())
	}
	sh.spin(func() string { return "waiting" })()
	if s := out.String(); !strings.Contains(s, "waiting") || !strings.HasSuffix(s, "\r\x1b[K") {
		t.Errorf("on a terminal: %q", s)
	}
	t.Setenv("TERM", "dumb")
	out.Reset()
	sh.spin(func() string { return "waiting" })()
	if out.String() != "" {
		t.Errorf("on a terminal that can't: %q", out.String())
	}
}

func TestWaitingLine(t *testing.T) {
	t.Parallel()
	m := message(t, `{"id":"msg_1","status":"open","expires_at":"2999-01-01T00:00:00Z",`+
		`"beckon":{"deliveries":[{"target":"web:alice","state":"done"},{"target":"web:alice","state":"pending"},{"target":"web:bob","state":"done"},`+
		`{"target":"web:carol","state":"dead"},{"target":"web:dave","state":"pending","due":"2998-01-01T00:00:00Z"}]}}`)
	got := waitingLine(m, time.Now().Add(10*time.Minute+500*time.Millisecond), false)
	if want := "waiting for web:alice, web:bob · 10 min 00 s left · ^C keeps it open"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := waitingLine(m, time.Time{}, true); !strings.HasPrefix(got, "the hub does not answer, trying again · ") {
		t.Errorf("a hub that does not answer: %q", got)
	}
	if got := waitingLine(m, time.Time{}, false); !strings.Contains(got, " days left") {
		t.Errorf("the message's own end is not said: %q", got)
	}
}

// TestSecondSignal holds that the first signal waits for what is under way, and
// the second one does not.
func TestSecondSignal(t *testing.T) {
	dir := t.TempDir()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	copyExample(t, dir, "minimal.yaml", port)
	p := start(t, dir, []string{"DEPLOYBOT_TOKEN=" + testToken}, "exec beckon serve --config examples/minimal.yaml")
	p.await(t, "msg=serving")

	// A request whose body never comes.
	c, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST /v1/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n", testToken)
	if _, err := io.ReadFull(c, make([]byte, len("HTTP/1.1 100"))); err != nil {
		t.Fatal(err)
	}
	signal := func() {
		if err := syscall.Kill(p.cmd.Process.Pid, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	signal()
	p.await(t, "msg=stopping")
	select {
	case <-p.done:
		t.Fatalf("the first signal did not wait for the request:\n%s", p.text())
	case <-time.After(200 * time.Millisecond):
	}
	signal()
	select {
	case err := <-p.done:
		if err == nil {
			t.Error("the second signal ended it as if all was well")
		}
	case <-time.After(5 * time.Second):
		t.Error("the second signal did not end it at once")
	}
}

func message(t *testing.T, body string) *client.Message {
	t.Helper()
	m := &client.Message{Body: []byte(body)}
	if err := json.Unmarshal(m.Body, m); err != nil {
		t.Fatal(err)
	}
	return m
}

// lockedBuffer is a buffer that two goroutines may use.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lockedBuffer) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Reset()
}
