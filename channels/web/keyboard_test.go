package web_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Somebody without a mouse walks through a page in the order in which it is
// read, sees where they are, and answers.
func TestKeyboard(t *testing.T) {
	browser := startChrome(t)
	w := serve(t)
	win := open(t, browser, "keyboard", 360)
	id := w.submit(nil)
	win.run(chromedp.Navigate(w.link("alice", id)))
	const here = `(() => {
		const el = document.activeElement;
		const style = getComputedStyle(el);
		const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 ? "" : " (not seen)";
		return (el.labels && el.labels[0] || el).innerText.trim().split("\n")[0] + seen;
	})()`
	var walk []string
	for range 10 {
		win.run(chromedp.KeyEvent(kb.Tab))
		walk = append(walk, eval(win, chromedp.Evaluate[string](here)))
	}
	want := "Skip to the content, Sign out, Ship to prod now, Hold for review, Abort the change, Comment (optional), Decline, History"
	if got := strings.Join(walk[:8], ", "); got != want {
		t.Errorf("the walk is %s\nwant %s", got, want)
	}

	// The skip link leads past the header.
	win.run(chromedp.Navigate(w.dir.ReviewURL(id)), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent(kb.Tab))
	if got := eval(win, chromedp.Evaluate[string](here)); got != "Ship to prod now" {
		t.Errorf("after the skip link comes %q", got)
	}
	win.run(chromedp.KeyEvent(kb.Tab))
	if _, err := chromedp.RunResponse(win.ctx, chromedp.KeyEvent(kb.Enter)); err != nil {
		t.Fatal(err)
	}
	win.want("Recorded.", "Hold for review", "You answered at")
}
