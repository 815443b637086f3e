package web_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"beckon/channels/channeltest"
	"beckon/channels/web"
	"beckon/hub"
	"beckon/hub/ma2h"
)

// filled returns what a browser would send of a form that nobody touched.
func filled(page string) url.Values {
	f := hidden(page)
	for _, m := range regexp.MustCompile(`<input id="(f\d+)"[^>]* value="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		f.Set(m[1], m[2])
	}
	for _, m := range regexp.MustCompile(`(?s)<textarea id="(f\d+)"[^>]*>\n(.*?)</textarea>`).FindAllStringSubmatch(page, -1) {
		f.Set(m[1], strings.ReplaceAll(m[2], "\n", "\r\n"))
	}
	return f
}

func inputOf(schema string, permissions map[string]any) map[string]any {
	r := map[string]any{"mode": "input", "schema": json.RawMessage(schema)}
	if permissions != nil {
		r["permissions"] = permissions
	}
	return map[string]any{"request": r}
}

// What the agent proposed goes back as it was proposed, although a control
// shows line breaks, times and zones in its own way.
func TestFormProposals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	const schema = `{"type":"object","properties":{
		"note":{"type":"string","maxLength":80,"default":"\nline\r\nline"},
		"at":{"type":"string","format":"date-time","default":"2026-12-24T10:00:30.5Z"},
		"n":{"type":"number","default":1.50}}}`
	id := w.submit(inputOf(schema, map[string]any{"allow_edit": false}))
	v := w.visit("alice", id)
	page := v.get("/i/" + id)
	f := filled(page.body)
	if f.Get("f2") != "2026-12-24T18:00:30" {
		t.Errorf("the time is shown as %q", f.Get("f2"))
	}
	got := v.do("POST", "/i/"+id+"/answer", f)
	wantStatus(t, got, http.StatusSeeOther)
	resp, err := ma2h.ParseResponse(w.message(id).Response)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(resp.Response.Value), `{"note":"\nline\r\nline","at":"2026-12-24T10:00:30.5Z","n":1.50}`; got != want || resp.Response.Edited {
		t.Errorf("value %s, edited %v; want %s", got, resp.Response.Edited, want)
	}

	id = w.submit(inputOf(schema, nil))
	v = w.visit("alice", id)
	f = filled(v.get("/i/" + id).body)
	f.Set("f2", "2026-12-24T18:00")
	wantStatus(t, v.do("POST", "/i/"+id+"/answer", f), http.StatusSeeOther)
	wantText(t, v.get("/i/"+id), "What the agent had proposed was changed.", "2026-12-24T18:00:00+08:00")
}

// A time that the clock leaps over is refused; one that it shows twice is the
// first of the two.
func TestFormClockChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	paris, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	w.dir.People["alice"].Location = paris
	tests := []struct {
		name, typed, want string // "" is refused
	}{
		{"summer", "2026-07-01T09:30", "2026-07-01T09:30:00+02:00"},
		{"winter, to the second", "2026-12-01T09:30:15", "2026-12-01T09:30:15+01:00"},
		{"does not exist", "2026-03-29T02:30", ""},
		{"comes twice", "2026-10-25T02:30", "2026-10-25T02:30:00+02:00"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			id := w.submit(inputOf(`{"type":"object","properties":{"at":{"type":"string","format":"date-time","title":"Not before"}}}`, nil))
			got := w.visit("alice", id).send(id, "answer", url.Values{"f1": {tt.typed}})
			if tt.want == "" {
				wantStatus(t, got, http.StatusUnprocessableEntity)
				wantText(t, got, "Not before")
				if !strings.Contains(got.body, `value="`+tt.typed+`"`) {
					t.Error("what was typed is lost")
				}
				return
			}
			wantText(t, got, tt.want)
		})
	}
}

// Nothing that the hub takes is held back by the browser: the page leaves it to
// the hub, but for what is required.
func TestFormLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	id := w.submit(map[string]any{"request": manyFields(12)})
	page := w.visit("alice", id).get("/i/" + id)
	for _, bad := range []string{"maxlength", "minlength", "pattern=", `type="number"`, `type="email"`, `type="url"`, ` min=`, ` max=`} {
		if strings.Contains(page.body, bad) {
			t.Errorf("the form holds %s", bad)
		}
	}
	for _, want := range []string{`inputmode="numeric"`, `inputmode="email"`, `inputmode="url"`, `aria-required="true"`, "at most 80 characters", "a whole number, 0 to 9"} {
		if !strings.Contains(page.body, want) {
			t.Errorf("the form lacks %s", want)
		}
	}
	if n := strings.Count(page.body, "inputmode="); n != 3 { // a keyboard without a minus sign is no use for -1
		t.Errorf("%d keyboards", n)
	}
}

// Every complaint stands at its field, and above the form with a link to it.
func TestFormErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	id := w.submit(map[string]any{"request": inputRequest()})
	got := w.visit("alice", id).send(id, "answer", url.Values{"f2": {"never"}, "f3": {"12"}, "f4": {""}, "f5": {"soon"}})
	wantStatus(t, got, http.StatusUnprocessableEntity)
	for _, field := range []string{"f1"} {
		if !strings.Contains(got.body, `<a href="#`+field+`" dir="auto">`) || !strings.Contains(got.body, `id="`+field+`-error"`) {
			t.Errorf("no complaint about %s:\n%s", field, got.text())
		}
	}
	wantText(t, got, "Release note: is required")
	got = w.visit("alice", id).send(id, "answer", url.Values{"f1": {"x"}, "f2": {"never"}, "f3": {"12"}, "f5": {"soon"}})
	for _, field := range []string{"f2", "f3", "f5"} {
		if !strings.Contains(got.body, `<a href="#`+field+`" dir="auto">`) || !strings.Contains(got.body, `id="`+field+`-error"`) {
			t.Errorf("no complaint about %s:\n%s", field, got.text())
		}
	}
	long := w.submit(nil)
	got = w.visit("alice", long).send(long, "answer", url.Values{"option": {"1"}, "comment": {strings.Repeat("x", 10001)}})
	wantText(t, got, "Comment: has 10001 characters, the limit is 10000")
}

// "Recorded" is said for a while after the answer, to whoever gave it.
func TestRecordedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		desk := channeltest.NewDesk(channeltest.Directory())
		c := channeltest.Ask("msg_a")
		c.Status, c.MayAnswer = ma2h.Answered, false
		c.Decision = &hub.Decision{Resolution: ma2h.Answered, Actor: "human:alice", ActorName: "Alice Ng", At: time.Now(), Via: "web", Choice: "Hold for review", Option: 2}
		desk.Put(c)
		base := desk.Directory().PublicURL
		enter := func(person string) *visitor {
			v := newVisitor(t, web.New(hub.Section{}, desk), base)
			v.open(web.Link(desk.Keys(web.LinkKeys), base, person, "", time.Now().Add(time.Hour)))
			return v
		}
		alice, bob := enter("alice"), enter("bob")
		wantText(t, alice.get("/i/msg_a?recorded"), "Recorded. An answer can’t be changed")
		wantNoText(t, alice.get("/i/msg_a"), "Recorded")
		wantNoText(t, bob.get("/i/msg_a?recorded"), "Recorded")
		wantNoText(t, alice.get("/i/msg_a?saved"), "saved")
		if n := strings.Count(alice.get("/i/msg_a?recorded").text(), "Hold for review"); n != 2 {
			t.Errorf("the choice is named %d times, want once above and once among the choices", n)
		}
		time.Sleep(3 * time.Minute)
		wantNoText(t, alice.get("/i/msg_a?recorded"), "Recorded")
	})
}

// What is past its time takes no answer, although the hub has not closed it yet.
func TestTimeIsUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		desk := channeltest.NewDesk(channeltest.Directory())
		desk.Put(channeltest.Ask("msg_a"))
		base := desk.Directory().PublicURL
		v := newVisitor(t, web.New(hub.Section{}, desk), base)
		v.open(web.Link(desk.Keys(web.LinkKeys), base, channeltest.Reader, "", time.Now().Add(9*time.Hour)))
		time.Sleep(2 * time.Hour)
		if got := v.get("/i/msg_a"); !strings.Contains(got.body, `name="option"`) {
			t.Error("at the deadline itself an answer still counts")
		}
		time.Sleep(time.Second)
		got := v.get("/i/msg_a")
		wantText(t, got, "time was up at 10:00, then: Hold for review", "Ship to prod now")
		wantNoText(t, got, `name="option"`)
	})
}

func TestPart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, base)
	id := w.submit(hugeData())
	v := w.visit("alice", id)
	page := v.get("/i/" + id)
	for _, want := range []string{`<a href="/i/` + id + `/part/1">Show all of it as plain text</a>`} {
		if !strings.Contains(page.body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	wantText(t, page, "service-007 and 392 more")
	all := v.get("/i/" + id + "/part/1")
	if ct := all.Header.Get("Content-Type"); ct != "text/plain; charset=utf-8" || all.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("the part is %s", ct)
	}
	if !strings.Contains(all.body, "service-399") || !strings.Contains(all.body, "\n") {
		t.Errorf("not all of it: %d bytes", len(all.body))
	}
	for path, want := range map[string]int{"/part/0": 404, "/part/3": 404, "/part/x": 404, "/part/-1": 404} {
		wantStatus(t, v.get("/i/"+id+path), want)
	}
	wantStatus(t, newVisitor(t, w.page, base).get("/i/"+id+"/part/1"), 401)
	file := w.submit(map[string]any{"context": []map[string]any{{"kind": "file", "file": map[string]any{"uri": "https://x.example/"}}}})
	wantStatus(t, w.visit("alice", file).get("/i/"+file+"/part/1"), 404)
}
