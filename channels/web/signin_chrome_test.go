package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"beckon/channels/web"
	"beckon/hub"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// The sign-in page in a real browser with a real provider: from a message's
// address to an answer, and what each page on the way looks like.
func TestSignInBrowser(t *testing.T) {
	browser := startChrome(t)
	for _, width := range []int64{360, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			name := fmt.Sprintf("%d-%s", width, scheme)
			t.Run(name, func(t *testing.T) {
				w := serveSignIn(t)
				win := open(t, browser, name, width, tell(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
					Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
				}))
				signInLooks(w, win)
			})
		}
	}
}

func serveSignIn(t *testing.T) *world {
	t.Helper()
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	w := newWorld(t, srv.URL)
	issuer := startProvider(t, srv.URL+"/oidc/callback", users{
		"alice": account("alice", "alice.ng@example.com", true),
		"zoe":   account("zoe", "zoe@example.com", true),
	})
	w.useLogin(loginYAML(issuer))
	w.hub.SetChannels(map[string]hub.Channel{web.Name: w.page, "email": new(dm)})
	for pattern, h := range w.page.(hub.HTTPHandler).Handlers() {
		mux.Handle(pattern, h)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.page.(hub.Runner).Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return w
}

func signInLooks(w *world, win *window) {
	id := w.submit(nil)
	at := func(user string) {
		win.typeIn("input[name=username]", user)
		win.typeIn("input[name=password]", "verysecure")
		win.click("button")
	}
	win.run(chromedp.Navigate(w.dir.ReviewURL(id)))
	win.want("Sign in", "Continue with Example Login", "Send me a link")
	win.shot("signin-offer")
	win.typeIn("#who", "alice.ng@example.com")
	win.click(".sendlink button")
	win.want("is known here, a link is on its way")
	win.shot("signin-sent")

	win.run(chromedp.Navigate(w.dir.ReviewURL(id)))
	win.click("a.primary")
	at("zoe")
	win.want("This account opens nothing here")
	win.shot("signin-stranger")
	win.click("a.primary")
	at("alice")
	win.want("Ship web-app 2.3 to production?")
	win.click(`button[name=option][value="2"]`)
	win.want("You answered at")

	win.run(chromedp.Navigate(w.link("bob", id)))
	win.want("You are now signed in as Bob Roy", "Until now Alice Ng was signed in")
	win.shot("signin-switched")
	win.click("a.primary")
	win.want("Ship web-app 2.3 to production?", "Hold for review", "Alice Ng")

	win.run(chromedp.Navigate(web.Link(w.desk.Keys(web.LinkKeys), w.dir.PublicURL, "bob", id, time.Now().Add(-time.Minute))))
	win.want("This link has run out", "Continue with Example Login")
	win.shot("signin-expired")
	win.run(chromedp.Navigate(w.dir.PublicURL + "/oidc/callback?state=x"))
	win.want("This sign-in can’t be finished")
	win.shot("signin-stale")
}
