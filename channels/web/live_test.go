package web_test

import (
	"strings"
	"testing"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// top is how far from the top of the window something stands.
func (w *window) top(sel string) float64 {
	w.t.Helper()
	return eval(w, chromedp.Evaluate[float64](`document.querySelector('`+sel+`').getBoundingClientRect().top`))
}

// A page keeps itself up to date, and moves nothing but the bar and the state.
func TestLive(t *testing.T) {
	browser := startChrome(t)
	w := serve(t)
	win := open(t, browser, "live", 360)
	win.run(chromedp.Navigate(w.link("alice", "")))
	// visit opens a page and marks it. Whether its stream is open yet does not
	// matter: it begins with where the message stands.
	visit := func(t *testing.T, path string) {
		t.Helper()
		win.t = t
		win.run(chromedp.Navigate(w.dir.PublicURL + path))
		eval(win, chromedp.Evaluate[bool](`window.marked = true`))
	}
	same := func(t *testing.T) {
		t.Helper()
		if !eval(win, chromedp.Evaluate[bool](`window.marked === true`)) {
			t.Error("the page was loaded again")
		}
	}

	t.Run("somebody else answers", func(t *testing.T) {
		id := w.submit(map[string]any{"expires_at": soon(time.Hour)})
		visit(t, "/i/"+id)
		win.typeIn("#comment", "Let me think.")
		before := win.top("h1")
		w.answer(id, "bob", 2)
		win.until(`document.querySelector(".decided")`, "the decision")
		win.want("Hold for review", "Bob Roy answered at", "By bob.", "Chosen", "What you had typed, not recorded")
		if got := eval(win, chromedp.Value("#lost")); got != "Let me think." {
			t.Errorf("kept %q of what was typed", got)
		}
		if got := eval(win, chromedp.TextContent("#say")); !strings.HasPrefix(got, "Bob Roy answered Hold for review at") {
			t.Errorf("a screen reader hears %q", got)
		}
		if eval(win, chromedp.Evaluate[bool](`document.querySelector("button[name=option], .bar") !== null`)) {
			t.Error("there is still something to press, or a bar")
		}
		if after := win.top("h1"); after != before {
			t.Errorf("the question moved from %v to %v", before, after)
		}
		same(t)
		win.shot("answered")
	})

	t.Run("what is looked at stays", func(t *testing.T) {
		id := w.submit(richAsk())
		visit(t, "/i/"+id)
		eval(win, chromedp.Evaluate[bool](`(document.querySelector("#respond").scrollIntoView({behavior: "instant"}), true)`))
		choice, footer := win.top("#respond .choice"), win.top("footer")
		w.answer(id, "bob", 2)
		win.until(`document.querySelector(".decided")`, "the decision")
		time.Sleep(100 * time.Millisecond)
		if c, f := win.top("#respond .choice"), win.top("footer"); c-choice > 2 || choice-c > 2 || f-footer > 2 || footer-f > 2 {
			t.Errorf("the choices moved from %v to %v, what is below from %v to %v", choice, c, footer, f)
		}
		same(t)
	})

	t.Run("somebody else saves progress", func(t *testing.T) {
		id := w.submit(task())
		visit(t, "/i/"+id)
		win.run(chromedp.Click(`input[name=step][value="1"]`))
		win.typeIn("#comment", "Key 7.")
		list := w.message(id).Envelope.Action.Checklist
		done := append([]ma2h.ChecklistItem{}, list...)
		done[1].Done = true
		if o, err := w.desk.Answer(t.Context(), hub.Answer{MessageID: id, Actor: "human:bob", Verb: hub.VerbTick, Checklist: done}); err != nil || o.Kind != hub.Accepted {
			t.Fatal(o, err)
		}
		win.until(`document.querySelector("input[name=step][value='2']").checked`, "the other's tick")
		if !eval(win, chromedp.Evaluate[bool](`document.querySelector("input[name=step][value='1']").checked`)) {
			t.Error("the reader's own tick is lost")
		}
		if got := eval(win, chromedp.Value("#comment")); got != "Key 7." {
			t.Errorf("the comment is now %q", got)
		}
		win.click(".primary")
		win.want("You marked it done", "Key 7.")
		if m := w.message(id); !m.Checklist[1].Done {
			t.Error("the other's tick is lost")
		}
	})

	t.Run("time runs out", func(t *testing.T) {
		id := w.submit(map[string]any{"expires_at": soon(2 * time.Second)})
		visit(t, "/i/"+id)
		win.until(`document.querySelector(".decided.expired")`, "the expiry")
		win.want("nobody answered. Hold for review was applied.", "Applied")
		same(t)
	})

	t.Run("the agent withdraws", func(t *testing.T) {
		id := w.submit(map[string]any{"request": inputRequest()})
		visit(t, "/i/"+id)
		win.typeIn("#f1", "Fixes")
		win.typeIn("#f6", "s3cret-value")
		w.cancel(id)
		win.until(`document.querySelector(".decided.cancelled")`, "the withdrawal")
		if got := eval(win, chromedp.Value("#lost")); got != "Release note: Fixes" {
			t.Errorf("kept %q of what was typed", got)
		}
	})

	t.Run("a change before the stream is open", func(t *testing.T) {
		id := w.submit(nil)
		win.t = t
		win.run(chromedp.Navigate(w.dir.ReviewURL(id)))
		win.deafen()
		w.answer(id, "bob", 1)
		eval(win, chromedp.Evaluate[bool](`dispatchEvent(new Event("pageshow"))`))
		win.until(`document.querySelector(".decided")`, "the decision")
	})

	t.Run("the countdown runs", func(t *testing.T) {
		id := w.submit(map[string]any{"expires_at": soon(130*time.Minute + 30*time.Second)})
		visit(t, "/i/"+id)
		win.want("(in 2 h 10 min)")
		hour := `{ const now = Date.now; Date.now = () => now() + 3600e3; document.dispatchEvent(new Event("visibilitychange")); true }`
		eval(win, chromedp.Evaluate[bool](hour))
		win.want("(in 1 h 10 min)")
		eval(win, chromedp.Evaluate[bool](hour))
		win.want("(in 10 min)")
		eval(win, chromedp.Evaluate[bool](hour))
		win.want("(now)")
	})

	t.Run("the stream fails", func(t *testing.T) {
		id := w.submit(nil)
		visit(t, "/i/"+id)
		win.run(tell(network.ClearBrowserCookies, cdp.Empty{}))
		w.answer(id, "bob", 1)
		win.until(`document.getElementById("toast").textContent.includes("stopped updating by itself")`, "the hint")
		win.run(chromedp.Navigate(w.link("alice", "")))
	})

	t.Run("a form is sent once", func(t *testing.T) {
		id := w.submit(map[string]any{"request": inputRequest()})
		visit(t, "/i/"+id)
		win.typeIn("#f1", "Fixes")
		win.typeIn("#f3", "3")
		before := w.posts.Load()
		press := `document.querySelector("#f1").dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", ctrlKey: true, bubbles: true}));`
		eval(win, chromedp.Evaluate[bool](press+press+`true`))
		win.until(`document.querySelector(".decided")`, "the answer")
		if n := w.posts.Load() - before; n != 1 {
			t.Errorf("%d forms were sent", n)
		}
	})
}

// The list stays where it is: rows say what became of them, and what is new is
// offered.
func TestLiveList(t *testing.T) {
	browser := startChrome(t)
	w := serve(t)
	first, second := w.submit(map[string]any{"title": "The first"}), w.submit(map[string]any{"title": "The second"})
	win := open(t, browser, "live", 360)
	win.run(chromedp.Navigate(w.link("alice", "")))
	row := func(id string) string { return `[data-id="` + id + `"]` }
	before := win.top(row(first))

	w.answer(second, "bob", 2)
	win.until(`document.querySelector('`+row(second)+`').textContent.includes("Bob Roy answered Hold for review")`, "the row's end")
	w.submit(map[string]any{"title": "The third"})
	win.until(`document.getElementById("toast").textContent.includes("1 new.")`, "the offer")
	if after := win.top(row(first)); after != before {
		t.Errorf("the first row moved from %v to %v", before, after)
	}
	if strings.Contains(eval(win, chromedp.Text("main")), "The third") {
		t.Error("a row pushed itself in")
	}
	win.shot("list-toast")
	win.click("#toast a")
	win.want("The third", "Lately")
	win.shot("list-live")
}
