package email

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"beckon/channels/channeltest"
	"beckon/hub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a channel over a desk and an SMTP server.
type world struct {
	t    *testing.T
	ch   *Channel
	desk *channeltest.Desk
	peer *peer
	logs *logs
}

// logs is what was logged.
type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// deskWithLog is a desk whose log and state a test looks at.
type deskWithLog struct {
	hub.Desk
	log   *slog.Logger
	state hub.StateStore
}

func (d deskWithLog) Log() *slog.Logger { return d.log }

func (d deskWithLog) State() hub.StateStore {
	if d.state != nil {
		return d.state
	}
	return d.Desk.State()
}

// startWorld makes a channel that sends to a server of its own. Change may change
// the config.
func startWorld(t *testing.T, desk *channeltest.Desk, o peerOptions, change ...func(*section)) *world {
	t.Helper()
	if desk == nil {
		desk = channeltest.NewDesk(channeltest.Directory())
	}
	w := &world{t: t, desk: desk, peer: startPeer(t, o), logs: &logs{}}
	w.again(nil, append([]func(*section){func(c *section) { c.SMTP.TLS = o.tls }}, change...)...)
	return w
}

// again makes the channel anew, as a restart does.
func (w *world) again(state hub.StateStore, change ...func(*section)) {
	w.t.Helper()
	conf := section{
		From: "hub@example.com", IMAP: &imapSection{Host: "imap.example.com", Password: hub.NewSecret("imap-secret")},
		SMTP: smtpSection{Host: w.peer.host, Port: w.peer.port, TLS: tlsNone, Password: hub.NewSecret(w.peer.secret)},
	}
	for _, f := range change {
		f(&conf)
	}
	w.ch = build(sectionOf(w.t, conf), deskWithLog{w.desk, slog.New(slog.NewTextHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug})), state})
	if w.ch == nil {
		w.t.Fatal("no channel was made")
	}
	w.ch.out.roots = w.peer.roots
}

func sectionOf(t *testing.T, conf section) hub.Section {
	return hub.Section{
		Decode: func(v any) bool { *v.(*section) = conf; return true },
		Errorf: func(field, format string, args ...any) { t.Errorf(field+": "+format, args...) },
	}
}

// run keeps the channel's connections until the test ends.
func (w *world) run() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.ch.Run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("run: %v", err)
		}
	})
	w.until("the channel runs", func() bool {
		w.ch.out.mu.Lock()
		defer w.ch.out.mu.Unlock()
		return w.ch.out.tended
	})
}

// until waits for something that another goroutine does.
func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("never: %s\n%s", what, w.logs)
		}
	}
}

var toAlice = hub.Target{Channel: Name, Person: "alice"}

func (w *world) request(card *hub.Card) hub.PostRequest {
	w.desk.Put(card)
	return hub.PostRequest{
		DeliveryID: "dlv_" + card.MessageID + "-1", Attempt: 1, Target: toAlice, Card: card, Person: w.desk.Directory().People["alice"],
	}
}

// post does what the hub does to post a card.
func (w *world) post(card *hub.Card) (hub.Posting, error) {
	got, err := w.ch.Post(w.t.Context(), w.request(card))
	p := hub.Posting{MessageID: card.MessageID, Seq: 1, Target: toAlice, Ref: got.Ref, Thread: got.Thread, At: time.Now()}
	if err == nil {
		w.desk.Posted(p)
	}
	return p, err
}

func (w *world) mustPost(card *hub.Card) hub.Posting {
	w.t.Helper()
	p, err := w.post(card)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (w *world) update(p hub.Posting, card *hub.Card, remind bool) error {
	return w.ch.Update(w.t.Context(), hub.UpdateRequest{
		DeliveryID: "dlv_" + card.MessageID + "-2", Attempt: 1, Posting: p, Person: w.desk.Directory().People["alice"], Card: card, Remind: remind,
	})
}

// parts returns the two texts of a mail as people read them.
func parts(t *testing.T, raw []byte) (plain, rich string) {
	t.Helper()
	m := parsed(t, raw)
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		t.Fatalf("the mail is %q: %v", m.Header.Get("Content-Type"), err)
	}
	r := multipart.NewReader(m.Body, params["boundary"])
	for want := range map[string]bool{"1": true, "2": true} {
		_ = want
		p, err := r.NextRawPart()
		if err != nil {
			t.Fatal(err)
		}
		var body io.Reader = p
		if strings.EqualFold(p.Header.Get("Content-Transfer-Encoding"), "quoted-printable") {
			body = quotedprintable.NewReader(p)
		}
		b, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(b), "\r\n", "\n")
		if strings.HasPrefix(p.Header.Get("Content-Type"), "text/html") {
			rich = text
		} else {
			plain = text
		}
	}
	if _, err := r.NextPart(); err != io.EOF {
		t.Errorf("there are more than two parts: %v", err)
	}
	return plain, rich
}
