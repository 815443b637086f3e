package web_test

import (
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestListPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	for range 53 {
		w.submit(map[string]any{"title": "Open one"})
	}
	for range 23 {
		w.submit(map[string]any{"title": "News", "type": "notify", "request": nil})
	}
	v := w.visit("alice", "")
	count := func(r reply, s string) int { return strings.Count(r.text(), s) }
	first := v.get("/")
	if o, n := count(first, "Open one"), count(first, "News"); o != 50 || n != 20 {
		t.Errorf("the first page has %d open and %d news", o, n)
	}
	next := func(r reply, label string) reply {
		t.Helper()
		i := strings.Index(r.body, ">"+label)
		if i < 0 {
			t.Fatalf("no link %q", label)
		}
		j := strings.LastIndex(r.body[:i], `href="`)
		href, _, _ := strings.Cut(r.body[j+6:], `"`)
		return v.get(strings.ReplaceAll(href, "&amp;", "&"))
	}
	if o := count(next(first, "Older ones"), "Open one"); o != 3 {
		t.Errorf("the second page has %d open ones, want 3", o)
	}
	if n := count(next(first, "Earlier"), "News"); n != 3 {
		t.Errorf("the second page has %d news, want 3", n)
	}
}

// titles are the rows of a list, sorted: within a millisecond, the order is not
// that of the submits.
func titles(r reply) string {
	var out []string
	for _, part := range strings.Split(r.body, `<span class="what" dir="auto">`)[1:] {
		s, _, _ := strings.Cut(part, "<")
		out = append(out, html.UnescapeString(s))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func TestListViews(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	agent := func(project string) map[string]any {
		return map[string]any{"id": "deploybot/dev-team", "run_id": "run_1", "runtime": "cli", "project": project}
	}
	w.submit(map[string]any{"title": "one", "agent": agent("api"), "tags": []string{"db", "night"}, "priority": "urgent"})
	two := w.submit(map[string]any{"title": "two", "agent": agent("web"), "tags": []string{"db"}})
	three := w.submit(map[string]any{"title": "three", "agent": agent("web"), "priority": nil})
	four := w.submit(map[string]any{"title": "four", "agent": agent("api")})
	w.submit(map[string]any{"title": "five", "type": "notify", "request": nil, "agent": agent("a&b")})
	w.answer(two, "alice", 1)
	w.answer(three, "bob", 1)
	w.cancel(four)
	tests := []struct{ query, alice, carol string }{
		{"", "five, four, one, three, two", "five, four, one, three, two"},
		{"?show=open", "one", "one"},
		{"?show=answered", "two", ""},
		{"?show=all", "five, four, one, three, two", "five, four, one, three, two"},
		{"?show=nonsense", "five, four, one, three, two", "five, four, one, three, two"},
		{"?agent=deploybot/dev-team", "five, four, one, three, two", "five, four, one, three, two"},
		{"?agent=other", "", ""},
		{"?project=web", "three, two", "three, two"},
		{"?project=a%26b", "five", "five"},
		{"?tag=db", "one, two", "one, two"},
		{"?tag=db&priority=urgent", "one", "one"},
		{"?priority=normal&show=all", "three", "three"},
		{"?show=answered&project=api", "", ""},
	}
	alice, carol := w.visit("alice", ""), w.visit("carol", "")
	for _, tt := range tests {
		t.Run(tt.query, func(t *testing.T) {
			if got := titles(alice.get("/" + tt.query)); got != tt.alice {
				t.Errorf("alice sees %q, want %q", got, tt.alice)
			}
			if got := titles(carol.get("/" + tt.query)); got != tt.carol {
				t.Errorf("carol sees %q, want %q", got, tt.carol)
			}
		})
	}

	page := alice.get("/?tag=db&show=all")
	for _, want := range []string{
		`<option value="db" selected>db</option>`, `<option value="night">night</option>`, `<option value="a&amp;b">a&amp;b</option>`,
		`href="/?show=answered&amp;tag=db"`, `<a class="more" href="/?show=all">Clear the filter</a>`, `<input type="hidden" name="show" value="all">`,
	} {
		if !strings.Contains(page.body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	wantText(t, alice.get("/?tag=nope"), "Nothing here fits the filter.")
	wantText(t, carol.get("/"), "Nothing waits for you now.", "Others are asked", "asked of oncall (Alice Ng, Bob Roy)")
	wantText(t, carol.get("/?show=answered"), "You have answered nothing yet.")
	wantNoText(t, alice.get("/"), "Others are asked")
}

// A search that finds little ends all the same, says how far it looked, and can
// be continued.
func TestListSearch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	old := w.submit(map[string]any{"title": "Long ago", "tags": []string{"rare"}})
	for i := range 1010 {
		w.submit(map[string]any{"title": strconv.Itoa(i), "type": "notify", "request": nil, "body": nil})
	}
	w.answer(old, "alice", 1)
	v := w.visit("alice", "")
	page := v.get("/?show=answered&tag=rare")
	wantText(t, page, "Looked through the newest 1000 messages.")
	if got := titles(page); got != "" {
		t.Errorf("the first page has %q", got)
	}
	_, href, _ := strings.Cut(page.body, `id="more-answered" href="`)
	href, _, _ = strings.Cut(href, `"`)
	if u, err := url.Parse(html.UnescapeString(href)); err != nil || u.Query().Get("tag") != "rare" {
		t.Errorf("the next page is %s", href)
	}
	if got := titles(v.get(html.UnescapeString(href))); got != "Long ago" {
		t.Errorf("the next page has %q", got)
	}
}
