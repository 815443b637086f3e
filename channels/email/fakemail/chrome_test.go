package fakemail_test

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	gomail "github.com/wneessen/go-mail"

	"beckon/channels/email/fakemail"
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
	ctx, cancel = context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// window is a browser window in which a person acts.
type window struct {
	t   *testing.T
	ctx context.Context
}

func (w *window) run(actions ...chromedp.Action[chromedp.Void]) {
	w.t.Helper()
	if err := chromedp.Do(w.ctx, actions...); err != nil {
		w.t.Fatal(err)
	}
}

func eval[T any](w *window, js string) T {
	w.t.Helper()
	v, err := chromedp.Run(w.ctx, chromedp.Evaluate[T](js))
	if err != nil {
		w.t.Fatalf("%s: %v", js, err)
	}
	return v
}

// until waits until something is true on the page.
func (w *window) until(js string) {
	w.t.Helper()
	for end := time.Now().Add(30 * time.Second); !eval[bool](w, js); {
		if time.Now().After(end) {
			w.t.Fatalf("still not: %s\n%s", js, eval[string](w, `document.body.innerText`))
		}
		w.run(chromedp.Sleep(20 * time.Millisecond))
	}
}

// click presses what sel names and waits for the page that it leads to.
func (w *window) click(sel string) {
	w.t.Helper()
	if _, err := chromedp.RunResponse(w.ctx, chromedp.Click(chromedp.CSS(sel))); err != nil {
		w.t.Fatalf("click %s: %v", sel, err)
	}
}

// clickInFrame presses what is in a mail, as a mouse does: without a person's
// press, a mail can't lead away.
func (w *window) clickInFrame(frame, sel string) {
	w.t.Helper()
	at := eval[[]float64](w, `(() => {
		const f = document.querySelector('`+frame+`'), a = f.contentDocument.querySelector('`+sel+`');
		a.scrollIntoView({block: 'center'});
		const x = f.getBoundingClientRect(), y = a.getBoundingClientRect();
		return [x.left + f.clientLeft + y.left + y.width / 2, x.top + f.clientTop + y.top + y.height / 2];
	})()`)
	w.run(chromedp.MouseClickXY(at[0], at[1]))
}

// faults lists what is wrong with how a page looks: what is wider than the
// window, and text with less contrast than WCAG 2.2 AA asks for (4.5:1).
const faults = `(() => {
	const out = [];
	const over = document.documentElement.scrollWidth - document.documentElement.clientWidth;
	if (over > 0) out.push(over + ' pixels too wide');
	const rgb = s => s.match(/[\d.]+/g).map(Number);
	const lum = c => { const [r, g, b] = c.map(v => (v /= 255, v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)); return .2126 * r + .7152 * g + .0722 * b; };
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n; n = walk.nextNode();) {
		if (!n.data.trim() || !n.parentElement.checkVisibility()) continue;
		let behind = n.parentElement, bg;
		for (; behind; behind = behind.parentElement) {
			bg = rgb(getComputedStyle(behind).backgroundColor);
			if (bg.length === 3 || bg[3] > 0) break;
		}
		const a = lum(rgb(getComputedStyle(n.parentElement).color).slice(0, 3)), b = lum(bg.slice(0, 3));
		const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
		if (ratio < 4.5) out.push(ratio.toFixed(2) + ':1 for ' + n.data.trim().slice(0, 40));
	}
	return out.join('; ');
})()`

// look checks how the page looks. When BECKON_SHOTS names a folder, a picture is
// kept there.
func (w *window) look(name string) {
	w.t.Helper()
	if wrong := eval[string](w, faults); wrong != "" {
		w.t.Errorf("%s: %s", name, wrong)
	}
	dir := os.Getenv("BECKON_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(w.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "fakemail-"+name+".png"), png, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// confirmations is a hub that confirms each reply in the thread of the question,
// as the hub does, but by hand.
func confirmations(t *testing.T, smtpAddr func() string) func(taken) error {
	return func(got taken) error {
		if got.from == "" {
			return nil
		}
		m := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
		for _, err := range []error{m.EnvelopeFrom(verp), m.FromFormat("deploybot (via Beckon)", self), m.AddToFormat("Alice Ng", alice), m.ReplyToFormat("deploybot", token)} {
			if err != nil {
				return err
			}
		}
		m.Subject("Re: [Q-7F3K2M] Ship web-app 2.3 to production?")
		m.SetDate()
		m.SetMessageIDWithValue("q-101.r-alice." + strconv.FormatInt(time.Now().UnixNano(), 36) + "@hub.test")
		m.SetGenHeader("In-Reply-To", "<q-101.r-alice.1@hub.test>")
		m.SetGenHeader("References", "<q-101.r-alice.1@hub.test>")
		m.SetBodyString(gomail.TypeTextPlain, golden(t, "recorded.txt"))
		m.AddAlternativeString(gomail.TypeTextHTML, golden(t, "recorded.html"))
		return deliver(context.Background(), smtpAddr(), m)
	}
}

// TestInBrowser: with scripts, mail comes in by itself and disturbs nobody, frames
// are as high as their mail, a mail can't run anything, and all of it looks right
// on a phone and on a desk, light and dark.
func TestInBrowser(t *testing.T) {
	w := &window{t, startChrome(t)}
	var s *fakemail.Server
	h, addr := startHub(t, "tcp", true, confirmations(t, func() string { return s.Addr() }))
	s = start(t, fakemail.Options{Hub: addr, AuthservID: "mx.hub.test"})
	srv := httptest.NewServer(s.Handler())
	t.Cleanup(func() { _ = s.Close(); srv.Close() })

	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{360, 1280} {
			name := strconv.FormatInt(width, 10) + "-" + scheme
			w.run(chromedp.EmulateViewport(width, 800), media(scheme), chromedp.Navigate(srv.URL+"/as/"+alice))
			if len(s.Mails(alice)) == 0 {
				w.look("nothing-" + name)
				// Mail comes in while the list is open.
				send(t, s, question(t, func(m *gomail.Msg) {
					m.SetBodyString(gomail.TypeTextPlain, golden(t, "ask-select.txt"))
					m.AddAlternativeString(gomail.TypeTextHTML, strings.Replace(golden(t, "ask-select.html"), "</body>", `<script>parent.document.title='run'</script><img src="x" onerror="parent.document.title='run'"></body>`, 1))
				}))
				for _, file := range []string{"notify", "ask-hebrew", "remind-task"} {
					send(t, s, question(t, other(t, file)))
				}
			}
			w.until(`document.querySelectorAll('.row').length === 4`)
			w.look("list-" + name)
			w.click(`a.row[href$="m1"]`)
			w.until(`[...document.querySelectorAll('iframe')].filter(f => f.clientWidth).every(f => f.contentDocument && f.contentDocument.body && f.clientHeight === f.contentDocument.documentElement.scrollHeight)`)
			if eval[string](w, `document.title`) == "run" {
				t.Error("a mail has run a script")
			}
			if h := eval[int](w, `document.querySelector('#m1 iframe').clientHeight`); h < 500 {
				t.Errorf("%s: the mail is %d pixels high", name, h)
			}
			w.look("thread-" + name)
		}
	}

	// What is being written stays when mail comes in.
	w.run(chromedp.SendKeys(chromedp.CSS(`#text`), "half a rep"))
	send(t, s, question(t, func(m *gomail.Msg) {
		m.SetMessageIDWithValue("q-101.r-alice.2@hub.test")
		m.SetGenHeader("References", "<q-101.r-alice.1@hub.test>")
	}))
	w.until(`document.querySelectorAll('#mails > .got').length === 2`)
	w.run(chromedp.SendKeys(chromedp.CSS(`#text`), "ly"))
	if got := eval[string](w, `document.getElementById('text').value`); got != "half a reply" {
		t.Errorf("what was being written is now %q", got)
	}

	// The reply is sent, and its confirmation comes in.
	w.click(`#reply .send button`)
	w.until(`document.querySelectorAll('#mails > .sent .state').length === 1`)
	w.until(`document.querySelectorAll('#mails > .got').length === 3`)
	w.until(`document.querySelector('#mails > .got:last-child iframe').contentDocument.body.innerText.includes('Recorded')`)
	if got := h.all(); len(got) != 1 || !strings.Contains(string(got[0].raw), "half a reply") {
		t.Errorf("the hub got %+v", got)
	}
	for _, c := range []string{"away", "bounced"} {
		w.run(chromedp.Click(chromedp.CSS(`.cases summary`)))
		if c == "away" {
			w.look("cases-1280-dark")
		}
		w.click(`button[value=` + c + `]`)
	}
	w.look("after-1280-dark")
	w.run(chromedp.EmulateViewport(360, 800), media("light"), chromedp.Click(chromedp.CSS(`.cases summary`)))
	w.look("after-360-light")

	// A button in the mail begins another.
	w.run(chromedp.Navigate(srv.URL + "/as/" + alice + "/m1"))
	eval[bool](w, `document.querySelector('#m1 details').open = true`)
	w.until(`document.querySelector('#m1 iframe').contentDocument.querySelectorAll('a[href*="/new?"]').length === 3`)
	w.clickInFrame(`#m1 iframe`, `a[href*="body=hold"]`)
	w.until(`location.pathname.endsWith('/new') && document.getElementById('text')?.value === 'hold'`)
	w.look("new-360-light")
}

// other turns the question into another mail that the hub sends.
func other(t *testing.T, file string) func(*gomail.Msg) {
	return func(m *gomail.Msg) {
		subject, _, _ := strings.Cut(strings.TrimPrefix(raw(t, file+".txt"), "Subject: "), "\n")
		m.Subject(subject)
		m.SetMessageIDWithValue(file + "@hub.test")
		m.SetBodyString(gomail.TypeTextPlain, golden(t, file+".txt"))
		m.AddAlternativeString(gomail.TypeTextHTML, golden(t, file+".html"))
	}
}

func raw(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "templates", "testdata", "email", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func media(scheme string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	})
}
