package api_test

import (
	"maps"
	"strings"
	"testing"
)

// Large messages make shorter pages, and the cursor still leads to all of them.
func TestListOfLargeMessages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	part := map[string]any{"kind": "text", "text": strings.Repeat("x", 60000)}
	want := map[string]bool{}
	for range 25 {
		want[w.submit(notify(map[string]any{"context": []any{part, part, part, part}}))] = true
	}
	for path, token := range map[string]string{"/v1/messages": deployToken, "/admin/v1/messages": operatorToken} {
		got, pages := map[string]bool{}, 0
		for cursor := ""; pages == 0 || cursor != ""; pages++ {
			r := w.do("GET", path+"?limit=200&cursor="+cursor, token, "").want(200, "")
			list := r.field("messages").([]any)
			if len(list) > 10 {
				t.Errorf("%s: a page of %d", path, len(list))
			}
			for _, m := range list {
				got[m.(map[string]any)["id"].(string)] = true
			}
			cursor = r.text("next_cursor")
		}
		if !maps.Equal(got, want) || pages != 3 {
			t.Errorf("%s: %d messages on %d pages, want %d on 3", path, len(got), pages, len(want))
		}
	}
}

// Some clients say "never" with the last moment that their clock has. No list
// may break on it.
func TestAdminShowsTheLastMoment(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.submit(ask(map[string]any{"expires_at": "9999-12-31T23:59:59.9999999Z"}))
	for _, path := range []string{"/messages", "/messages/" + id, "/messages/" + id + "/events", "/deliveries", "/stats"} {
		w.do("GET", "/admin/v1"+path, operatorToken, "").want(200, "")
	}
}
