package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"beckon/hub/ma2h"
)

// Rule 4: an answer that comes when the sign-in is over, or another one, gets an
// answer itself, and what was typed comes back; never what is sensitive.
func TestLapsedSignIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	fill := url.Values{"f1": {"Fixes <b>"}, "f3": {"3"}, "f6": {"s3cret-value"}, "comment": {"After\r\nlunch."}}
	tests := []struct {
		name   string
		then   func(*visitor, string) // what happens to the sign-in meanwhile
		status int
		texts  []string
	}{
		{"signed out", func(v *visitor, _ string) { v.cookies = nil }, http.StatusUnauthorized, []string{"You are not signed in here any more"}},
		{"the link again", func(v *visitor, id string) { v.open(w.link("alice", id)) }, http.StatusForbidden, []string{"made for an earlier sign-in", "Alice Ng"}},
		{"somebody else", func(v *visitor, _ string) { v.cookies = nil; v.open(w.link("bob", "")) }, http.StatusForbidden, []string{"made for an earlier sign-in", "Bob Roy"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			id := w.submit(map[string]any{"request": inputRequest()})
			v := w.visit("alice", "")
			f := readForm(v.get("/i/" + id).body)
			for k, vs := range fill {
				f[k] = vs
			}
			tt.then(v, id)
			got := v.do("POST", "/i/"+id+"/answer", f)
			wantStatus(t, got, tt.status)
			wantText(t, got, append(tt.texts, "Nothing has been recorded yet", "Fixes <b>", "After lunch.")...)
			wantNoText(t, got, "s3cret-value", "Fixes <b>")
			if w.message(id).Status != ma2h.Open {
				t.Error("it was recorded")
			}
			if tt.status == http.StatusUnauthorized {
				wantNoText(t, got, "Release note", "Alice") // nothing of the hub's own
				return
			}
			again := readForm(got.body)
			for k, vs := range fill {
				again[k] = vs
			}
			if got := v.do("POST", "/i/"+id+"/answer", again); got.StatusCode != http.StatusSeeOther {
				t.Errorf("sent again: %d %s", got.StatusCode, got.text())
			}
		})
	}
	// A form that doesn't say what is plain, as one of a template of the
	// operator's may not.
	id := w.submit(map[string]any{"request": inputRequest()})
	got := newVisitor(t, w.page, base).do("POST", "/i/"+id+"/answer", url.Values{"f1": {"typed"}, "f6": {"s3cret-value"}})
	wantStatus(t, got, http.StatusUnauthorized)
	wantNoText(t, got, "typed</textarea>", "s3cret-value")
}

// readForm reads what the page itself puts into an input ask's form.
func readForm(page string) url.Values {
	f := hidden(page)
	if _, rest, ok := strings.Cut(page, `name="plain" value="`); ok {
		plain, _, _ := strings.Cut(rest, `"`)
		f.Set("plain", plain)
	}
	return f
}

// Somebody who comes to the address of a form, as a phone does that has
// forgotten the page, is led to the message.
func TestFormAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	id := w.submit(nil)
	got := w.visit("alice", "").get("/i/" + id + "/answer")
	wantStatus(t, got, http.StatusMethodNotAllowed)
	if !strings.Contains(got.body, `href="/i/`+id+`">Open the message`) {
		t.Errorf("no way to the message: %s", got.text())
	}
}
