package main

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// phone is the page of the demo's make-believe phone, without scripts.
type phone struct {
	t    *testing.T
	base string
	c    *http.Client
}

// startPhone starts the demo with mail and waits until all four mails are there.
func startPhone(t *testing.T) (*process, *phone) {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, t.TempDir(), []string{"TZ=UTC"}, "exec beckon demo --email --listen 127.0.0.1:"+port)
	page := p.await(t, `http://127\.0\.0\.1:\d+/as/you@phone\.test`)
	f := &phone{t, page, &http.Client{Timeout: patience}}
	f.until(page, `(?s)(<a class="row.*){4}`)
	return p, f
}

// until reads a page until it matches, and returns it.
func (f *phone) until(page, pattern string) string {
	f.t.Helper()
	re := regexp.MustCompile(pattern)
	var body string
	err := retry(func() (err error) {
		if body, err = fetch(f.c, page); err == nil && !re.MatchString(html.UnescapeString(body)) {
			err = errRefused
		}
		return err
	})
	if err != nil {
		f.t.Fatalf("%s never matches %s: %v\n%s", page, pattern, err, body)
	}
	return html.UnescapeString(body)
}

// thread is the page of the thread with a subject.
func (f *phone) thread(subject string) string {
	f.t.Helper()
	list := f.until(f.base, regexp.QuoteMeta(subject))
	for _, row := range regexp.MustCompile(`(?s)<a class="row[^>]*href="(/as/[^"]*)".*?</a>`).FindAllStringSubmatch(list, -1) {
		if strings.Contains(row[0], subject) {
			u, err := url.Parse(f.base)
			if err != nil {
				f.t.Fatal(err)
			}
			return u.Scheme + "://" + u.Host + row[1]
		}
	}
	f.t.Fatalf("no thread %q", subject)
	return ""
}

// send presses a button of the reply box.
func (f *phone) send(thread, text, style, button string) {
	f.t.Helper()
	resp, err := f.c.PostForm(thread, url.Values{"text": {text}, "style": {style}, "case": {button}})
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		f.t.Fatalf("%s %s: %s", text, button, resp.Status)
	}
}

// got reads the texts of the mails of a thread once there are n from the hub.
func (f *phone) got(thread string, n int) []string {
	f.t.Helper()
	page := f.until(thread, `(?s)(class="mail got".*){`+string(rune('0'+n))+`}`)
	var out []string
	for _, m := range regexp.MustCompile(`<li id="(m\d+)" class="mail got">`).FindAllStringSubmatch(page, -1) {
		text := f.until(thread+"?text="+m[1], `(?s)<li id="`+m[1]+`".*?<pre class="words"`)
		words := regexp.MustCompile(`(?s)<li id="` + m[1] + `".*?<pre class="words"[^>]*>(.*?)</pre>`).FindStringSubmatch(text)
		out = append(out, words[1])
	}
	return out
}

// TestDemoEmail plays what a person and mail servers may send back: what is no
// answer leaves the question open and says so; an answer counts once.
func TestDemoEmail(t *testing.T) {
	p, f := startPhone(t)
	ship := f.thread("Ship web-app 2.3.0 to production?")
	last := func(n int) string { all := f.got(ship, n); return all[len(all)-1] }

	f.send(ship, "", "outlook", "")
	if got := last(2); !strings.Contains(got, "1, 2 or 3") {
		t.Errorf("an empty reply gets\n%s", got)
	}
	f.send(ship, "ship it or hold it, I don't know", "gmail", "")
	if got := last(3); !strings.Contains(got, "Nothing has been recorded") {
		t.Errorf("an unclear reply gets\n%s", got)
	}
	f.send(ship, "1", "apple", "other")
	if got := last(4); !strings.Contains(got, "another address") {
		t.Errorf("a reply from another address gets\n%s", got)
	}
	for _, c := range []string{"away", "delayed", "reaction", "forged"} {
		f.send(ship, "", "plain", c)
	}
	f.send(ship, "2\nRead the migration first.", "plain", "twice")
	p.await(t, `you: Hold for review, “Read the migration first\.”`)
	f.until(ship, `Recorded: Hold for review`)

	done := f.thread("Rotate the staging key")
	f.send(done, "done", "gmail", "")
	p.await(t, `(?m)^Rotate the staging key for signed webhooks\n.*you`)
	if strings.Contains(p.text(), `"value": "ship"`) {
		t.Error("something else was recorded as well")
	}
	n := 0
	for _, text := range f.got(ship, 5) {
		n += strings.Count(text, "Recorded: Hold for review")
	}
	if n != 1 {
		t.Errorf("the answer is confirmed %d times", n)
	}
	p.interrupt(t)
}

// TestDemoEmailBrowser opens the phone in a browser, reads the mail, replies "2"
// and sees the confirmation come in.
func TestDemoEmailBrowser(t *testing.T) {
	ctx := startBrowser(t)
	p, f := startPhone(t)
	ship := f.thread("Ship web-app 2.3.0 to production?")
	do := func(actions ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(ctx, actions...); err != nil {
			t.Fatal(err)
		}
	}
	sees := func(js string) {
		t.Helper()
		var page string
		if err := retry(func() error {
			ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](js))
			if err == nil && !ok {
				page, _ = chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText`))
				err = errRefused
			}
			return err
		}); err != nil {
			t.Fatalf("%s: %v\n%s", js, err, page)
		}
	}
	do(chromedp.EmulateViewport(360, 780), chromedp.Navigate(ship))
	const mail = `document.querySelector('.got:last-of-type iframe')?.contentDocument?.body?.innerText`
	sees(mail + `?.includes('To answer, reply to this mail with 1, 2 or 3')`)
	keepPicture(t, ctx, "demo-email-question")
	do(chromedp.SendKeys(chromedp.CSS("#text"), "2"))
	if _, err := chromedp.RunResponse(ctx, chromedp.Click(chromedp.CSS("#reply .send button"))); err != nil {
		t.Fatal(err)
	}
	sees(mail + `?.includes('Recorded: Hold for review')`)
	keepPicture(t, ctx, "demo-email-answered")
	p.await(t, `you: Hold for review, `)
	p.interrupt(t)
}

// keepPicture keeps what the browser shows, if BECKON_SHOTS names a folder.
func keepPicture(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	dir := os.Getenv("BECKON_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600); err != nil {
		t.Fatal(err)
	}
}

// startBrowser starts a headless browser of its own, or skips.
func startBrowser(t *testing.T) context.Context {
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

// TestDemoMailHub: the hub takes mail at a socket, or at a port where the path of
// that would be too long.
func TestDemoMailHub(t *testing.T) {
	for dir, want := range map[string]string{
		"/tmp/x":                            "unix:/tmp/x/mail.sock",
		"/tmp/" + strings.Repeat("x", 85):   "unix:/tmp/" + strings.Repeat("x", 85) + "/mail.sock",
		"/tmp/" + strings.Repeat("x", 85+1): "",
	} {
		at, address, err := demoMailHub(dir)
		if err != nil {
			t.Fatal(err)
		}
		if want == "" && !regexp.MustCompile(`^127\.0\.0\.1:\d+$`).MatchString(address) || want != "" && address != want || strings.TrimPrefix(address, "unix:") != at {
			t.Errorf("%d characters: %s and %s, want %s", len(dir), at, address, want)
		}
	}
}
