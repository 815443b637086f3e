package web_test

import (
	crand "crypto/rand"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"beckon/channels/web"
	"beckon/hub"
	"beckon/hub/ma2h"
)

const base = "https://beckon.example.com"

func rand() string { return crand.Text() }

func wantStatus(t *testing.T, got reply, want int) {
	t.Helper()
	if got.StatusCode != want {
		t.Fatalf("got %d, want %d: %s", got.StatusCode, want, got.text())
	}
}

func wantText(t *testing.T, got reply, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got.text(), w) {
			t.Errorf("the page does not say %q:\n%s", w, got.text())
		}
	}
}

func wantNoText(t *testing.T, got reply, bad ...string) {
	t.Helper()
	for _, b := range bad {
		if strings.Contains(got.body, b) {
			t.Errorf("the page holds %q:\n%s", b, got.text())
		}
	}
}

func TestAnswerSelect(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	id := w.submit(map[string]any{"expires_at": time.Now().Add(2 * time.Hour).UTC().Format(time.RFC3339)})
	v := w.visit("alice", "")

	list := v.get("/")
	wantStatus(t, list, http.StatusOK)
	wantText(t, list, "Ship web-app 2.3", "deploybot/dev-team · web-app · high", "then: Hold for review")

	page := v.get("/i/" + id)
	wantText(t, page, "Ship to prod now Deploy immediately.", "Applied if nobody answers", "Asked of: oncall (Alice Ng, Bob Roy)", id)

	after := v.send(id, "answer", url.Values{"option": {"2"}, "comment": {"After\r\nlunch."}})
	wantStatus(t, after, http.StatusOK)
	wantText(t, after, "Recorded.", "Hold for review You answered at", "on the page", "After lunch.", "Wait for a human PR review. Chosen")
	wantNoText(t, after, "<button class=\"choice\"")

	m := w.message(id)
	resp, err := ma2h.ParseResponse(m.Response)
	if err != nil {
		t.Fatal(err)
	}
	if m.Status != ma2h.Answered || string(resp.Response.Value) != `"hold"` || resp.Response.Actor != "human:alice" || resp.Response.Comment != "After\nlunch." {
		t.Errorf("got %s %+v", m.Status, resp.Response)
	}
	wantText(t, v.get("/"), "Nothing waits for you now.", "Lately", "You answered Hold for review")

	// Rule 2: a late answer changes nothing and is told who answered what.
	bob := w.visit("bob", "")
	late := bob.do("POST", "/i/"+id+"/answer", withForm(bob.get("/").body, url.Values{"option": {"1"}, "comment": {"ship it"}, "nonce": {rand()}}))
	wantStatus(t, late, http.StatusConflict)
	wantText(t, late, "Alice Ng answered Hold for review at", "on the page. Your click changed nothing.", "What you had typed, not recorded", "ship it")
}

// withForm adds the CSRF token of any page of the same sign-in.
func withForm(page string, f url.Values) url.Values {
	h := hidden(page)
	for k, vs := range f {
		h[k] = vs
	}
	return h
}

func TestAnswerInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	id := w.submit(map[string]any{"request": inputRequest()})
	v := w.visit("alice", "")
	page := v.get("/i/" + id)
	wantText(t, page, "Release note What users read.", "at most 500 characters", "a whole number, 1 to 9")
	for _, want := range []string{`type="password" autocomplete="off"`, `type="date"`, `inputmode="numeric"`, `type="radio" name="f2" value="medium"`} {
		if !strings.Contains(page.body, want) {
			t.Errorf("the form lacks %s", want)
		}
	}

	bad := v.send(id, "answer", url.Values{"f1": {"Fixes <b>"}, "f3": {"many"}, "f4": {"true"}, "f6": {"s3cret-value"}, "comment": {"soon"}})
	wantStatus(t, bad, http.StatusUnprocessableEntity)
	wantText(t, bad, "must be a number", "Fixes <b>", "soon")
	wantNoText(t, bad, "s3cret-value")
	if !strings.Contains(bad.body, `value="many"`) || !strings.Contains(bad.body, `name="f4" value="true" checked`) {
		t.Errorf("what was typed is lost:\n%s", bad.body)
	}
	if w.message(id).Status != ma2h.Open {
		t.Fatal("an invalid answer resolved the ask")
	}

	good := v.send(id, "answer", url.Values{"f1": {"Fixes"}, "f2": {"low"}, "f3": {"3"}, "f4": {"false"}, "f5": {"2026-12-24"}, "f6": {"s3cret-value"}})
	wantStatus(t, good, http.StatusOK)
	wantText(t, good, "Release note Fixes", "Replicas 3", "••••")
	wantNoText(t, good, "s3cret-value")
	resp, err := ma2h.ParseResponse(w.message(id).Response)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(resp.Response.Value), `{"note":"Fixes","risk":"low","replicas":3,"notify":false,"when":"2026-12-24","api_key":"s3cret-value"}`; got != want {
		t.Errorf("value %s, want %s", got, want)
	}
}

func TestDecline(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	id := w.submit(nil)
	got := w.visit("bob", id).send(id, "decline", url.Values{"reason": {"Not mine."}})
	wantText(t, got, "Recorded.", "You declined at", "Not mine.")
	if m := w.message(id); m.Status != ma2h.Declined {
		t.Errorf("status %s", m.Status)
	}
	must := w.submit(map[string]any{"request": func() map[string]any {
		r := selectRequest()
		r["permissions"] = map[string]any{"allow_ignore": false}
		return r
	}()})
	v := w.visit("bob", must)
	wantNoText(t, v.get("/i/"+must), "Decline to answer")
	refused := v.send(must, "decline", nil)
	wantStatus(t, refused, http.StatusForbidden)
	wantText(t, refused, "This can't be declined.")
}

func TestTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	id := w.submit(task())
	v := w.visit("alice", id)
	page := v.get("/i/" + id)
	wantText(t, page, "Generate a key of at least 32 characters", "Done when: The webhook test event returns 200.")
	saved := v.send(id, "tick", url.Values{"step": {"2"}})
	wantText(t, saved, "Progress saved. The task stays open.")
	if !strings.Contains(saved.body, `name="step" value="2" checked`) {
		t.Error("the tick is not shown")
	}
	if m := w.message(id); m.Status != ma2h.Open || !m.Checklist[1].Done || m.Checklist[0].Done {
		t.Errorf("got %s %v", m.Status, m.Checklist)
	}
	done := v.send(id, "complete", url.Values{"step": {"1", "2"}, "comment": {"Key 7 is live."}})
	wantText(t, done, "You marked it done at", "Key 7 is live.")
	if m := w.message(id); m.Status != ma2h.Completed {
		t.Errorf("status %s", m.Status)
	}

	other := w.submit(task())
	cant := w.visit("bob", other).send(other, "dismiss", url.Values{"reason": {"No access."}, "step": {"1"}})
	wantText(t, cant, "You said that it can't be done", "No access.")
}

// A double click has one effect, and both clicks show the same (rule 12).
func TestDoubleClick(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	id := w.submit(nil)
	v := w.visit("alice", id)
	f := hidden(v.get("/i/" + id).body)
	f.Set("option", "1")
	for range 2 {
		got := v.do("POST", "/i/"+id+"/answer", f)
		wantStatus(t, got, http.StatusSeeOther)
	}
	events, err := w.hub.Events(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, e := range events {
		kinds = append(kinds, e.Kind)
	}
	if got := strings.Join(kinds, " "); got != "submitted answered" {
		t.Errorf("history is %q", got)
	}
	if !strings.Contains(string(events[1].Content), `"by":"personal link"`) || strings.Contains(string(events[1].Content), v.cookies[0].Value) {
		t.Errorf("evidence: %s", events[1].Content)
	}
}

func TestMayNotAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	id := w.submit(nil)
	v := w.visit("carol", "")
	page := v.get("/i/" + id)
	wantText(t, page, "You can read this. Only oncall (Alice Ng, Bob Roy) can answer this.", "Ship to prod now")
	got := v.do("POST", "/i/"+id+"/answer", withForm(page.body, url.Values{"option": {"1"}, "nonce": {rand()}}))
	wantStatus(t, got, http.StatusForbidden)
	wantText(t, got, "Only oncall (Alice Ng, Bob Roy) can answer this. Ask one of them.")
	if w.message(id).Status != ma2h.Open {
		t.Error("somebody who may not answer did")
	}
}

func TestNotify(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	id := w.submit(map[string]any{"type": "notify", "request": nil, "title": "Nightly digest"})
	v := w.visit("alice", "")
	page := v.get("/i/" + id)
	wantText(t, page, "Nightly digest", "for information")
	got := v.do("POST", "/i/"+id+"/answer", withForm(page.body, url.Values{"option": {"1"}}))
	wantText(t, got, "This is for information only")
}

func TestSectionErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "web"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "web", "item.html"), []byte("line one\n{{.Broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	var errs []string
	ch := web.New(hub.Section{
		Decode: func(v any) bool { return setField(v, dir) },
		Errorf: func(field, format string, args ...any) { errs = append(errs, field+": "+sprintf(format, args...)) },
	}, w.desk)
	if ch != nil || len(errs) != 1 || !strings.Contains(errs[0], "item.html:2") {
		t.Errorf("got %v, errors %q", ch, errs)
	}
}
