package fakeslack_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"beckon/channels/slack/fakeslack"
)

// browser is a person's browser without a script engine.
type browser struct {
	t    *testing.T
	base string
	c    *http.Client
}

func newBrowser(t *testing.T, s *fakeslack.Server) *browser {
	jar, _ := cookiejar.New(nil)
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &browser{t, s.URL(), &http.Client{Transport: tr, Jar: jar, Timeout: 10 * time.Second}}
}

func (b *browser) read(resp *http.Response, err error) string {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 200 {
		b.t.Fatalf("HTTP %d: %s", resp.StatusCode, raw)
	}
	return string(raw)
}

func (b *browser) get(path string) string { b.t.Helper(); return b.read(b.c.Get(b.base + path)) }

func (b *browser) post(path string, form url.Values) string {
	b.t.Helper()
	return b.read(b.c.PostForm(b.base+path, form))
}

func (b *browser) has(page string, parts ...string) {
	b.t.Helper()
	for _, p := range parts {
		if !strings.Contains(page, p) {
			b.t.Errorf("%q is not on the page:\n%s", p, page[strings.Index(page, "<main>"):])
		}
	}
}

// demoApp answers clicks with a modal, on slack-go.
func demoApp(t *testing.T, s *fakeslack.Server, c *slack.Client) {
	t.Helper()
	runSocket(t, s, c, func(ev socketmode.Event) (any, bool) {
		cb, ok := ev.Data.(slack.InteractionCallback)
		if !ok {
			return nil, true
		}
		switch cb.Type {
		case slack.InteractionTypeBlockActions:
			go func() { _, _ = c.OpenViewContext(t.Context(), cb.TriggerID, modal()) }()
		case slack.InteractionTypeViewSubmission:
			if cb.View.State.Values["why"]["txt"].Value == "no" {
				return slack.NewErrorsViewSubmissionResponse(map[string]string{"why": "Say more."}), true
			}
		}
		return nil, true
	})
}

// TestPage: a person reads, clicks, fills in a form and replies.
func TestPage(t *testing.T) {
	t.Parallel()
	s := start(t, fakeslack.Options{NoRateLimits: true})
	c := client(t, s)
	demoApp(t, s, c)
	b := newBrowser(t, s)
	const channel = "C0APPROVE1"
	ts := api(t, s, "chat.postMessage", obj{"channel": channel, "text": "Deploy?", "blocks": []any{
		obj{"type": "header", "text": plain("Deploy <api> & more?")},
		section(mrkdwn("*bold* _it_ `x *y*` <https://a.example/?a=1&amp;b=2|the diff> <@U0BOB00001> &lt;script&gt; <!channel>")),
		actions(with(with(button(), "value", "yes"), "style", "primary")),
	}})["ts"].(string)
	api(t, s, "chat.postEphemeral", obj{"channel": channel, "user": "U0BOB00001", "text": "psst, Bob"})

	page := b.get("/as/U0ALICE001/" + channel)
	b.has(page, "Deploy &lt;api&gt; &amp; more?", "<b>bold</b>", "<i>it</i>", "<code>x *y*</code>", "&lt;script&gt;",
		`<a href="https://a.example/?a=1&amp;b=2" target="_blank" rel="noopener noreferrer">the diff</a>`, `<span class="mention">@Bob Roy</span>`,
		`<span class="mention">@channel</span>`, `class="b primary"`)
	if strings.Contains(page, "psst") {
		t.Error("Alice sees what is only for Bob")
	}
	b.has(b.get("/as/U0BOB00001/"+channel), "psst, Bob", "Only visible to you")

	b.post("/as/U0ALICE001/"+channel+"/click", url.Values{"ts": {ts}, "action": {"a"}})
	if _, err := s.Person("alice").WaitModal(within(t), func(fakeslack.View) bool { return true }); err != nil {
		t.Fatal(err)
	}
	v := s.Person("alice").Modal()
	b.has(b.get("/as/U0ALICE001/"+channel), "<dialog open", `name="f:plain_text_input:why/txt"`)
	page = b.post("/as/U0ALICE001/"+channel+"/modal", url.Values{"view": {v.ID}, "f:plain_text_input:why/txt": {""}})
	b.has(page, "Please complete this required field.")
	page = b.post("/as/U0ALICE001/"+channel+"/modal", url.Values{"view": {v.ID}, "f:plain_text_input:why/txt": {"no"}})
	b.has(page, "Say more.", `value="no"`)
	page = b.post("/as/U0ALICE001/"+channel+"/modal", url.Values{"view": {v.ID}, "f:plain_text_input:why/txt": {"it is time"}})
	if strings.Contains(page, "<dialog") {
		t.Error("the modal is still open")
	}
	page = b.post("/as/U0ALICE001/"+channel+"/say", url.Values{"thread": {ts}, "text": {"a reply <b>"}})
	b.has(page, "a reply &lt;b&gt;", `class="thread"`)
	api(t, s, "chat.update", obj{"channel": channel, "ts": ts, "text": "Done"})
	b.has(b.post("/as/U0ALICE001/"+channel+"/click", url.Values{"ts": {ts}, "action": {"a"}}), "no control")

	api(t, s, "views.publish", obj{"user_id": "U0ALICE001", "view": obj{"type": "home", "blocks": []any{section(plain("Inbox of Alice"))}}})
	b.has(b.post("/as/U0ALICE001/"+channel+"/home", nil), "Inbox of Alice")
	b.has(b.get("/archives/"+channel+"/p"+strings.ReplaceAll(ts, ".", "")), "Done")
}

// TestPageForgery: other sites can neither send forms nor reach it by a name of
// their own.
func TestPageForgery(t *testing.T) {
	t.Parallel()
	s := start(t, fakeslack.Options{})
	send := func(change func(*http.Request)) int {
		r, _ := http.NewRequestWithContext(within(t), http.MethodPost, s.URL()+"/as/U0ALICE001/C0APPROVE1/say", strings.NewReader("text=hi"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		change(r)
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	tests := []struct {
		name   string
		change func(*http.Request)
		want   int
	}{
		{"own page", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-origin") }, 303},
		{"other site", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		{"rebound name", func(r *http.Request) { r.Host = "evil.example" }, 421},
	}
	for _, tt := range tests {
		if got := send(tt.change); got != tt.want {
			t.Errorf("%s: HTTP %d, want %d", tt.name, got, tt.want)
		}
	}
	if n := len(s.Messages("C0APPROVE1")); n != 1 {
		t.Errorf("%d messages, want 1", n)
	}
}
