package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"beckon/hub"
)

// A person writes to an agent that the config lets them write to, from the page of
// a message and from one of its own, and sees what became of it.
func TestTellAnAgent(t *testing.T) {
	t.Parallel()
	const bot = "deploybot/dev-team"
	w := newWorld(t, base)
	w.dir.Agents[bot].Directors, w.dir.Agents[bot].InboxKey = []string{"alice"}, hub.NewSecret("secret")
	id := w.submit(nil)

	v := w.visit("alice", id)
	page := v.get("/i/" + id)
	if !strings.Contains(page.body, "Write to <bdi>"+bot+"</bdi>") || !strings.Contains(page.body, "not seen yet") {
		t.Fatalf("no form on the page:\n%s", page.body)
	}
	f := hidden(page.body)
	f.Set("text", "Look at the logs first.\r\nThen ask again.")
	for range 2 { // a double click is one
		wantStatus(t, v.do("POST", "/i/"+id+"/tell", f), http.StatusSeeOther)
	}
	if got := v.get("/i/" + id + "?told"); !strings.Contains(got.body, "Passed on to "+bot) {
		t.Errorf("after it:\n%s", got.body)
	}
	wantStatus(t, v.do("GET", "/tell", nil), http.StatusUnauthorized) // the link is for that message

	whole := w.visit("alice", "")
	f = hidden(whole.get("/tell").body)
	f.Set("agent", bot)
	f.Set("text", "<b>Stop</b> for today")
	wantStatus(t, whole.do("POST", "/tell", f), http.StatusSeeOther)
	in, err := w.hub.Inbox(t.Context(), w.dir.Agents[bot], 10, 0)
	if err != nil || len(in) != 2 {
		t.Fatalf("inbox: %d, %v", len(in), err)
	}
	for i, want := range []string{`"title":"Look at the logs first."`, `"title":"<b>Stop</b> for today"`} {
		if s := string(in[i].Directive); !strings.Contains(s, want) || !strings.Contains(s, `"from":"human:alice"`) {
			t.Errorf("%d: %s", i, s)
		}
	}
	list := whole.get("/tell").body
	for _, want := range []string{"the agent got it at", "&lt;b&gt;Stop&lt;/b&gt; for today", "Look at the logs first.", "seen just now"} {
		if !strings.Contains(list, want) {
			t.Errorf("the page has no %q:\n%s", want, list)
		}
	}
	if got := whole.get("/"); !strings.Contains(got.body, `href="/tell"`) {
		t.Error("the list does not lead there")
	}

	// Nobody else may, and nothing is lost that cannot be passed on.
	bob := w.visit("bob", id)
	if page := bob.get("/i/" + id); strings.Contains(page.body, "/tell") {
		t.Error("bob gets a form")
	}
	f = hidden(bob.get("/i/" + id).body)
	f.Set("text", "hello")
	got := bob.do("POST", "/i/"+id+"/tell", f)
	wantStatus(t, got, http.StatusForbidden)
	if !strings.Contains(got.body, "You may not write to "+bot) {
		t.Errorf("bob reads:\n%s", got.body)
	}
	long := strings.Repeat("x", hub.DefaultLimits.Body+1)
	got = whole.do("POST", "/tell", url.Values{"csrf": f["csrf"], "agent": {bot}, "text": {long}, "nonce": {"n"}})
	wantStatus(t, got, http.StatusForbidden) // bob's token
	f = hidden(whole.get("/tell").body)
	f.Set("agent", bot)
	f.Set("text", long)
	got = whole.do("POST", "/tell", f)
	wantStatus(t, got, http.StatusUnprocessableEntity)
	if !strings.Contains(got.body, "the limit is") || !strings.Contains(got.body, long) {
		t.Error("what was too long is lost, or nothing says so")
	}
	f.Set("text", " ")
	wantStatus(t, whole.do("POST", "/tell", f), http.StatusUnprocessableEntity)
}
