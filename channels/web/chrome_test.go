package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

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

// serve puts a world's page on a socket.
func serve(t *testing.T) *world {
	t.Helper()
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	w := newWorld(t, srv.URL)
	for pattern, h := range w.page.(hub.HTTPHandler).Handlers() {
		mux.Handle(pattern, h)
	}
	return w
}

// window is a browser window in which a person acts.
type window struct {
	t    *testing.T
	ctx  context.Context
	name string // of its pictures
}

// open makes a window with cookies of its own.
func open(t *testing.T, browser context.Context, name string, width int64, setup ...chromedp.Action[chromedp.Void]) *window {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, time.Minute)
	t.Cleanup(cancel)
	w := &window{t: t, ctx: ctx, name: name}
	w.run(append([]chromedp.Action[chromedp.Void]{chromedp.EmulateViewport(width, 780)}, setup...)...)
	return w
}

func (w *window) run(actions ...chromedp.Action[chromedp.Void]) {
	w.t.Helper()
	if err := chromedp.Do(w.ctx, actions...); err != nil {
		w.t.Fatal(err)
	}
}

// eval runs an action that returns something.
func eval[T any](w *window, a chromedp.Action[T]) T {
	w.t.Helper()
	v, err := chromedp.Run(w.ctx, a)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

// tell sends the browser a command of its protocol.
func tell[P, R any](cmd cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, cmd, params)
		return err
	})
}

// click presses what sel names and waits for the page that it leads to.
func (w *window) click(sel string) {
	w.t.Helper()
	if _, err := chromedp.RunResponse(w.ctx, chromedp.Click(chromedp.CSS(sel))); err != nil {
		w.t.Fatalf("click %s: %v", sel, err)
	}
}

func (w *window) typeIn(sel, text string) {
	w.t.Helper()
	w.run(chromedp.SendKeys(chromedp.CSS(sel), text))
}

func (w *window) want(texts ...string) {
	w.t.Helper()
	got := eval(w, chromedp.Text(chromedp.CSS("main")))
	for _, s := range texts {
		if !strings.Contains(got, s) {
			w.t.Errorf("the page does not say %q:\n%s", s, got)
		}
	}
}

// shot keeps a picture when BECKON_SHOTS names a folder, and checks that
// nothing sticks out sideways.
func (w *window) shot(what string) {
	w.t.Helper()
	if eval(w, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > document.documentElement.clientWidth`)) {
		w.t.Errorf("%s %s is wider than the window", w.name, what)
	}
	dir := os.Getenv("BECKON_SHOTS")
	if dir == "" {
		return
	}
	png := eval(w, chromedp.FullScreenshot(100))
	if err := os.WriteFile(filepath.Join(dir, what+"-"+w.name+".png"), png, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// People answer in a real browser, with JavaScript and without.
func TestBrowser(t *testing.T) {
	browser := startChrome(t)
	for _, js := range []bool{true, false} {
		t.Run(fmt.Sprintf("javascript=%v", js), func(t *testing.T) {
			w := serve(t)
			win := open(t, browser, "flow", 360, tell(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !js}))
			ask, form, confirm, no, job := w.submit(nil), w.submit(map[string]any{"request": inputRequest()}),
				w.submit(map[string]any{"request": map[string]any{"mode": "confirm"}, "title": "Delete the old bucket?"}),
				w.submit(map[string]any{"title": "One to decline"}), w.submit(task())

			win.run(chromedp.Navigate(w.link("alice", "")))
			win.want("What waits for you", "Delete the old bucket?")

			win.run(chromedp.Navigate(w.dir.ReviewURL(ask)))
			win.typeIn("#comment", "After lunch.")
			win.click(`button[name=option][value="2"]`)
			win.want("Recorded.", "Hold for review", "You answered at", "After lunch.")

			win.run(chromedp.Navigate(w.dir.ReviewURL(form)))
			win.typeIn("#f1", "Fixes")
			win.run(chromedp.Click(chromedp.CSS(`input[name=f2][value=low]`)), chromedp.Click(chromedp.CSS(`input[name=f4][value=true]`)))
			win.typeIn("#f3", "many")
			win.typeIn("#f6", "s3cret-value")
			win.click(".primary")
			win.want("must be a number")
			win.run(chromedp.SetAttributeValue(chromedp.CSS("#f3"), "value", "3"))
			win.typeIn("#f6", "s3cret-value")
			win.click(".primary")
			win.want("Fixes", "••••", "You answered")

			win.run(chromedp.Navigate(w.dir.ReviewURL(confirm)))
			win.click(`button[name=option][value="1"]`)
			win.want("You answered")

			win.run(chromedp.Navigate(w.dir.ReviewURL(no)), chromedp.Click(chromedp.CSS(".decline summary")))
			win.typeIn("#reason", "Not mine.")
			win.click(".decline button")
			win.want("You declined", "Not mine.")

			win.run(chromedp.Navigate(w.dir.ReviewURL(job)), chromedp.Click(`input[name=step][value="1"]`))
			win.click(".steps-form button")
			win.want("Progress saved.")
			win.run(chromedp.Click(`input[name=step][value="2"]`))
			win.click(".primary")
			win.want("You marked it done")

			for id, want := range map[string]ma2h.Status{ask: "answered", form: "answered", confirm: "answered", no: "declined", job: "completed"} {
				if got := w.message(id).Status; got != want {
					t.Errorf("%s is %s, want %s", w.message(id).Envelope.Title, got, want)
				}
			}
			win.click(".who button")
			win.want("Sign in by your link")
		})
	}
}

// What the page looks like: nothing sticks out at either width, and pictures of
// it for whoever looks.
func TestLooks(t *testing.T) {
	browser := startChrome(t)
	for _, width := range []int64{360, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			name := fmt.Sprintf("%d-%s", width, scheme)
			t.Run(name, func(t *testing.T) {
				w := serve(t)
				win := open(t, browser, name, width, tell(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
					Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
				}))
				looks(w, win)
			})
		}
	}
}

func looks(w *world, win *window) {
	long := strings.Repeat("Averylongwordthatnobodywouldwrite", 6)
	ask := w.submit(map[string]any{
		"expires_at": time.Now().Add(130 * time.Minute).UTC().Format(time.RFC3339),
		"tags":       []string{"deploy", "migration"},
		"body": "All checks passed. One migration adds an index on `orders` (about 40 s of lock).\n\n" +
			"## Why now\n\n- The [release plan](https://example.com/plan) says so\n- ![chart](https://img.example.com/c.png)\n\n" +
			"| service | change |\n|---|---|\n| web | 2.2 → 2.3 |\n| worker | none |\n\n```\ngo test ./...\nok\n```\n\n" + long,
		"context": []map[string]any{
			{"kind": "text", "text": "diff --git a/orders.sql b/orders.sql\n+CREATE INDEX CONCURRENTLY orders_by_day ON orders (day);"},
			{"kind": "text", "text": strings.Repeat("ok  beckon/hub 0.1s\n", 40)},
			{"kind": "data", "data": map[string]any{"files": 14, "tests": 812, "risk": map[string]any{"level": "medium", "why": []string{"migration", "lock"}}}},
			{"kind": "file", "file": map[string]any{"uri": "https://ci.example.com/diff.patch", "name": "diff.patch", "mime_type": "text/x-diff"}},
		},
	})
	form := w.submit(map[string]any{"request": inputRequest(), "title": "What release note should accompany the #142 deploy?"})
	job := w.submit(task())
	w.submit(map[string]any{"title": long})
	win.run(chromedp.Navigate(w.link("alice", "")))
	win.shot("list")
	win.run(chromedp.Navigate(w.dir.ReviewURL(ask)))
	win.shot("ask")
	win.run(chromedp.Navigate(w.dir.ReviewURL(job)))
	win.shot("task")
	win.run(chromedp.Navigate(w.dir.ReviewURL(form)))
	win.shot("form")
	win.typeIn("#f1", "Fixes")
	win.typeIn("#f3", "many")
	win.click(".primary")
	win.shot("form-errors")
	win.run(chromedp.Navigate(w.dir.ReviewURL(ask)))
	win.typeIn("#comment", "Let's get a human eye on the migration first.")
	win.click(`button[name=option][value="2"]`)
	win.shot("decided")
	win.run(chromedp.Navigate(w.dir.ReviewURL("msg_unknown")))
	win.shot("problem")
	win.click(".who button")
	win.shot("signin")
}
