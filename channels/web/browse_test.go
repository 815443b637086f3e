package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"beckon/hub/ma2h"

	"github.com/chromedp/chromedp"
)

// soon is an expires_at.
func soon(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339Nano) }

// People answer in a real browser, with JavaScript and without: every mode
// answered and declined.
func TestBrowser(t *testing.T) {
	browser := startChrome(t)
	for _, js := range []bool{true, false} {
		t.Run(fmt.Sprintf("javascript=%v", js), func(t *testing.T) {
			w := serve(t)
			var setup []chromedp.Action[chromedp.Void]
			if !js {
				setup = append(setup, withoutJS())
			}
			win := open(t, browser, "flow", 360, setup...)
			win.run(chromedp.Navigate(w.link("alice", "")))
			answerAll(w, win)
			declineAll(w, win)
			refusedAll(w, win)
			win.click(".who button")
			win.want("Sign in by your link")
		})
	}
}

// deafen makes the page close its stream.
func (w *window) deafen() {
	w.t.Helper()
	eval(w, chromedp.Evaluate[bool](`dispatchEvent(new Event("pagehide"))`))
}

func (w *window) ended(of *world, id string, want ma2h.Status) {
	w.t.Helper()
	if m := of.message(id); m.Status != want {
		w.t.Errorf("%s is %s, want %s", m.Envelope.Title, m.Status, want)
	}
}

func answerAll(w *world, win *window) {
	win.t.Helper()
	ask, form, confirm, job := w.submit(nil), w.submit(map[string]any{"request": inputRequest()}),
		w.submit(map[string]any{"request": map[string]any{"mode": "confirm"}, "title": "Delete the old bucket?"}), w.submit(task())

	win.run(chromedp.Navigate(w.dir.PublicURL + "/"))
	win.want("What waits for you", "Delete the old bucket?")

	win.run(chromedp.Navigate(w.dir.ReviewURL(ask)))
	win.typeIn("#comment", "After lunch.")
	win.click(`button[name=option][value="2"]`)
	win.want("Recorded.", "Hold for review", "You answered at", "After lunch.")
	win.run(chromedp.Navigate(w.dir.ReviewURL(ask)))
	if got := eval(win, chromedp.Text("main")); strings.Contains(got, "Recorded") || !strings.Contains(got, "You answered at") {
		win.t.Errorf("later the page says\n%s", got)
	}

	win.run(chromedp.Navigate(w.dir.ReviewURL(form)))
	win.typeIn("#f1", "Fixes")
	win.run(chromedp.Click(chromedp.CSS(`input[name=f2][value=low]`)), chromedp.Click(chromedp.CSS(`input[name=f4][value=true]`)))
	win.typeIn("#f3", "many")
	win.typeIn("#f6", "s3cret-value")
	win.click(".primary")
	win.want("Mend this and send it again", "must be a number")
	// The browser moves the focus when it next draws the page.
	win.until(`document.activeElement.className === "notice bad"`, "the list of what to mend gets the focus")
	win.run(chromedp.SetAttributeValue(chromedp.CSS("#f3"), "value", "3"))
	win.typeIn("#f6", "s3cret-value")
	win.click(".primary")
	win.want("Fixes", "••••", "You answered")

	win.run(chromedp.Navigate(w.dir.ReviewURL(confirm)))
	win.click(`button[name=option][value="1"]`)
	win.want("You answered")

	win.run(chromedp.Navigate(w.dir.ReviewURL(job)), chromedp.Click(`input[name=step][value="1"]`))
	win.click(".steps-form button")
	win.want("Progress saved.")
	win.run(chromedp.Click(`input[name=step][value="2"]`))
	win.click(".primary")
	win.want("You marked it done")

	for _, id := range []string{ask, form, confirm} {
		win.ended(w, id, ma2h.Answered)
	}
	win.ended(w, job, ma2h.Completed)
}

func declineAll(w *world, win *window) {
	win.t.Helper()
	for name, fields := range map[string]map[string]any{
		"select": nil, "input": {"request": inputRequest()}, "confirm": {"request": map[string]any{"mode": "confirm"}}, "task": task(),
	} {
		id := w.submit(fields)
		win.run(chromedp.Navigate(w.dir.ReviewURL(id)), chromedp.Click(chromedp.CSS(".decline summary")))
		win.typeIn("#reason", "Not mine: "+name)
		win.click(".decline button")
		if win.want("Not mine: " + name); name == "task" {
			win.want("You said that it can't be done")
			win.ended(w, id, ma2h.Dismissed)
		} else {
			win.want("You declined")
			win.ended(w, id, ma2h.Declined)
		}
	}
}

// refusedAll is what somebody sees who comes too late, or may not answer.
func refusedAll(w *world, win *window) {
	win.t.Helper()
	// Nothing tells this page of the end: a stream is closed to it.
	late := w.submit(map[string]any{"title": "One that runs out", "expires_at": soon(5 * time.Second)})
	win.run(chromedp.Navigate(w.dir.ReviewURL(late)))
	win.want("then: Hold for review")
	win.deafen()
	win.typeIn("#comment", "Ship it.")
	time.Sleep(5100 * time.Millisecond)
	win.click(`button[name=option][value="1"]`)
	win.want("nobody answered. Hold for review was applied.", "Your click changed nothing.", "What you had typed, not recorded")
	win.ended(w, late, ma2h.Expired)

	taken := w.submit(nil)
	win.run(chromedp.Navigate(w.dir.ReviewURL(taken)))
	win.deafen()
	w.answer(taken, "bob", 3)
	win.click(`button[name=option][value="1"]`)
	win.want("Bob Roy answered Abort the change", "Your click changed nothing.")

	gone := w.submit(map[string]any{"title": "One that is withdrawn"})
	win.run(chromedp.Navigate(w.dir.ReviewURL(gone)))
	win.deafen()
	w.cancel(gone)
	win.click(`button[name=option][value="1"]`)
	win.want("Withdrawn by deploybot/dev-team", "Your click changed nothing.")
	win.ended(w, gone, ma2h.Cancelled)
}
