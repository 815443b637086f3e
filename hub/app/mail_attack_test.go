package app_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"beckon/channels/email/mailtest"
	"beckon/hub/app"
)

// siege is an office whose mail server hands mail to the hub itself, so that a
// test says every byte of the envelope and the headers.
type siege struct {
	office
	socket, db string
	log        *mailLog
}

// mailLog is what the hub logs.
type mailLog struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (l *mailLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Write(b)
}

// kinds are those of the mails that came in, in their order.
func (l *mailLog) kinds() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for line := range bytes.Lines(l.lines.Bytes()) {
		var entry struct{ Msg, Kind string }
		if json.Unmarshal(line, &entry) == nil && entry.Msg == "a mail came in" {
			out = append(out, entry.Kind)
		}
	}
	return out
}

func (l *mailLog) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.String()
}

// newSiege starts a hub; lines are more of the email section, each with its
// indentation and line end, and replace changes the config in pairs.
func newSiege(t *testing.T, lines string, replace ...string) *siege {
	t.Helper()
	s := &siege{socket: filepath.Join(shortDir(t), "lmtp"), db: filepath.Join(t.TempDir(), "beckon.db"), log: &mailLog{}}
	s.dovecot = mailtest.StartDovecot(t, mailtest.DovecotOptions{Users: []string{"eve", "list"}})
	s.exim = mailtest.StartExim(t, mailtest.EximOptions{LMTP: s.dovecot.LMTPAddr, Other: s.socket, OtherUsers: []string{"hub"}})
	host, port, _ := net.SplitHostPort(s.exim.Addr)
	s.yaml = fmt.Sprintf(mailYAML, s.db, host, port, "127.0.0.1", "1")
	i := strings.Index(s.yaml, "    imap: ")
	j := i + strings.Index(s.yaml[i:], "\n") + 1
	s.yaml = s.yaml[:i] + "    listen: {address: 'unix:" + s.socket + "'}\n    max_per_day: 10000\n" + lines + s.yaml[j:]
	s.yaml = strings.NewReplacer(replace...).Replace(s.yaml)
	s.process = startLogged(t, s.yaml, s.log)
	s.open()
	return s
}

// open lets exim's user hand mail over, once the hub takes it: until then the hub
// sets the socket's mode itself.
func (s *siege) open() {
	s.t.Helper()
	err := mailtest.Eventually(func() error {
		conn, err := net.Dial("unix", s.socket)
		if err != nil {
			return err
		}
		defer conn.Close()
		if _, err := conn.Read(make([]byte, 1)); err != nil { // its greeting
			return err
		}
		return os.Chmod(s.socket, 0o666)
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// startLogged is [start] with a log.
func startLogged(t testing.TB, text string, log io.Writer) *process {
	t.Helper()
	a, err := app.New(t.Context(), parse(t, text), app.Options{Version: "test", Log: slog.New(slog.NewJSONHandler(log, nil))})
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

// hand gives the hub a mail as its mail server does. Line ends may be bare.
func (s *siege) hand(from, raw string, to ...string) error {
	return mailtest.LMTP("unix", s.socket, from, []byte(raw), to...)
}

// count asks the database.
func (s *siege) count(query string, args ...any) int {
	s.t.Helper()
	db, err := sql.Open("sqlite", "file:"+s.db+"?mode=ro")
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	n := 0
	if err := db.QueryRowContext(s.t.Context(), query, args...).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *siege) receipts() int {
	s.t.Helper()
	return s.count(`SELECT count(*) FROM receipt WHERE channel = 'email'`)
}

// told is how many notices anybody gets about a message; they are written down
// in the transaction of what they are about.
func (s *siege) told(id string) int {
	s.t.Helper()
	return s.count(`SELECT count(*) FROM delivery WHERE kind = 'tell' AND message_id = $1`, id)
}

// status is a message's, without waiting.
func (p *process) status(id string) string {
	p.t.Helper()
	code, b := p.do("GET", "/v1/messages/"+id, botToken, "")
	var m struct{ Status string }
	if code != http.StatusOK || json.Unmarshal(b, &m) != nil {
		p.t.Fatalf("read %s: %d %s", id, code, b)
	}
	return m.Status
}

// about waits until a person has n mails about a message, and returns all there
// are, oldest first.
func (o *office) about(user, id string, n int) []*mail.Message {
	o.t.Helper()
	var out []*mail.Message
	err := mailtest.Eventually(func() error {
		out = nil
		for _, m := range o.dovecot.Mails(user, "INBOX") {
			parsed, err := mail.ReadMessage(bytes.NewReader(m.Raw))
			if err != nil {
				return err
			}
			if parsed.Header.Get("X-Beckon-Message") == id {
				out = append(out, parsed)
			}
		}
		if len(out) < n {
			return fmt.Errorf("%s has %d mails about %s, want %d", user, len(out), id, n)
		}
		return nil
	})
	if err != nil {
		o.t.Fatalf("%v\nexim:\n%s", err, o.exim.Log())
	}
	return out
}

// asked is one question, and all the secrets in its mails.
type asked struct {
	id           string
	token, bob   string // addresses to answer to, alice's and bob's
	verp         string // where bounces of alice's go
	ref, subject string // of alice's
}

// asks submits n questions and waits for their mails.
func (s *siege) asks(prefix string, n int, change func(map[string]any)) []asked {
	s.t.Helper()
	out := make([]asked, n)
	for i := range out {
		out[i].id = s.submit(envelope(fmt.Sprintf("%s-%d", prefix, i), change))
	}
	byID := map[string]*asked{}
	for i := range out {
		byID[out[i].id] = &out[i]
	}
	err := mailtest.Eventually(func() error {
		found := 0
		for _, user := range []string{"alice", "bob"} {
			for _, m := range s.mails(user, 0) {
				q := byID[m.Header.Get("X-Beckon-Message")]
				if q == nil {
					continue
				}
				found++
				if user == "bob" {
					q.bob = bare(m.Header.Get("Reply-To"))
					continue
				}
				q.token, q.verp = bare(m.Header.Get("Reply-To")), bare(m.Header.Get("Return-Path"))
				q.ref, q.subject = m.Header.Get("Message-ID"), m.Header.Get("Subject")
			}
		}
		if found < 2*n {
			return fmt.Errorf("%d mails about %d questions", found, n)
		}
		return nil
	})
	if err != nil {
		s.t.Fatalf("%v\nexim:\n%s", err, s.exim.Log())
	}
	return out
}

func bare(addr string) string { return strings.Trim(addr, "<> ") }
