package web_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"beckon/channels/web"
	"beckon/hub"
)

// dm is a channel that can tell people something in private.
type dm struct {
	fail func(ctx context.Context, p *hub.Person) error

	mu   sync.Mutex
	sent []sent
}

type sent struct {
	to      string
	link    string
	expires time.Time
}

func (*dm) Post(context.Context, hub.PostRequest) (hub.Posted, error) { return hub.Posted{}, nil }

func (d *dm) SendLink(ctx context.Context, p *hub.Person, link string, expires time.Time) error {
	if d.fail != nil {
		if err := d.fail(ctx, p); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sent = append(d.sent, sent{p.ID, link, expires})
	return nil
}

// take returns what was sent since, once all there is to do is done.
func (d *dm) take() []sent {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.sent
	d.sent = nil
	return s
}

// withSenders runs a test in its own time on a page whose hub has these channels
// besides.
func withSenders(t *testing.T, senders map[string]hub.Channel, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, base)
		w.use(w.page)
		all := map[string]hub.Channel{web.Name: w.page}
		for name, ch := range senders {
			all[name] = ch
		}
		w.hub.SetChannels(all)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.page.(hub.Runner).Run(ctx) }()
		f(t, w)
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func askLink(v *visitor, who, to string) reply {
	v.t.Helper()
	return v.do("POST", "/signin", url.Values{"who": {who}, "to": {to}})
}

func TestSendLink(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, who string
		scoped    bool
		to        string // where it was asked for, when not scoped
		person    string // "" when nothing is sent
	}{
		{"by e-mail, to a message", "alice.ng@EXAMPLE.com", true, "", "alice"},
		{"by id, to the list", " bob ", false, "/", "bob"},
		{"by id with an at sign, from a forged page", "@Bob", false, "https://evil.example/", "bob"},
		{"whether there is an address is for the channel to say", "carol", false, "/", "carol"},
		{"nobody's address", "mallory@example.com", true, "", ""},
		{"nobody's id", "mallory", false, "/", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			mail := new(dm)
			withSenders(t, map[string]hub.Channel{"email": mail}, func(t *testing.T, w *world) {
				asked, leads := tt.to, "/"
				if tt.scoped {
					asked = "/i/" + w.submit(nil)
					leads = asked
				}
				v := newVisitor(t, w.page, base)
				if tt.scoped {
					page := v.get(asked)
					wantStatus(t, page, http.StatusUnauthorized)
					wantText(t, page, "Sign in", "Send me a link")
					if !strings.Contains(page.body, `name="to" value="`+asked+`"`) {
						t.Error("the form forgets what was wanted")
					}
				}
				got := askLink(v, tt.who, asked)
				wantStatus(t, got, http.StatusOK)
				wantText(t, got, "is known here, a link is on its way", "It works for 15 minutes")
				all := mail.take()
				if tt.person == "" {
					if len(all) != 0 {
						t.Errorf("sent %v", all)
					}
					return
				}
				if len(all) != 1 || all[0].to != tt.person || !all[0].expires.Equal(time.Now().Add(web.SentLinkLife)) {
					t.Fatalf("sent %v", all)
				}
				guest := newVisitor(t, w.page, base)
				in := guest.get(strings.TrimPrefix(all[0].link, base))
				if in.StatusCode != http.StatusSeeOther || in.Header.Get("Location") != leads {
					t.Errorf("the link leads to %d %s", in.StatusCode, in.Header.Get("Location"))
				}
				wantText(t, guest.get(leads), w.dir.People[tt.person].Name)
				if tt.scoped {
					wantStatus(t, guest.get("/"), http.StatusUnauthorized)
				}
			})
		})
	}
}

// Evidence says that the link was asked for, who sent it and how old the sign-in
// is.
func TestSentLinkEvidence(t *testing.T) {
	t.Parallel()
	mail := new(dm)
	withSenders(t, map[string]hub.Channel{"email": mail}, func(t *testing.T, w *world) {
		id := w.submit(nil)
		v := newVisitor(t, w.page, base)
		askLink(v, "alice", "/i/"+id)
		v.open(mail.take()[0].link)
		time.Sleep(90 * time.Second)
		v.send(id, "answer", url.Values{"option": {"1"}})
		events, err := w.hub.Events(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		content := string(events[len(events)-1].Content)
		for _, want := range []string{`"by":"sent link"`, `"via":"email"`, `"scope":"message"`, `"session_age_s":90`} {
			if !strings.Contains(content, want) {
				t.Errorf("the evidence has no %s: %s", want, content)
			}
		}
		// An old link: what it is for can be asked for again.
		askLink(v, "alice", "/i/"+id)
		old := mail.take()[0].link
		time.Sleep(web.SentLinkLife)
		guest := newVisitor(t, w.page, base)
		got := guest.get(strings.TrimPrefix(old, base))
		wantStatus(t, got, http.StatusGone)
		wantText(t, got, "This link has run out", "Send me a link")
	})
}

// Neither the page nor its time tells who is known.
func TestSendLinkTellsNothing(t *testing.T) {
	t.Parallel()
	stuck := &dm{fail: func(ctx context.Context, _ *hub.Person) error { <-ctx.Done(); return ctx.Err() }}
	withSenders(t, map[string]hub.Channel{"email": stuck}, func(t *testing.T, w *world) {
		v := newVisitor(t, w.page, base)
		var bodies []string
		for _, who := range []string{"alice", "mallory", "alice.ng@example.com", "mallory@example.com"} {
			begun := time.Now()
			for range 4 { // one more than a person may have
				got := askLink(v, who, "/i/msg_1")
				wantStatus(t, got, http.StatusOK)
				bodies = append(bodies, strings.ReplaceAll(got.body, who, "WHO"))
			}
			if took := time.Since(begun); took != 0 { // the clock of the bubble: it stands unless somebody waits
				t.Errorf("%s took %v", who, took)
			}
		}
		for _, b := range bodies {
			if b != bodies[0] {
				t.Errorf("the pages differ:\n%s\n%s", textOf(b), textOf(bodies[0]))
			}
		}
	})
}

func TestSendLinkLimits(t *testing.T) {
	t.Parallel()
	mail := new(dm)
	withSenders(t, map[string]hub.Channel{"email": mail}, func(t *testing.T, w *world) {
		from := func(n int) *visitor {
			v := newVisitor(t, w.page, base)
			v.remote = "203.0.113." + string(rune('0'+n)) + ":4711"
			return v
		}
		for range 5 { // in whatever way the person is named
			wantStatus(t, askLink(from(1), "alice", "/"), http.StatusOK)
			wantStatus(t, askLink(from(2), "alice.ng@example.com", "/"), http.StatusOK)
		}
		if n := len(mail.take()); n != 3 {
			t.Errorf("one person got %d links", n)
		}
		var got reply
		asked := 5
		for ; asked < 100; asked++ {
			if got = askLink(from(1), "mallory", "/"); got.StatusCode != http.StatusOK {
				break
			}
			synctest.Wait()
		}
		if asked != 20 || got.StatusCode != http.StatusTooManyRequests || got.Header.Get("Retry-After") != "900" {
			t.Errorf("after %d from one address: %d, Retry-After %q", asked, got.StatusCode, got.Header.Get("Retry-After"))
		}
		wantText(t, got, "No link was sent")
		wantStatus(t, askLink(from(3), "bob", "/"), http.StatusOK)
		if n := len(mail.take()); n != 1 {
			t.Errorf("another person got %d links", n)
		}
		time.Sleep(15 * time.Minute)
		wantStatus(t, askLink(from(1), "alice", "/"), http.StatusOK)
		if n := len(mail.take()); n != 1 {
			t.Errorf("later, the person got %d links", n)
		}
	})
}

// However many ask, the hub is no machine for mail.
func TestSendLinkInAll(t *testing.T) {
	t.Parallel()
	mail := new(dm)
	withSenders(t, map[string]hub.Channel{"email": mail}, func(t *testing.T, w *world) {
		got := 0
		for i := range 210 {
			id := fmt.Sprint("person", i)
			w.dir.People[id] = &hub.Person{ID: id, Name: id, Location: time.UTC}
			v := newVisitor(t, w.page, base)
			v.remote = fmt.Sprintf("203.0.113.%d", i)
			wantStatus(t, askLink(v, id, "/"), http.StatusOK)
			got += len(mail.take())
		}
		if got != 200 {
			t.Errorf("%d links were sent", got)
		}
	})
}

// The first channel that can does it; one that fails or hangs is not the end.
func TestSendLinkChannels(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		fail func(context.Context, *hub.Person) error
		mail int
		chat int
		took time.Duration
	}{
		{"both could", nil, 1, 0, 0},
		{"no address", func(context.Context, *hub.Person) error { return hub.ErrUnsupported }, 0, 1, 0},
		{"broken", func(context.Context, *hub.Person) error { return errors.New("broken") }, 0, 1, 0},
		{"hangs", func(ctx context.Context, _ *hub.Person) error { <-ctx.Done(); return ctx.Err() }, 0, 1, 15 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			mail, chat := &dm{fail: tt.fail}, new(dm)
			withSenders(t, map[string]hub.Channel{"slack": chat, "email": mail}, func(t *testing.T, w *world) {
				askLink(newVisitor(t, w.page, base), "alice", "/")
				time.Sleep(tt.took)
				if m, c := len(mail.take()), len(chat.take()); m != tt.mail || c != tt.chat {
					t.Errorf("%d by mail and %d by chat, want %d and %d", m, c, tt.mail, tt.chat)
				}
			})
		})
	}
}

func TestSendLinkForm(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, method, path string
		site               string // Sec-Fetch-Site; "" is our own
		form               url.Values
		status             int
		text               string
	}{
		{"from another site", "POST", "/signin", "cross-site", url.Values{"who": {"alice"}}, 403, "This came from another site"},
		{"nobody", "POST", "/signin", "", url.Values{"who": {" "}}, 422, "Sign in"},
		{"too long a name", "POST", "/signin", "", url.Values{"who": {strings.Repeat("a", 255)}}, 422, "Sign in"},
		{"too large a form", "POST", "/signin", "", url.Values{"who": {strings.Repeat("a", 5<<10)}}, 400, "This form could not be read"},
		{"in the query", "POST", "/signin?who=alice", "", url.Values{}, 422, "Sign in"},
		{"markup", "POST", "/signin", "", url.Values{"who": {"<b>x</b>"}}, 200, "<b>x</b> ” is known here"},
		{"a GET", "GET", "/signin?who=alice&to=/", "", nil, 200, "Send me a link"},
		{"a HEAD", "HEAD", "/signin?who=alice&to=/", "", nil, 200, ""},
		{"a PUT", "PUT", "/signin?who=alice&to=/", "", nil, 405, "Nothing happens at this address"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			mail := new(dm)
			withSenders(t, map[string]hub.Channel{"email": mail}, func(t *testing.T, w *world) {
				v := newVisitor(t, w.page, base)
				if tt.site != "" {
					v.header.Set("Sec-Fetch-Site", tt.site)
				}
				got := v.do(tt.method, tt.path, tt.form)
				wantStatus(t, got, tt.status)
				wantText(t, got, tt.text)
				wantNoText(t, got, "<b>")
				if s := mail.take(); len(s) != 0 {
					t.Errorf("sent %v", s)
				}
			})
		})
	}
}

// No channel can send anything: there is no form, and sending one does nothing.
func TestNoSender(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	v := newVisitor(t, w.page, base)
	wantNoText(t, v.get("/"), "Send me a link")
	got := askLink(v, "alice", "/")
	wantStatus(t, got, http.StatusUnprocessableEntity)
	wantText(t, got, "Sign in by your link", "beckon link NAME")
}
