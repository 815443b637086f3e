package web_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"beckon/hub"

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
	var posts atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			posts.Add(1)
		}
		mux.ServeHTTP(rw, r)
	}))
	w := buildWorld(t, srv.URL, true)
	w.posts = &posts
	t.Cleanup(func() { // before the world ends; streams end with the server
		if err := srv.Config.Shutdown(context.Background()); err != nil {
			t.Errorf("shut down: %v", err)
		}
		srv.Close()
	})
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
	ctx, cancel = context.WithTimeout(ctx, 3*time.Minute)
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

// axePath is where `npm ci` in testdata/axe puts axe-core.
const axePath = "testdata/axe/node_modules/axe-core/axe.min.js"

// axe runs axe-core over the page and reports what it finds.
func (w *window) axe(source, what string) {
	w.t.Helper()
	found := eval(w, chromedp.Evaluate[[]string](source+`;
		axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.map(v =>
			v.impact + " " + v.id + ": " + v.help + "\n" + v.nodes.map(n => n.html + "\n" + n.failureSummary).join("\n")))`, chromedp.EvalAwaitPromise))
	for _, f := range found {
		w.t.Errorf("%s: %s", what, f)
	}
}

// withScheme shows pages in light or dark.
func withScheme(scheme string) chromedp.Action[chromedp.Void] {
	return tell(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
}

// withoutJS turns scripts off, as far as the page goes.
func withoutJS() chromedp.Action[chromedp.Void] { return scripts(false) }

// scripts lets the pages that are opened from now on run scripts, or not.
func scripts(on bool) chromedp.Action[chromedp.Void] {
	return tell(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
}

// until waits for a script's expression to become true.
func (w *window) until(js, why string) {
	w.t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(30 * time.Millisecond) {
		if eval(w, chromedp.Evaluate[bool](`Boolean(`+js+`)`)) {
			return
		}
	}
	w.t.Fatalf("%s: never happened; the page says\n%s", why, eval(w, chromedp.Text(chromedp.CSS("body"))))
}
