package slack

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"beckon/channels/slack/fakeslack"

	"github.com/chromedp/chromedp"
)

// TestPictures shows every golden message, note, modal and Home tab on the page
// of the fake Slack, wide and as on a phone: nothing may stick out sideways. When
// BECKON_SHOTS names a folder, pictures are kept there.
func TestPictures(t *testing.T) {
	t.Parallel()
	album := newAlbum(t)
	docs := goldens(t)
	for name, channel := range map[string]string{
		"ask-select-3": "asks", "ask-confirm": "asks", "ask-input": "asks", "ask-destroy": "asks", "ask-not-yours": "asks", "ask-nobody": "asks",
		"ask-select-8": "longer", "ask-select-150": "longer", "ask-select-long": "longer", "ask-secret-field": "secrets", "ask-dm-secret": "secrets",
		"sensitive": "secrets", "sensitive-notify": "secrets", "masked": "secrets", "task": "tasks", "task-25": "tasks", "notify": "notes",
		"answered": "ended", "answered-got": "ended", "answered-acked": "ended", "answered-lost": "ended", "answered-new": "ended", "answered-input": "ended", "declined": "ended", "expired": "ended", "cancelled": "ended", "completed": "ended", "dismissed": "ended",
	} {
		album.add(channel, name)
	}
	for _, channel := range album.channels() {
		ts := ""
		names := album.shown[channel]
		slices.Sort(names)
		for _, name := range names {
			doc := docs[name+".json"]
			ts = album.call("chat.postMessage", map[string]any{"channel": channel, "text": doc["text"], "blocks": doc["blocks"]})
		}
		if channel == "ended" || channel == "asks" {
			album.notes(channel, ts, docs)
		}
		album.shot(channel, channel)
	}
	for _, name := range slices.Sorted(maps.Keys(docs)) { // Home tabs first: a modal would lie over them
		doc := docs[name]
		name = strings.TrimSuffix(name, ".json")
		switch doc["type"] {
		case "home":
			album.call("views.publish", map[string]any{"user_id": aliceUser, "view": doc})
			album.shot("home", name)
		case "modal":
			album.modal(doc)
			album.shot("forms", name)
		}
	}
}

// album is a workspace whose app does nothing by itself, and a browser that
// looks at it.
type album struct {
	t       *testing.T
	slack   *fakeslack.Server
	browser context.Context
	shown   map[string][]string // golden files by channel
	trigger chan string         // of Alice's clicks
	button  string              // ts of a message with a button
}

func newAlbum(t *testing.T) *album {
	t.Helper()
	a := &album{t: t, browser: startChrome(t), shown: map[string][]string{}, trigger: make(chan string, 1)}
	app := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var p struct {
			Trigger string `json:"trigger_id"`
		}
		if json.Unmarshal([]byte(r.FormValue("payload")), &p) == nil && p.Trigger != "" {
			a.trigger <- p.Trigger
		}
	}))
	t.Cleanup(app.Close)
	o := workspace()
	o.Apps[0].RequestURL = app.URL
	o.Apps[0].Events = []string{}
	o.Channels = nil
	for _, name := range a.channels() {
		o.Channels = append(o.Channels, fakeslack.Channel{ID: name, Name: name, Members: []string{o.Apps[0].BotUser, aliceUser, bobUser}})
	}
	a.slack = fakeslack.New(o)
	if err := a.slack.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.slack.Close)
	return a
}

func (*album) channels() []string {
	return []string{"asks", "longer", "secrets", "tasks", "notes", "ended", "forms"}
}

func (a *album) add(channel, name string) { a.shown[channel] = append(a.shown[channel], name) }

// call does one of the app's calls, and returns the ts of what came of it.
func (a *album) call(method string, args map[string]any) string {
	a.t.Helper()
	req, err := http.NewRequestWithContext(a.t.Context(), http.MethodPost, a.slack.APIURL()+method, strings.NewReader(string(marshal(a.t, args))))
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("Authorization", "Bearer "+a.slack.App().BotToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	var out struct {
		OK       bool           `json:"ok"`
		Error    string         `json:"error"`
		TS       string         `json:"ts"`
		Metadata map[string]any `json:"response_metadata"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil || !out.OK {
		a.t.Fatalf("%s: %v %s %v", method, err, out.Error, out.Metadata)
	}
	return out.TS
}

// notes are the private notes, and the reminders in a message's thread.
func (a *album) notes(channel, ts string, docs map[string]map[string]any) {
	a.t.Helper()
	for _, name := range []string{"remind-ask", "remind-task", "note-late", "note-refused", "note-accepted", "note-unclear", "note-unclear-task", "note-link", "note-hostile", "note-empty"} {
		doc := docs[name+".json"]
		args := map[string]any{"channel": channel, "text": doc["text"], "blocks": doc["blocks"], "thread_ts": ts}
		if strings.HasPrefix(name, "remind") {
			a.call("chat.postMessage", args)
			continue
		}
		args["user"] = aliceUser
		if channel == "asks" {
			delete(args, "thread_ts")
		}
		a.call("chat.postEphemeral", args)
	}
}

// modal has Alice look at a modal, and at no other.
func (a *album) modal(view map[string]any) {
	a.t.Helper()
	alice := a.slack.Person(aliceUser)
	if v := alice.Modal(); v != nil {
		if err := alice.CloseAll(a.t.Context(), v.ID); err != nil {
			a.t.Fatal(err)
		}
	}
	if a.button == "" {
		a.button = a.call("chat.postMessage", map[string]any{"channel": "forms", "text": "a button", "blocks": []any{
			map[string]any{"type": "actions", "elements": []any{
				map[string]any{"type": "button", "action_id": "open", "text": map[string]any{"type": "plain_text", "text": "Open"}},
			}},
		}})
	}
	if _, err := alice.Click(a.t.Context(), "forms", a.button, "open"); err != nil {
		a.t.Fatal(err)
	}
	a.call("views.open", map[string]any{"trigger_id": <-a.trigger, "view": view})
}

// shot looks at a place as Alice, and scrolls nothing: all of it is shown.
func (a *album) shot(place, name string) {
	a.t.Helper()
	const unroll = `document.body.style.height = 'auto';
		for (const e of document.querySelectorAll('main,#log,dialog')) { e.style.height = 'auto'; e.style.maxHeight = 'none'; e.style.overflow = 'visible'; }
		for (const e of document.querySelectorAll('.veil')) { e.style.position = 'absolute'; e.style.placeItems = 'start center'; e.style.bottom = 'auto'; e.style.minHeight = '100vh'; }
		for (const e of document.querySelectorAll('dialog header,dialog footer')) e.style.position = 'static';
		document.documentElement.scrollWidth - document.documentElement.clientWidth`
	ctx, cancel := context.WithTimeout(a.browser, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(a.slack.URL()+"/as/"+aliceUser+"/"+place)); err != nil {
		a.t.Fatal(err)
	}
	for _, size := range []struct {
		name  string
		width int64
	}{{"wide", 1280}, {"phone", 400}} {
		if err := chromedp.Do(ctx, chromedp.EmulateViewport(size.width, 780)); err != nil {
			a.t.Fatal(err)
		}
		over, err := chromedp.Run(ctx, chromedp.Evaluate[int](unroll))
		if err != nil {
			a.t.Fatal(err)
		}
		if over > 0 {
			a.t.Errorf("%s, %s: %d pixels too wide", name, size.name, over)
		}
		if dir := os.Getenv("BECKON_SHOTS"); dir != "" {
			png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
			if err != nil {
				a.t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name+"-"+size.name+".png"), png, 0o600); err != nil {
				a.t.Fatal(err)
			}
		}
	}
	// A page that learns news would load itself anew just when it is left.
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		a.t.Fatal(err)
	}
}

// startChrome starts a headless browser of its own, or skips.
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
