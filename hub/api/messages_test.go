package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"beckon/hub"
	"beckon/hub/api"
	"beckon/hub/ma2h"
)

func TestRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.submit(ask(map[string]any{
		"state": map[string]any{"a<b": 1}, "client_ref": "ref-1", "expires_at": time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
	}))
	r := w.do("GET", "/v1/messages/"+id, deployToken, "").want(200, "")
	if r.text("id") != id || r.text("status") != "open" || r.text("client_ref") != "ref-1" || r.field("response") != nil {
		t.Errorf("open: %s", r.body)
	}
	if r.header.Get("Cache-Control") != "no-store" {
		t.Errorf("Cache-Control %q", r.header.Get("Cache-Control"))
	}
	w.answer(id, 2)
	r = w.do("GET", "/v1/messages/"+id, deployToken, "").want(200, "")
	if r.text("status") != "answered" || r.text("response.response.value") != "hold" ||
		r.text("response.response.actor") != "human:alice" || !strings.Contains(r.body, `{"a<b":1}`) {
		t.Errorf("answered: %s", r.body)
	}
	if again := w.do("GET", "/v1/messages/"+id, deployToken, ""); again.body != r.body {
		t.Errorf("a second read differs:\n%s\n%s", r.body, again.body)
	}
	r = w.do("GET", "/v1/messages/"+id+"?include=beckon", deployToken, "").want(200, "")
	if ds, ok := r.field("beckon.deliveries").([]any); !ok || len(ds) == 0 {
		t.Errorf("no deliveries: %s", r.body)
	}
}

func TestSince(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.submit(ask(nil))
	get := func(since string) int {
		return w.do("GET", "/v1/messages/"+id+"?since="+since, deployToken, "").status
	}
	later := time.Now().Add(time.Second).UTC()
	if got := get("2020-01-01T00:00:00Z"); got != 200 {
		t.Errorf("accepted since: %d", got)
	}
	for _, s := range []string{
		later.Format(time.RFC3339Nano), strings.ToLower(later.Format(time.RFC3339Nano)),
		later.In(time.FixedZone("", 3600)).Format(time.RFC3339Nano), // with a "+" that is not escaped
	} {
		if got := get(s); got != 304 {
			t.Errorf("since=%s: %d, want 304", s, got)
		}
	}
	w.answer(id, 1)
	resolved := w.do("GET", "/v1/messages/"+id, deployToken, "").text("response.response.resolved_at")
	if got := get(resolved); got != 304 {
		t.Errorf("since the very time of the resolution: %d, want 304", got)
	}
	at, err := time.Parse(time.RFC3339, resolved)
	if err != nil {
		t.Fatal(err)
	}
	if got := get(at.Add(-time.Millisecond).Format(time.RFC3339Nano)); got != 200 {
		t.Errorf("since a millisecond earlier: %d, want 200", got)
	}
}

func TestReadRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.submit(ask(nil))
	tests := []struct {
		name, query, field string
	}{
		{"wait is a word", "wait=long", "wait"},
		{"wait is negative", "wait=-1", "wait"},
		{"wait is a fraction", "wait=1.5", "wait"},
		{"wait is hugely negative", "wait=-99999999999999999999", "wait"},
		{"since is a word", "since=yesterday", "since"},
		{"since is a date", "since=2026-12-01", "since"},
		{"since has a comma", "since=2026-12-01T10:00:00,5Z", "since"},
		{"query is broken", "wait=%zz", "query"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := w.in(t)
			r := w.do("GET", "/v1/messages/"+id+"?"+tt.query, deployToken, "").want(400, ma2h.CodeValidation)
			if !strings.Contains(r.text("error.message"), tt.field) {
				t.Errorf("does not name %s: %s", tt.field, r.body)
			}
		})
	}
}

// TestWait holds until the answer, until the time is up, or not at all.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		id := w.submit(ask(nil))
		timed := func(query string) (*reply, time.Duration) {
			began := time.Now()
			r := w.do("GET", "/v1/messages/"+id+query, deployToken, "")
			return r, time.Since(began)
		}
		for query, want := range map[string]time.Duration{
			"": 0, "?wait=0": 0, "?wait=5": 5 * time.Second, "?wait=60": time.Minute, "?wait=3600": time.Minute,
			"?wait=99999999999999999999": time.Minute,
		} {
			if r, took := timed(query); r.status != 200 || r.text("status") != "open" || took != want {
				t.Errorf("%q took %v, want %v: %s", query, took, want, r.body)
			}
		}
		if r, took := timed("?wait=5&since=2100-01-01T00:00:00Z"); r.status != 304 || took != 5*time.Second {
			t.Errorf("wait with since: %d after %v", r.status, took)
		}
		go func() {
			time.Sleep(7 * time.Second)
			w.answer(id, 1)
		}()
		if r, took := timed("?wait=60"); r.text("status") != "answered" || took != 7*time.Second {
			t.Errorf("took %v: %s", took, r.body)
		}
		if _, took := timed("?wait=60"); took != 0 {
			t.Errorf("a terminal message took %v", took)
		}
		synctest.Wait()
	})
}

// TestDrainWakesPolls: a shutdown answers who waits with what is.
func TestDrainWakesPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		id := w.submit(ask(nil))
		go func() {
			time.Sleep(3 * time.Second)
			w.api.Drain()
		}()
		began := time.Now()
		r := w.do("GET", "/v1/messages/"+id+"?wait=60", deployToken, "").want(200, "")
		if took := time.Since(began); took != 3*time.Second || r.text("status") != "open" {
			t.Errorf("after %v: %s", took, r.body)
		}
		began = time.Now()
		w.do("GET", "/v1/messages/"+id+"?wait=60", deployToken, "").want(200, "")
		if took := time.Since(began); took != 0 {
			t.Errorf("a new poll waited %v while the hub shuts down", took)
		}
	})
}

// TestOthersSeeNothing: to another agent a message that exists and one that does
// not are the same, in status, headers and body.
func TestOthersSeeNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	open := w.submit(ask(nil))
	closed := w.submit(ask(map[string]any{"tags": []string{"closed"}}))
	done := w.submit(ask(nil))
	w.answer(done, 1)
	alias := w.submit(ask(map[string]any{"ma2h_version": "0.1", "id": "mine-1"}))
	if alias != "mine-1" {
		t.Fatalf("the alias is %q", alias)
	}
	calls := []struct{ method, suffix, body string }{
		{"GET", "", ""},
		{"GET", "?wait=1", ""},
		{"GET", "?include=beckon", ""},
		{"GET", "?since=2100-01-01T00:00:00Z", ""},
		{"POST", "/cancel", ""},
		{"POST", "/resolve", `{"resolution":"answered","value":"ship"}`},
		{"POST", "/resolve", `{"resolution":"nonsense"}`},
		{"POST", "/resolve", `{`},
	}
	for _, c := range calls {
		unknown := w.do(c.method, "/v1/messages/msg_01KBBBBBBBBBBBBBBBBBBBBBBB"+c.suffix, otherToken, c.body)
		if unknown.status != 404 {
			t.Fatalf("%s %s of nothing: %d %s", c.method, c.suffix, unknown.status, unknown.body)
		}
		for _, id := range []string{open, closed, done, alias, "..", "a%2Fb", "%00"} {
			r := w.do(c.method, "/v1/messages/"+id+c.suffix, otherToken, c.body)
			r.header.Del("X-Request-Id")
			unknown.header.Del("X-Request-Id")
			if r.status != 404 || r.body != unknown.body || fmt.Sprint(r.header) != fmt.Sprint(unknown.header) {
				t.Errorf("%s %s of %s: %d %s %v, of nothing: %s %v", c.method, c.suffix, id, r.status, r.body, r.header, unknown.body, unknown.header)
			}
		}
	}
	if r := w.do("GET", "/v1/messages/"+open, deployToken, ""); r.text("status") != "open" {
		t.Errorf("something changed: %s", r.body)
	}
	if r := w.do("GET", "/v1/messages", otherToken, ""); len(r.field("messages").([]any)) != 0 {
		t.Errorf("another agent's list shows it: %s", r.body)
	}
}

func TestAlias(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	e := ask(map[string]any{"ma2h_version": "0.1", "id": "release~1.2"})
	r := w.do("POST", "/v1/messages", deployToken, e).want(202, "")
	if r.text("id") != "release~1.2" || !strings.HasSuffix(r.text("poll_url"), "/v1/messages/release~1.2") ||
		strings.Contains(r.text("review_url"), "release") {
		t.Errorf("ack %s", r.body)
	}
	for _, path := range []string{"release~1.2", "release%7E1.2", "release~1%2e2"} {
		if got := w.do("GET", "/v1/messages/"+path, deployToken, "").want(200, "").text("id"); got != "release~1.2" {
			t.Errorf("%s: id %q", path, got)
		}
	}
	w.do("POST", "/v1/messages/release~1.2/cancel", deployToken, "").want(200, "")
	late := w.do("POST", "/v1/messages/release~1.2/resolve", deployToken, `{"resolution":"declined"}`)
	if late.status == 409 && late.text("id") != "release~1.2" {
		t.Errorf("its submitter knows it by another id: %s", late.body)
	}
}

// TestGone: after the retention the submitter gets 410, everybody else 404.
func TestGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.submit(ask(nil))
	w.do("POST", "/v1/messages/"+id+"/cancel", deployToken, "").want(200, "")
	// A post that has begun keeps the message until it has ended.
	for n := 0; n == 0; {
		if t.Context().Err() != nil {
			t.Fatal("never purged")
		}
		var err error
		if n, err = w.st.Purge(t.Context(), time.Now().Add(31*24*time.Hour), 30*24*time.Hour, 10); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ method, suffix, body string }{
		{"GET", "", ""}, {"GET", "?wait=1", ""}, {"POST", "/cancel", ""}, {"POST", "/resolve", `{"resolution":"declined"}`},
	} {
		w.do(c.method, "/v1/messages/"+id+c.suffix, deployToken, c.body).want(410, ma2h.CodeGone)
		w.do(c.method, "/v1/messages/"+id+c.suffix, otherToken, c.body).want(404, ma2h.CodeNotFound)
	}
	w.do("GET", "/admin/v1/messages/"+id, operatorToken, "").want(410, ma2h.CodeGone)
}

func TestCancel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.submit(ask(nil))
	for range 2 { // again is the same
		r := w.do("POST", "/v1/messages/"+id+"/cancel", deployToken, "").want(200, "")
		if r.body != `{"id":"`+id+`","status":"cancelled"}` {
			t.Errorf("body %s", r.body)
		}
	}
	r := w.do("GET", "/v1/messages/"+id, deployToken, "")
	if r.text("response.resolution") != "cancelled" || r.text("response.response.actor") != "agent:"+deploybot {
		t.Errorf("response %s", r.body)
	}
	won := w.submit(ask(nil))
	w.answer(won, 1)
	r = w.do("POST", "/v1/messages/"+won+"/cancel", deployToken, `{"any":"body"}`).want(409, ma2h.CodeAlreadyTerminal)
	if r.text("id") != won || r.text("status") != "answered" || r.text("resolution") != "answered" {
		t.Errorf("late: %s", r.body)
	}
	w.do("POST", "/v1/messages/"+w.submit(task(nil))+"/cancel", deployToken, "").want(400, ma2h.CodeValidation)
	old := w.submit(task(map[string]any{"ma2h_version": "0.1"}))
	w.do("POST", "/v1/messages/"+old+"/cancel", deployToken, "").want(200, "")
}

func TestResolve(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	mine := func(m map[string]any) string {
		return ask(map[string]any{"request": with(m)})
	}
	both := map[string]any{"allowed_resolvers": []string{"agent:" + otherbot, "agent:" + deploybot}}
	listed := func() string {
		return w.submit(ask(map[string]any{"request": with(both), "state": map[string]any{"secret": 1}}))
	}
	tests := []struct {
		name, id, token, body string
		status                int
		code                  ma2h.Code
		field                 string
	}{
		{"listed agent", listed(), otherToken, `{"resolution":"answered","value":"ship","comment":"fine"}`, 200, "", ""},
		{"submitter on the list", listed(), deployToken, `{"resolution":"declined"}`, 200, "", ""},
		{"submitter of a closed route", w.submit(ask(map[string]any{"tags": []string{"closed"}})), deployToken, `{"resolution":"declined"}`, 200, "", ""},
		{"submitter not on the list", w.submit(mine(map[string]any{"allowed_resolvers": []string{"human:alice"}})), deployToken, `{"resolution":"declined"}`, 403, ma2h.CodeNotAuthorized, ""},
		{"submitter where people are asked", w.submit(ask(nil)), deployToken, `{"resolution":"declined"}`, 403, ma2h.CodeNotAuthorized, ""},
		{"not listed", w.submit(mine(map[string]any{"allowed_resolvers": []string{"human:alice"}})), otherToken, `{"resolution":"declined"}`, 404, ma2h.CodeNotFound, ""},
		{"nobody", w.submit(mine(map[string]any{"allowed_resolvers": []string{}})), deployToken, `{"resolution":"declined"}`, 403, ma2h.CodeNotAuthorized, ""},
		{"not an option", listed(), otherToken, `{"resolution":"answered","value":"later"}`, 422, ma2h.CodeInvalidField, "value"},
		{"no value", listed(), otherToken, `{"resolution":"answered"}`, 400, ma2h.CodeValidation, "value"},
		{"value is null", listed(), otherToken, `{"resolution":"answered","value":null}`, 400, ma2h.CodeValidation, "value"},
		{"value where declined", listed(), otherToken, `{"resolution":"declined","value":"ship"}`, 400, ma2h.CodeValidation, "value"},
		{"checklist on an ask", listed(), otherToken, `{"resolution":"declined","checklist":[]}`, 400, ma2h.CodeValidation, "checklist"},
		{"cancelled", listed(), otherToken, `{"resolution":"cancelled"}`, 400, ma2h.CodeValidation, "resolution"},
		{"expired", listed(), otherToken, `{"resolution":"expired"}`, 400, ma2h.CodeValidation, "resolution"},
		{"a task's verb", listed(), otherToken, `{"resolution":"completed"}`, 422, ma2h.CodeInvalidField, "resolution"},
		{"no resolution", listed(), otherToken, `{}`, 400, ma2h.CodeValidation, "resolution"},
		{"empty", listed(), otherToken, ``, 400, ma2h.CodeValidation, ""},
		{"duplicate key", listed(), otherToken, `{"resolution":"declined","resolution":"answered"}`, 400, ma2h.CodeValidation, "resolution"},
		{"bad UTF-8", listed(), otherToken, "{\"resolution\":\"declined\",\"comment\":\"\xff\"}", 400, ma2h.CodeValidation, ""},
		{"may not answer", w.submit(mine(map[string]any{
			"allowed_resolvers": []string{"agent:" + otherbot}, "permissions": map[string]any{"allow_respond": false},
		})), otherToken, `{"resolution":"answered","value":"ship"}`, 422, ma2h.CodeInvalidField, "allow_respond"},
		{"may not decline", w.submit(mine(map[string]any{
			"allowed_resolvers": []string{"agent:" + otherbot}, "permissions": map[string]any{"allow_ignore": false},
		})), otherToken, `{"resolution":"declined"}`, 422, ma2h.CodeInvalidField, "allow_ignore"},
		{"notify", w.submit(notify(map[string]any{"tags": []string{"closed"}})), deployToken, `{"resolution":"declined"}`, 422, ma2h.CodeInvalidField, "resolution"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := w.in(t)
			r := w.do("POST", "/v1/messages/"+tt.id+"/resolve", tt.token, tt.body).want(tt.status, tt.code)
			if tt.field != "" && !strings.Contains(r.text("error.message"), tt.field) {
				t.Errorf("does not name %s: %s", tt.field, r.body)
			}
			if tt.status == 200 && (r.text("id") != tt.id || !strings.HasPrefix(r.text("resolution_id"), "res_") || strings.Contains(r.body, "secret")) {
				t.Errorf("body %s", r.body)
			}
		})
	}

	id := listed()
	first := w.do("POST", "/v1/messages/"+id+"/resolve", otherToken, `{"resolution":"answered","value":"ship"}`).want(200, "")
	late := w.do("POST", "/v1/messages/"+id+"/resolve", deployToken, `{"resolution":"declined"}`).want(409, ma2h.CodeAlreadyTerminal)
	if late.text("id") != id || late.text("status") != "answered" || late.text("resolution") != "answered" || late.field("resolution_id") != nil {
		t.Errorf("late: %s", late.body)
	}
	got := w.do("GET", "/v1/messages/"+id, deployToken, "")
	if got.text("response.resolution_id") != first.text("resolution_id") || got.text("response.response.actor") != "agent:"+otherbot {
		t.Errorf("the second changed something: %s", got.body)
	}
}

// TestLateAnswerExpires: an answer after the time that finds no expiry run yet
// is 409 expired, and the message is expired from then on.
func TestLateAnswerExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		id := w.submit(ask(map[string]any{
			"tags": []string{"closed"}, "expires_at": time.Now().Add(2 * time.Second).UTC().Format(time.RFC3339Nano),
			"request": with(map[string]any{"default_on_expire": "hold"}),
		}))
		time.Sleep(3 * time.Second)
		r := w.do("POST", "/v1/messages/"+id+"/resolve", deployToken, `{"resolution":"declined"}`).want(409, ma2h.CodeAlreadyTerminal)
		if r.text("resolution") != "expired" {
			t.Errorf("late: %s", r.body)
		}
		r = w.do("GET", "/v1/messages/"+id, deployToken, "").want(200, "")
		if r.text("status") != "expired" || r.text("response.response.value") != "hold" || r.field("response.defaulted") != true {
			t.Errorf("read: %s", r.body)
		}
	})
}

func TestList(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	var ids []string
	for range 5 {
		ids = append(ids, w.submit(ask(nil)))
	}
	ids = append(ids, w.submit(task(nil)), w.submit(notify(nil)))
	w.answer(ids[0], 1)
	w.do("POST", "/v1/messages", otherToken, strings.ReplaceAll(ask(nil), deploybot, otherbot)).want(202, "")

	page := func(query string) (got []string, cursor string) {
		r := w.do("GET", "/v1/messages?"+query, deployToken, "").want(200, "")
		for _, m := range r.field("messages").([]any) {
			got = append(got, m.(map[string]any)["id"].(string))
		}
		return got, r.text("next_cursor")
	}
	var all []string
	for cursor, n := "", 0; n < 10; n++ {
		got, next := page("limit=2&cursor=" + cursor)
		all = append(all, got...)
		if next == "" {
			break
		}
		cursor = next
	}
	slices.Sort(ids) // by time, and at random within a millisecond
	slices.Reverse(ids)
	if !slices.Equal(all, ids) {
		t.Fatalf("paged %v, want %v", all, ids)
	}
	if got, next := page("limit=7"); len(got) != 7 || next != "" {
		t.Errorf("a full last page: %d messages, cursor %q", len(got), next)
	}
	for query, want := range map[string]int{
		"": 7, "status=open": 5, "status=answered": 1, "status=delivered": 1, "type=task": 1, "type=ask&status=open": 4,
		"limit=100000": 7, "status=expired": 0,
	} {
		if got, _ := page(query); len(got) != want {
			t.Errorf("%q: %d messages, want %d", query, len(got), want)
		}
	}
	for query, field := range map[string]string{
		"status=closed": "status", "type=question": "type", "limit=0": "limit", "limit=x": "limit", "cursor=a%20b": "cursor",
	} {
		r := w.do("GET", "/v1/messages?"+query, deployToken, "").want(400, ma2h.CodeValidation)
		if !strings.Contains(r.text("error.message"), field) {
			t.Errorf("%q: does not name %s: %s", query, field, r.body)
		}
	}
}

func TestAdmin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(_ *hub.Directory, o *api.Options) { o.Version = "1.2.3" })
		dead := w.submit(ask(map[string]any{"tags": []string{"chat"}, "body": "XBODY", "state": map[string]any{"k": "XSTATE"}}))
		fine := w.submit(ask(nil))
		synctest.Wait() // the outbox has tried both
		admin := func(method, path, body string) *reply { return w.do(method, "/admin/v1"+path, operatorToken, body) }

		r := admin("GET", "/messages?agent="+deploybot, "").want(200, "")
		if len(r.field("messages").([]any)) != 2 {
			t.Errorf("list %s", r.body)
		}
		if r := admin("GET", "/messages?agent=nobody", ""); len(r.field("messages").([]any)) != 0 {
			t.Errorf("list of nobody %s", r.body)
		}
		r = admin("GET", "/messages/"+dead, "").want(200, "")
		for _, want := range []string{`"route":"chat"`, `"state":"dead"`, `"not_invited"`, `"target":"chat:#deploys"`, `"tries":[{"n":1`, `"ask":["alice"]`} {
			if !strings.Contains(r.body, want) {
				t.Errorf("inspect has no %s: %s", want, r.body)
			}
		}
		if strings.Contains(r.body, "XBODY") || strings.Contains(r.body, "XSTATE") {
			t.Errorf("inspect shows content: %s", r.body)
		}
		if r := admin("GET", "/messages/"+fine, "").want(200, ""); !strings.Contains(r.body, `"postings":[{"seq":0,"target":"web:alice"`) {
			t.Errorf("no posting: %s", r.body)
		}
		r = admin("GET", "/messages/"+dead+"/events", "").want(200, "")
		if r.field("verified") != true || !strings.Contains(r.body, `"kind":"submitted"`) {
			t.Errorf("events %s", r.body)
		}

		if r := admin("GET", "/messages/"+fine+"/inbound", "").want(200, ""); len(r.field("inbound").([]any)) != 0 {
			t.Errorf("inbound %s", r.body)
		}

		r = admin("GET", "/deliveries?state=dead&channel=chat", "").want(200, "")
		if ds := r.field("deliveries").([]any); len(ds) != 1 || ds[0].(map[string]any)["message_id"] != dead {
			t.Errorf("deliveries %s", r.body)
		}
		admin("GET", "/deliveries?state=lost", "").want(400, ma2h.CodeValidation)
		first := admin("GET", "/deliveries?limit=1", "").want(200, "")
		rest := admin("GET", "/deliveries?limit=1&cursor="+first.text("next_cursor"), "").want(200, "")
		if first.text("next_cursor") == "" || rest.text("next_cursor") != "" || first.body == rest.body {
			t.Errorf("pages %s %s", first.body, rest.body)
		}

		admin("POST", "/deliveries/"+dead+"/0/retry", "").want(200, "")
		synctest.Wait()
		if r := admin("GET", "/messages/"+dead, ""); !strings.Contains(r.body, `"n":2`) {
			t.Errorf("no second try: %s", r.body)
		}
		admin("POST", "/deliveries/"+dead+"/7/retry", "").want(404, ma2h.CodeNotFound)
		admin("POST", "/deliveries/"+dead+"/x/retry", "").want(404, ma2h.CodeNotFound)
		admin("POST", "/deliveries/"+fine+"/0/retry", "").want(422, ma2h.CodeInvalidField)

		if r := admin("POST", "/messages/"+fine+"/post", ""); r.want(200, "").field("deliveries") != 0.0 {
			t.Errorf("posted where a copy stands: %s", r.body)
		}
		if r := admin("POST", "/messages/"+fine+"/post", `{"all":true}`); r.want(200, "").field("deliveries") != 1.0 {
			t.Errorf("did not post everywhere: %s", r.body)
		}
		admin("POST", "/messages/"+fine+"/post", `{"every":true}`).want(400, ma2h.CodeValidation)
		admin("POST", "/messages/msg_none/post", "").want(404, ma2h.CodeNotFound)

		r = admin("GET", "/stats", "").want(200, "")
		if r.text("version") != "1.2.3" || r.field("open.ask") != 2.0 || !strings.Contains(r.body, `"lane":"chat"`) {
			t.Errorf("stats %s", r.body)
		}

		if r := admin("POST", "/messages/"+fine+"/cancel", "").want(200, ""); r.text("status") != "cancelled" {
			t.Errorf("cancel %s", r.body)
		}
		w.answer(dead, 1)
		if r := admin("POST", "/messages/"+dead+"/cancel", "").want(409, ma2h.CodeAlreadyTerminal); r.text("resolution") != "answered" {
			t.Errorf("late cancel %s", r.body)
		}
		for _, path := range []string{"/messages/msg_none", "/messages/msg_none/events", "/messages/msg_none/inbound"} {
			admin("GET", path, "").want(404, ma2h.CodeNotFound)
		}
		admin("POST", "/messages/msg_none/cancel", "").want(404, ma2h.CodeNotFound)
		synctest.Wait()
	})
}
