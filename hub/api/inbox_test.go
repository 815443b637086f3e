package api_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"beckon/hub"
	"beckon/hub/api"
	"beckon/hub/ma2h"
)

const inboxSecret = "inbox-secret-0123456789abcdef"

// withInboxes lets alice write to deploybot and bob to the other bot.
func withInboxes(d *hub.Directory, _ *api.Options) {
	d.Agents[deploybot].Directors, d.Agents[deploybot].InboxKey = []string{"alice"}, hub.NewSecret(inboxSecret)
	d.Agents[otherbot].Directors, d.Agents[otherbot].InboxKey = []string{"bob"}, hub.NewSecret("other-secret-0123456789abcdef")
}

// direct is what somebody writes on the page; it returns the id.
func (w *world) direct(person, agent, body string) string {
	w.t.Helper()
	o, err := w.hub.Desk("web").Direct(w.t.Context(), hub.Direction{AgentID: agent, Person: person, Body: body})
	if err != nil || o.Kind != hub.Accepted {
		w.t.Fatalf("direct: %+v, %v", o, err)
	}
	return o.ID
}

// fits holds a body against a schema of the protocol, where that is at hand.
func fits(t *testing.T, schema, body string) {
	t.Helper()
	if os.Getenv("BECKON_SHARED") != "" {
		validShared(t, sharedSchema(t, schema), body)
	}
}

// TestDelivery: what a read of the answer says of its delivery, and the
// acknowledgement of it.
func TestDelivery(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for _, version := range []string{"0.3", "0.4", "0.5"} {
		id := w.submit(ask(map[string]any{"ma2h_version": version}))
		path := "/v1/messages/" + id
		if r := w.do("GET", path, deployToken, "").want(200, ""); r.field("delivery") != nil {
			t.Errorf("open: %s", r.body)
		}
		w.do("POST", path+"/ack", deployToken, "").want(409, ma2h.CodeNotAcknowledgeable)
		w.answer(id, 1)
		w.do("POST", path+"/ack", deployToken, "").want(409, ma2h.CodeNotAcknowledgeable)
		first := w.do("GET", path, deployToken, "").want(200, "")
		if first.text("delivery.state") != "delivered-to-agent" || first.text("delivery.delivered_at") == "" {
			t.Errorf("answered: %s", first.body)
		}
		if again := w.do("GET", path, deployToken, ""); again.body != first.body {
			t.Errorf("read twice: %s, then %s", first.body, again.body)
		}
		a := w.do("POST", path+"/ack", deployToken, `{"note":"<b>on it</b>"}`).want(200, "")
		if a.text("by") != "agent:"+deploybot || a.text("in_reply_to") != id || a.text("note") != "<b>on it</b>" || a.text("ma2h_version") != "0.5" {
			t.Errorf("ack %s", a.body)
		}
		fits(t, "ack.schema.json", a.body)
		if again := w.do("POST", path+"/ack", deployToken, `{"note":"else"}`).want(200, ""); again.body != a.body {
			t.Errorf("acked twice: %s, then %s", a.body, again.body)
		}
		last := w.do("GET", path, deployToken, "").want(200, "")
		if last.text("delivery.state") != "acknowledged" || last.text("delivery.acknowledged_at") != a.text("acked_at") || last.text("delivery.ack.note") != "<b>on it</b>" {
			t.Errorf("acknowledged: %s", last.body)
		}
		if r := w.do("GET", "/admin/v1/messages/"+id, operatorToken, "").want(200, ""); r.text("track") != "acknowledged" ||
			r.text("delivered_at") == "" || r.text("acked_at") == "" || strings.Contains(r.body, "on it") {
			t.Errorf("for an operator: %s", r.body)
		}
		if version == "0.5" {
			fits(t, "get-message.schema.json", first.body)
			fits(t, "get-message.schema.json", last.body)
		}
	}
	n := w.submit(notify(nil))
	w.do("POST", "/v1/messages/"+n+"/ack", deployToken, "{}").want(409, ma2h.CodeNotAcknowledgeable)
	if r := w.do("GET", "/v1/messages/"+n, deployToken, ""); r.field("delivery") != nil {
		t.Errorf("notify: %s", r.body)
	}
}

// TestNotModifiedDeliversNothing: 304 has no answer in it.
func TestNotModifiedDeliversNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.submit(ask(nil))
	w.answer(id, 1)
	w.do("GET", "/v1/messages/"+id+"?since=2100-01-01T00:00:00Z", deployToken, "").want(304, "")
	w.do("POST", "/v1/messages/"+id+"/ack", deployToken, "").want(409, ma2h.CodeNotAcknowledgeable)
}

// TestAnswerToAPollWithSince: a clock that is ahead does not keep the answer from
// a poll that waits for it.
func TestAnswerToAPollWithSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		id := w.submit(ask(nil))
		go func() {
			time.Sleep(3 * time.Second)
			w.answer(id, 1)
		}()
		r := w.do("GET", "/v1/messages/"+id+"?wait=60&since=2100-01-01T00:00:00Z", deployToken, "").want(200, "")
		if r.text("status") != "answered" || r.text("delivery.state") != "delivered-to-agent" {
			t.Errorf("body %s", r.body)
		}
	})
}

// TestClientLeavesBeforeTheAnswer: what nobody is there to get is not delivered.
func TestClientLeavesBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withInboxes)
	addr, _ := w.serve(nil)
	id := w.submit(ask(nil))
	for _, path := range []string{"/v1/messages/" + id, "/v1/inbox"} {
		c := dial(t, addr)
		fmt.Fprintf(c, "GET %s?wait=60 HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n\r\n", path, deployToken)
		w.parked(1)
		c.Close()
		w.parked(0)
	}
	w.answer(id, 1)
	w.do("POST", "/v1/messages/"+id+"/ack", deployToken, "").want(409, ma2h.CodeNotAcknowledgeable)
	w.direct("alice", deploybot, "go")
	sent, err := w.hub.Desk("web").Sent(t.Context(), "alice", hub.SentQuery{Limit: 1})
	if err != nil || len(sent) != 1 || sent[0].State != hub.DirectiveQueued {
		t.Errorf("sent %+v, %v", sent, err)
	}
}

// TestInbox: the body that an agent drains, and its acknowledgement.
func TestInbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withInboxes)
	if r := w.do("GET", "/v1/inbox", deployToken, "").want(200, ""); r.body != `{"messages":[]}` {
		t.Errorf("empty: %s", r.body)
	}
	var ids []string
	for _, body := range []string{"first <&>", "second\n\nwith *more*", "third"} {
		ids = append(ids, w.direct("alice", deploybot, body))
	}
	r := w.do("GET", "/v1/inbox?max=2", deployToken, "").want(200, "")
	var got struct {
		Messages []struct {
			Directive json.RawMessage
			Signature string
		}
	}
	if err := json.Unmarshal([]byte(r.body), &got); err != nil || len(got.Messages) != 2 {
		t.Fatalf("%v: %s", err, r.body)
	}
	v := &ma2h.Verifier{Secrets: [][]byte{[]byte(inboxSecret)}, Window: 5 * time.Minute}
	for i, m := range got.Messages {
		d, err := v.VerifyDirective(m.Signature, m.Directive, deploybot, time.Now())
		if err != nil || d.ID != ids[i] || d.From != "human:alice" {
			t.Errorf("entry %d: %+v, %v", i, d, err)
		}
		fits(t, "inbound-message.schema.json", string(m.Directive))
	}
	if r := w.do("GET", "/v1/inbox?max=500&wait=0", deployToken, "").want(200, ""); strings.Count(r.body, `"directive":`) != 1 || !strings.Contains(r.body, ids[2]) {
		t.Errorf("the rest: %s", r.body)
	}
	if r := w.do("GET", "/v1/inbox", otherToken, "").want(200, ""); r.body != `{"messages":[]}` {
		t.Errorf("the other's: %s", r.body)
	}
	ack := func(token, body string) string { return w.do("POST", "/v1/inbox/ack", token, body).want(200, "").body }
	all := `{"ids":["` + strings.Join(ids, `","`) + `","dir_x","","../.."],"note":"on it"}`
	for _, tt := range []struct{ token, body, want string }{
		{otherToken, all, `{"acked":0}`},
		{deployToken, `{"ids":["` + ids[1] + `"]}`, `{"acked":1}`},
		{deployToken, all, `{"acked":2}`},
		{deployToken, all, `{"acked":0}`},
		{deployToken, `{"ids":[]}`, `{"acked":0}`},
	} {
		if got := ack(tt.token, tt.body); got != tt.want {
			t.Errorf("ack %s: %s, want %s", tt.body, got, tt.want)
		}
	}
}

// TestInboxWaits for what comes, and lets go when the hub stops.
func TestInboxWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, withInboxes)
		timed := func(query string) (*reply, time.Duration) {
			began := time.Now()
			r := w.do("GET", "/v1/inbox"+query, deployToken, "").want(200, "")
			return r, time.Since(began)
		}
		if r, took := timed("?wait=3600"); took != time.Minute || r.body != `{"messages":[]}` {
			t.Errorf("after %v: %s", took, r.body)
		}
		go func() {
			time.Sleep(7 * time.Second)
			w.direct("alice", deploybot, "go")
		}()
		if r, took := timed("?wait=60"); took != 7*time.Second || !strings.Contains(r.body, `"title":"go"`) {
			t.Errorf("after %v: %s", took, r.body)
		}
		go func() {
			time.Sleep(3 * time.Second)
			w.api.Drain()
		}()
		if r, took := timed("?wait=60"); took != 3*time.Second || r.body != `{"messages":[]}` {
			t.Errorf("at shutdown after %v: %s", took, r.body)
		}
		if _, took := timed("?wait=60"); took != 0 {
			t.Errorf("a new poll waited %v while the hub shuts down", took)
		}
	})
}

// TestInboxRefusals: every status that openapi.yaml has for the new paths.
func TestInboxRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(d *hub.Directory, o *api.Options) {
		withInboxes(d, o)
		d.Agents["keyless"] = &hub.Agent{
			ID: "keyless", Tokens: []hub.TokenHash{hub.HashToken("keyless-token-1")}, Directors: []string{"alice"},
		}
	})
	gone := w.submit(notify(nil))
	for n := 0; n == 0; { // a post that has begun keeps the message until it has ended
		var err error
		if n, err = w.st.Purge(t.Context(), time.Now().Add(31*24*time.Hour), 31*24*time.Hour-time.Hour, 10); err != nil || t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
	id := w.submit(ask(nil))
	w.answer(id, 1)
	w.do("GET", "/v1/messages/"+id, deployToken, "")
	w.direct("alice", "keyless", "go")
	const msg = "/v1/messages/"
	large := `{"note":"` + strings.Repeat("x", 64<<10) + `"}`
	for _, tt := range []struct {
		method, path, token, body string
		status                    int
		code                      ma2h.Code
	}{
		{"POST", msg + id + "/ack", "", "{}", 401, ma2h.CodeUnauthenticated},
		{"POST", msg + id + "/ack", "wrong", "{}", 401, ma2h.CodeUnauthenticated},
		{"POST", msg + id + "/ack", operatorToken, "{}", 403, ma2h.CodeNotAuthorized},
		{"POST", msg + id + "/ack", otherToken, "{}", 404, ma2h.CodeNotFound},
		{"POST", msg + "msg_x/ack", deployToken, "{}", 404, ma2h.CodeNotFound},
		{"POST", msg + "a%2Fb/ack", deployToken, "{}", 404, ma2h.CodeNotFound},
		{"POST", msg + id + "/ack", deployToken, "{", 400, ma2h.CodeValidation},
		{"POST", msg + id + "/ack", deployToken, `{"note":[]}`, 400, ma2h.CodeValidation},
		{"POST", msg + id + "/ack", deployToken, large, 422, ma2h.CodeInvalidField},
		{"POST", msg + id + "/ack", deployToken, `{"note":"` + strings.Repeat("x", 2001) + `"}`, 422, ma2h.CodeInvalidField},
		{"POST", msg + gone + "/ack", deployToken, "{}", 410, ma2h.CodeGone},
		{"POST", msg + gone + "/ack", otherToken, "{}", 404, ma2h.CodeNotFound},

		{"GET", "/v1/inbox", "", "", 401, ma2h.CodeUnauthenticated},
		{"GET", "/v1/inbox", operatorToken, "", 403, ma2h.CodeNotAuthorized},
		{"GET", "/v1/inbox?max=0", deployToken, "", 400, ma2h.CodeValidation},
		{"GET", "/v1/inbox?max=many", deployToken, "", 400, ma2h.CodeValidation},
		{"GET", "/v1/inbox?wait=-1", deployToken, "", 400, ma2h.CodeValidation},
		{"GET", "/v1/inbox", "keyless-token-1", "", 503, ma2h.CodeUnavailable},
		{"POST", "/v1/inbox", deployToken, "{}", 405, ma2h.CodeMethodNotAllowed},

		{"POST", "/v1/inbox/ack", "", "{}", 401, ma2h.CodeUnauthenticated},
		{"POST", "/v1/inbox/ack", operatorToken, "{}", 403, ma2h.CodeNotAuthorized},
		{"POST", "/v1/inbox/ack", deployToken, "", 400, ma2h.CodeValidation},
		{"POST", "/v1/inbox/ack", deployToken, `{"ids":"dir_x"}`, 400, ma2h.CodeValidation},
		{"POST", "/v1/inbox/ack", deployToken, large, 422, ma2h.CodeInvalidField},
		{"GET", "/v1/inbox/ack", deployToken, "", 405, ma2h.CodeMethodNotAllowed},

		{"GET", "/v1/agents/x/presence", "", "", 401, ma2h.CodeUnauthenticated},
		{"GET", "/v1/agents/x", deployToken, "", 404, ma2h.CodeNotFound},
		{"GET", "/v1/agents//presence", deployToken, "", 404, ma2h.CodeNotFound},
		{"POST", "/v1/agents/x/presence", deployToken, "{}", 405, ma2h.CodeMethodNotAllowed},
	} {
		r := w.do(tt.method, tt.path, tt.token, tt.body)
		if r.status != tt.status || r.text("error.code") != string(tt.code) {
			t.Errorf("%s %s %.30s: %d %s, want %d %s", tt.method, tt.path, tt.body, r.status, r.body, tt.status, tt.code)
		}
	}
	for _, path := range []string{msg + id + "/ack", "/v1/inbox/ack"} {
		w.do("POST", path, deployToken, "{}", "Content-Type: ", "Content-Type: text/plain").want(415, ma2h.CodeUnsupportedMediaType)
	}
}

// TestPresence: the agent itself and operators read it; to others there is no
// difference between an agent that is there, one that is not, and none.
func TestPresence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, withInboxes)
		const path = "/v1/agents/deploybot%2Fdev-team/presence"
		w.do("GET", "/v1/inbox", deployToken, "").want(200, "")
		seen := ma2h.FormatTime(time.Now())
		want := `{"agent_id":"deploybot/dev-team","state":"%s","last_seen":"` + seen + `","freshness_seconds":90}`
		for _, token := range []string{deployToken, operatorToken} {
			if r := w.do("GET", path, token, "").want(200, ""); r.body != fmt.Sprintf(want, "online") {
				t.Errorf("body %s", r.body)
			}
		}
		if r := w.send("GET", "/v1/agents/deploybot/dev-team/presence", deployToken, "").want(200, ""); r.body != fmt.Sprintf(want, "online") {
			t.Errorf("with a plain slash: %s", r.body)
		}
		unknown := w.do("GET", "/v1/agents/no-such%2Fbot/presence", otherToken, "").want(200, "")
		for _, token := range []string{otherToken} {
			r := w.do("GET", path, token, "").want(200, "")
			if strings.Replace(r.body, "deploybot/dev-team", "no-such/bot", 1) != unknown.body || r.text("state") != "unknown" || r.field("last_seen") != nil {
				t.Errorf("to another: %s, of nobody: %s", r.body, unknown.body)
			}
		}
		if r := w.do("GET", "/v1/agents/other%2Fbot/presence", otherToken, "").want(200, ""); r.text("state") != "unknown" {
			t.Errorf("of oneself, never seen: %s", r.body)
		}
		time.Sleep(91 * time.Second)
		r := w.do("GET", path, deployToken, "").want(200, "")
		if r.body != fmt.Sprintf(want, "offline") {
			t.Errorf("later: %s", r.body)
		}
		fits(t, "presence.schema.json", r.body)
		fits(t, "presence.schema.json", unknown.body)
	})
}

// TestDiscoveryOfPushes: callbacks are announced with the keys that verify them,
// where the hub pushes.
func TestDiscoveryOfPushes(t *testing.T) {
	t.Parallel()
	key := ed25519.NewKeyFromSeed(make([]byte, 32)).Public().(ed25519.PublicKey)
	x := base64.RawURLEncoding.EncodeToString(key)
	jwks := `{"keys":[{"kty":"OKP","crv":"Ed25519","use":"sig","alg":"EdDSA","kid":"k1","x":"` + x + `"}]}`
	for _, tt := range []struct {
		rules          hub.PushRules
		jwks           string
		algs, versions string
	}{
		{hub.PushRules{}, jwks, "[hmac-sha256 ed25519]", "[0.1 0.3 0.4 0.5]"},
		{hub.PushRules{RefuseV01: true}, "", "[hmac-sha256]", "[0.3 0.4 0.5]"},
	} {
		w := newWorld(t, func(d *hub.Directory, o *api.Options) {
			d.Push = &tt.rules
			if tt.jwks != "" {
				o.JWKS = []byte(tt.jwks)
			}
		})
		r := w.do("GET", "/.well-known/ma2h", "", "").want(200, "")
		for path, want := range map[string]string{
			"callback_auth_schemes": "[hmac bearer apikey]", "signature_algs": tt.algs, "callbacks.versions": tt.versions,
			"callbacks.max_attempts": "12", "callbacks.max_duration_seconds": "86400",
		} {
			if got := fmt.Sprint(r.field(path)); got != want {
				t.Errorf("%s is %s, want %s", path, got, want)
			}
		}
		if got := r.field("jwks.keys"); (got != nil) != (tt.jwks != "") || got != nil && got.([]any)[0].(map[string]any)["x"] != x {
			t.Errorf("keys %v", got)
		}
		fits(t, "capability.schema.json", r.body)
	}
}
