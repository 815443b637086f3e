package web_test

import (
	"fmt"
	"testing"
	"time"

	"beckon/hub/ma2h"

	"github.com/chromedp/chromedp"
)

// Every mode that runs out while its page is open refuses what is sent then,
// and shows afterwards what became of it; with JavaScript and without.
func TestBrowserExpired(t *testing.T) {
	browser := startChrome(t)
	for _, js := range []bool{true, false} {
		t.Run(fmt.Sprintf("javascript=%v", js), func(t *testing.T) {
			w := serve(t)
			var setup []chromedp.Action[chromedp.Void]
			if !js {
				setup = append(setup, withoutJS())
			}
			win := open(t, browser, "expired", 360, setup...)
			win.run(chromedp.Navigate(w.link("alice", "")))
			for name, fields := range map[string]map[string]any{
				"select":  {},
				"input":   {"request": inputRequest()},
				"confirm": {"request": map[string]any{"mode": "confirm", "default_on_expire": "deny"}},
				"task":    task(),
			} {
				fields["title"], fields["expires_at"] = "Runs out: "+name, soon(5*time.Second)
				id := w.submit(fields)
				win.run(chromedp.Navigate(w.dir.ReviewURL(id)))
				win.want("Runs out: " + name)
				win.deafen()
				if name == "input" { // what the form itself demands, so that it is sent
					win.typeIn("#f1", "Fixes")
					win.typeIn("#f3", "3")
				}
				for w.message(id).Status == ma2h.Open {
					time.Sleep(20 * time.Millisecond)
				}
				sel := ".primary"
				if name == "select" || name == "confirm" {
					sel = `button[name=option][value="1"]`
				}
				win.click(sel)
				win.want("Your click changed nothing.", "nobody answered")
				win.ended(w, id, ma2h.Expired)

				win.run(chromedp.Navigate(w.dir.ReviewURL(id)))
				win.want("Expired at")
				if eval(win, chromedp.Evaluate[bool](`document.querySelector("form[action*='/i/'] .primary, button[name=option]") !== null`)) {
					t.Errorf("%s: the page of an expired message still has a form to answer", name)
				}
			}
		})
	}
}
