package web_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// What the page looks like: nothing sticks out at either width, and pictures of
// it for whoever looks.
func TestLooks(t *testing.T) {
	browser := startChrome(t)
	for _, width := range []int64{360, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			name := fmt.Sprintf("%d-%s", width, scheme)
			t.Run(name, func(t *testing.T) {
				win := open(t, browser, name, width, withScheme(scheme))
				looks(serve(t), win, win.shot)
			})
		}
	}
}

// axe-core finds nothing to complain of, in light and in dark.
func TestAccessible(t *testing.T) {
	source, err := os.ReadFile(axePath)
	if err != nil {
		t.Skip("axe-core is not installed; run npm ci in channels/web/testdata/axe: ", err)
	}
	browser := startChrome(t)
	for _, scheme := range []string{"light", "dark"} {
		t.Run(scheme, func(t *testing.T) {
			win := open(t, browser, scheme, 360, withScheme(scheme))
			looks(serve(t), win, func(what string) { win.axe(string(source), what) })
		})
	}
	t.Run("without JavaScript", func(t *testing.T) {
		win := open(t, browser, "nojs", 360, withoutJS())
		looks(serve(t), win, func(what string) {
			// The page has been drawn without its scripts; axe itself needs them.
			win.run(scripts(true))
			win.axe(string(source), what)
			win.run(scripts(false))
		})
	})
}

// looks shows every kind of page to whoever looks.
func looks(w *world, win *window, look func(what string)) {
	show := func(what, path string) {
		win.t.Helper()
		win.run(chromedp.Navigate(w.dir.PublicURL + path))
		look(what)
	}
	item := func(what string, fields map[string]any) string {
		win.t.Helper()
		id := w.submit(fields)
		show(what, "/i/"+id)
		return id
	}
	show("signin", "/")
	win.run(chromedp.Navigate(w.link("alice", "")))
	look("list-empty")

	rich := richAsk()
	ask := item("ask", rich)
	item("confirm", map[string]any{"title": "Delete the old bucket?", "request": map[string]any{"mode": "confirm"}, "priority": "urgent", "body": ""})
	form := item("form", map[string]any{"request": inputRequest(), "title": "What release note should accompany the #142 deploy?"})
	job := item("task", task())
	item("notify", map[string]any{"type": "notify", "request": nil, "title": "Nightly digest", "body": "Nothing failed."})
	item("long-title", map[string]any{"title": strings.Repeat("Averylongwordthatnobodywouldwrite", 6)})
	item("rtl", map[string]any{"title": "האם לשחרר את גרסה 2.3 לייצור?", "body": "כל הבדיקות עברו. `orders` ננעלת לכ־40 שניות.", "expires_at": soon(time.Hour), "request": rtlRequest()})
	item("options-100", map[string]any{"title": "Which of these?", "request": manyOptions(100)})
	item("fields-50", map[string]any{"title": "Fill all of this in", "request": manyFields(50)})
	item("steps-50", manySteps(50))
	huge := item("huge-data", hugeData())
	eval(win, chromedp.Evaluate[any](`document.querySelectorAll("details.part").forEach(d => d.open = true)`))
	look("huge-data-open")
	win.run(chromedp.Navigate(w.dir.ReviewURL(huge) + "/part/1"))
	if got := eval(win, chromedp.Text("body")); !strings.Contains(got, "service-399") {
		win.t.Errorf("not all of the data is shown: %d bytes", len(got))
	}

	show("list", "/")
	w.answer(w.submit(map[string]any{"title": "One that Bob answered"}), "bob", 1)
	w.cancel(w.submit(map[string]any{"title": "One that was withdrawn"}))
	show("list-all", "/?show=all")
	show("list-filtered", "/?priority=urgent")

	win.run(chromedp.Navigate(w.dir.ReviewURL(form)))
	win.typeIn("#f1", "Fixes")
	win.typeIn("#f3", "many")
	win.click(".primary")
	look("form-errors")
	win.run(chromedp.SetAttributeValue("#f3", "value", "3"))
	win.typeIn("#f6", "s3cret-value")
	win.click(".primary")
	look("form-decided")

	win.run(chromedp.Navigate(w.dir.ReviewURL(ask)), chromedp.Click(".decline summary"))
	look("ask-decline")
	win.typeIn("#comment", "Let's get a human eye on the migration first.")
	win.click(`button[name=option][value="2"]`)
	look("recorded")
	win.run(chromedp.Navigate(w.dir.ReviewURL(ask)), chromedp.Click("#past summary"))
	look("decided")
	win.run(chromedp.Navigate(w.dir.ReviewURL(job)))
	win.run(chromedp.Click(`input[name=step][value="1"]`))
	win.click(".steps-form button")
	look("task-saved")
	win.click(".primary")
	look("task-done")
	show("list-answered", "/?show=answered")

	gone := w.submit(map[string]any{"title": "One that was withdrawn"})
	w.cancel(gone)
	show("withdrawn", "/i/"+gone)
	brief := w.submit(map[string]any{"title": "One that runs out", "expires_at": soon(300 * time.Millisecond)})
	bare := w.submit(map[string]any{"title": "A form that runs out", "expires_at": soon(300 * time.Millisecond), "request": inputRequest()})
	w.settled(brief)
	w.settled(bare)
	show("expired", "/i/"+brief)
	show("expired-form", "/i/"+bare)
	show("problem", "/i/msg_unknown")

	win.click(".who button")
	win.run(chromedp.Navigate(w.link("carol", "")))
	show("reader", "/i/"+w.submit(map[string]any{"title": "One that others answer", "expires_at": soon(30 * time.Hour)}))
	show("list-reader", "/")
}

// settled waits until a message has ended by itself.
func (w *world) settled(id string) {
	w.t.Helper()
	for end := time.Now().Add(5 * time.Second); w.message(id).Status == "open"; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatal("the message does not expire")
		}
	}
}

func richAsk() map[string]any {
	return map[string]any{
		"expires_at": soon(130 * time.Minute),
		"tags":       []string{"deploy", "migration"},
		"body": "All checks passed. One migration adds an index on `orders` (about 40 s of lock).\n\n" +
			"## Why now\n\n- The [release plan](https://example.com/plan) says so\n- ![chart](https://img.example.com/c.png)\n\n" +
			"| service | change | owner | since | what it does |\n|---|---|---|---|---|\n| web | 2.2 → 2.3 | team-web | 2026-11-30 | serves-everything |\n" +
			"| worker | none | team-jobs | 2026-10-01 | runs-the-queue |\n\n```\ngo test ./...\nok\n```\n\n" +
			strings.Repeat("Averylongwordthatnobodywouldwrite", 6),
		"context": []map[string]any{
			{"kind": "text", "text": "diff --git a/orders.sql b/orders.sql\n+CREATE INDEX CONCURRENTLY orders_by_day ON orders (day);"},
			{"kind": "text", "text": strings.Repeat("ok  beckon/hub 0.1s\n", 40)},
			{"kind": "data", "data": map[string]any{"files": 14, "tests": 812, "risk": map[string]any{"level": "medium", "why": []string{"migration", "lock"}}, "empty": "", "none": nil}},
			{"kind": "file", "file": map[string]any{"uri": "https://ci.example.com/diff.patch", "name": "diff.patch", "mime_type": "text/x-diff"}},
		},
	}
}

func rtlRequest() map[string]any {
	return map[string]any{"mode": "select", "default_on_expire": "b", "options": []map[string]any{
		{"value": "a", "label": "לשחרר עכשיו", "description": "פריסה מיידית."}, {"value": "b", "label": "להמתין לסקירה"},
	}}
}

func manyOptions(n int) map[string]any {
	var options []map[string]any
	for i := range n {
		options = append(options, map[string]any{"value": fmt.Sprint(i), "label": fmt.Sprintf("Choice %d", i+1), "description": "What it would do."})
	}
	return map[string]any{"mode": "select", "options": options}
}

func manyFields(n int) map[string]any {
	props := map[string]any{}
	kinds := []map[string]any{
		{"type": "string", "maxLength": 80, "description": "Short."},
		{"type": "string"},
		{"type": "integer", "minimum": 0, "maximum": 9},
		{"type": "number", "minimum": -1},
		{"type": "boolean"},
		{"type": "string", "enum": []string{"low", "medium", "high"}},
		{"type": "string", "enum": strings.Split("abcdefghij", "")},
		{"type": "string", "format": "date"},
		{"type": "string", "format": "date-time"},
		{"type": "string", "format": "email"},
		{"type": "string", "format": "uri"},
		{"type": "string", "x-ma2h-sensitive": true},
	}
	for i := range n {
		f := map[string]any{"title": fmt.Sprintf("Field %d", i+1)}
		for k, v := range kinds[i%len(kinds)] {
			f[k] = v
		}
		props[fmt.Sprintf("field_%02d", i)] = f
	}
	return map[string]any{"mode": "input", "schema": map[string]any{"type": "object", "properties": props, "required": []string{"field_00", "field_04", "field_06"}}}
}

func manySteps(n int) map[string]any {
	var list []map[string]any
	for i := range n {
		list = append(list, map[string]any{"text": fmt.Sprintf("Step %d of a long list", i+1), "done": i%3 == 0})
	}
	t := task()
	t["action"].(map[string]any)["checklist"] = list
	return t
}

func hugeData() map[string]any {
	data := map[string]any{}
	for i := range 400 {
		data[fmt.Sprintf("service-%03d", i)] = map[string]any{"state": "up", "note": strings.Repeat("long note ", 5)}
	}
	deep := map[string]any{"end": "x"}
	for range 12 {
		deep = map[string]any{"in": deep}
	}
	return map[string]any{"title": "Look at all of this", "context": []map[string]any{{"kind": "data", "data": data}, {"kind": "data", "data": deep}}}
}
