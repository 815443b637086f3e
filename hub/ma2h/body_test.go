package ma2h_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"beckon/hub/ma2h"

	"github.com/google/go-cmp/cmp"
)

func TestAppendMessageKeepsWhatTheAgentOwns(t *testing.T) {
	t.Parallel()
	owned := map[string]string{
		"state":    `{ "b" : 1.0, "a":"<&>\u00e9\/ ", "n":12345678901234567890, "e":[ ] }`,
		"data":     `{"z":1,  "a":1e2}`,
		"metadata": `{"m" :null}`,
		"schema":   `{"type":"object" ,"properties":{}}`,
		"default":  `{"x":-0.0}`,
	}
	doc := `{"ma2h_version":"0.5","type":"ask","created_at":"2026-12-01T10:00:00Z","idempotency_key":"k",` +
		`"agent":{"id":"a","run_id":"r","runtime":"cli"},"title":"a <b> & c","state": ` + owned["state"] + ` ,` +
		`"context":[{"kind":"data","data":` + owned["data"] + `,"metadata":` + owned["metadata"] + `}],` +
		`"request":{"mode":"input","schema":` + owned["schema"] + `,"default_on_expire":` + owned["default"] + `}}`
	body := ma2h.AppendMessage(nil, mustJudge(t, []byte(doc)), "msg_1", ma2h.Open, nil, nil, nil)
	for name, want := range owned {
		if !bytes.Contains(body, []byte(want)) {
			t.Errorf("%s did not come back as it came:\n%s", name, body)
		}
	}
	if !bytes.Contains(body, []byte(`"a <b> & c"`)) {
		t.Errorf("HTML was escaped: %s", body)
	}
}

func TestAppendMessageDropsWhatWasSmuggledIn(t *testing.T) {
	t.Parallel()
	smuggled := `"status":"answered","response":{"evil":1},"delivery":{"evil":1},"mailbox":{"evil":1},"beckon":{"evil":1},` +
		`"id":"evil","from":"human:evil","evil":{"evil":1}`
	doc := `{` + smuggled + `,"ma2h_version":"0.5","type":"ask","created_at":"2026-12-01T10:00:00Z","idempotency_key":"k",` +
		`"title":"t","agent":{"id":"a","run_id":"r","runtime":"cli","evil":1},` +
		`"context":[{"kind":"text","text":"x","evil":1},{"kind":"file","file":{"uri":"https://e.com/","evil":1}}],` +
		`"request":{"mode":"select","evil":1,"options":[{"value":"v","label":"l","evil":1}],"permissions":{"evil":true},` +
		`"callback":{"mode":"push","url":"https://e.com/","evil":1,"auth":{"scheme":"hmac","secret_ref":"S","evil":1}}}}`
	body := ma2h.AppendMessage(nil, mustJudge(t, []byte(doc)), "msg_1", ma2h.Open, nil, nil, nil)
	if bytes.Contains(body, []byte("evil")) {
		t.Errorf("something survived: %s", body)
	}
	for _, name := range []string{"response", "delivery", "mailbox", "beckon", "from"} {
		var m map[string]json.RawMessage
		if err := json.Unmarshal(body, &m); err != nil {
			t.Fatal(err)
		}
		if m[name] != nil {
			t.Errorf("%s survived", name)
		}
	}
}

func TestAppendMessageLeavesImpliedOptionsOut(t *testing.T) {
	t.Parallel()
	body := ma2h.AppendMessage(nil, mustJudge(t, envelope(t, "ask", nil)), "msg_1", ma2h.Open, nil, nil, nil)
	if bytes.Contains(body, []byte("approve")) {
		t.Errorf("options that the agent did not send: %s", body)
	}
}

// response is a valid Response of 0.5; change it and try.
func response() *ma2h.Response {
	return &ma2h.Response{
		Version: "0.5", InReplyTo: "msg_1", ResolutionID: "res_1", Resolution: ma2h.Answered,
		Agent: ma2h.ResponseAgent{ID: "deploybot/dev-team", RunID: "run_1"},
		Response: &ma2h.Detail{
			Value: []byte(`"hold"`), Actor: "human:alice", ResolvedAt: "2026-12-01T10:00:00.000Z", Comment: "<why>",
		},
		State: []byte(`{ "a" : "<\u00e9" }`),
	}
}

func mustMarshal(t testing.TB, r *ma2h.Response) []byte {
	t.Helper()
	raw, err := r.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestBodiesSuitTheSchemas holds what goes out, in every version and in every
// state, to that version's schema.
func TestBodiesSuitTheSchemas(t *testing.T) {
	t.Parallel()
	s := newSchemas(t)
	list := []ma2h.ChecklistItem{{Text: "a", Done: false}, {Text: "b", Done: true}}
	n := 0
	for _, version := range []string{"0.2", "0.3", "0.4", "0.5"} {
		for _, tt := range []struct {
			typ    string
			status ma2h.Status
			change func(*ma2h.Response)
		}{
			{"notify", ma2h.Delivered, nil},
			{"ask", ma2h.Open, nil},
			{"task", ma2h.Open, nil},
			{"ask", ma2h.Answered, func(*ma2h.Response) {}},
			{"ask", ma2h.Declined, func(r *ma2h.Response) { r.Response.Value = nil }},
			{"ask", ma2h.Cancelled, func(r *ma2h.Response) { r.Response.Value, r.Response.Actor = nil, "agent:a" }},
			{"ask", ma2h.Expired, func(r *ma2h.Response) { r.Defaulted, r.Response.Actor = true, ma2h.ActorDefault }},
			{"ask", ma2h.Expired, func(r *ma2h.Response) { r.Response.Value, r.Response.Actor = nil, ma2h.ActorExpiry }},
			{"task", ma2h.Completed, func(r *ma2h.Response) { r.Response.Value, r.Response.Checklist = nil, list }},
			{"task", ma2h.Dismissed, func(r *ma2h.Response) { r.Response.Value, r.State = nil, nil }},
			{"task", ma2h.Expired, func(r *ma2h.Response) { r.Response.Value, r.Response.Actor = nil, ma2h.ActorExpiry }},
		} {
			e := mustJudge(t, envelope(t, tt.typ, map[string]any{
				"ma2h_version": version, "state": raw(`{"a":null}`), "tags": []string{"x"},
				"context": raw(`[{"kind":"text","text":"x"},{"kind":"file","file":{"uri":"https://e.com/a","name":"a"}}]`),
			}))
			var response1, delivery, extras []byte
			if tt.change != nil {
				r := response()
				r.Version, r.Resolution = version, tt.status
				tt.change(r)
				response1 = mustMarshal(t, r)
				s.check(t, "v"+version+"/response", response1)
				delivery = []byte(`{"state":"delivered-to-agent","delivered_at":"2026-12-01T10:00:00Z"}`)
				extras = []byte(`{"deliveries":[]}`)
			}
			body := ma2h.AppendMessage(nil, e, "msg_1", tt.status, response1, delivery, extras)
			s.check(t, "v"+version+"/get-message", body)
			got, err := ma2h.ParseMessageBody(body)
			if err != nil {
				t.Errorf("%s: %v", body, err)
				continue
			}
			if got.ID != "msg_1" || got.Status != tt.status || !bytes.Equal(got.RawResponse, response1) ||
				!bytes.Equal(got.Delivery, delivery) || !bytes.Equal(got.Beckon, extras) || (got.Response == nil) != (response1 == nil) {
				t.Errorf("%s reads as %+v", body, got)
			}
			n++
		}
	}
	t.Logf("%d bodies checked", n)
}

func TestResponseRoundTrip(t *testing.T) {
	t.Parallel()
	want := response()
	want.Response.Edited = true
	raw := mustMarshal(t, want)
	got, err := ma2h.ParseResponse(raw)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !bytes.Contains(raw, want.State) || !bytes.Contains(raw, []byte("<why>")) {
		t.Errorf("not as it was: %s", raw)
	}
	task := response()
	task.Resolution, task.Response.Value = ma2h.Completed, nil
	task.Response.Checklist = []ma2h.ChecklistItem{{Text: "a"}}
	if raw := mustMarshal(t, task); !bytes.Contains(raw, []byte(`"done":false`)) {
		t.Errorf("done:false is lost: %s", raw)
	}
}

// edit swaps text in a document, and fails if there is none to swap.
func edit(t *testing.T, doc, old, now string) []byte {
	t.Helper()
	if !strings.Contains(doc, old) {
		t.Fatalf("no %q in %s", old, doc)
	}
	return []byte(strings.Replace(doc, old, now, 1))
}

func wantField(t *testing.T, err error, field string) {
	t.Helper()
	e, ok := errors.AsType[*ma2h.Error](err)
	if !ok || e.Field != field {
		t.Errorf("got %v, want a fault of %q", err, field)
	}
}

func TestParseResponseRefuses(t *testing.T) {
	t.Parallel()
	doc := string(mustMarshal(t, response()))
	tests := []struct{ name, old, now, field string }{
		{"no version", `"ma2h_version":"0.5",`, ``, "ma2h_version"},
		{"major", `"0.5"`, `"1.5"`, "ma2h_version"},
		{"in_reply_to empty", `"msg_1"`, `""`, "in_reply_to"},
		{"in_reply_to missing", `"in_reply_to":"msg_1",`, ``, "in_reply_to"},
		{"resolution_id missing", `"resolution_id":"res_1",`, ``, "resolution_id"},
		{"resolution_id elsewhere", `"res_1"`, `"rcpt_1"`, "resolution_id"},
		{"resolution_id bare", `"res_1"`, `"res_"`, "resolution_id"},
		{"no agent", `"agent":{"id":"deploybot/dev-team","run_id":"run_1"},`, ``, "agent.id"},
		{"no run_id", `,"run_id":"run_1"`, ``, "agent.run_id"},
		{"ignored", `"resolution":"answered"`, `"resolution":"ignored"`, "resolution"},
		{"no resolution", `"resolution":"answered",`, ``, "resolution"},
		{"defaulted but answered", `"defaulted":false`, `"defaulted":true`, "resolution"},
		{"defaulted null", `"defaulted":false`, `"defaulted":null`, "defaulted"},
		{"state null", `{ "a" : "<\u00e9" }`, `null`, "state"},
		{"state string", `{ "a" : "<\u00e9" }`, `"x"`, "state"},
		{"value null", `"hold"`, `null`, "response.value"},
		{"value number", `"hold"`, `5`, "response.value"},
		{"value list", `"hold"`, `["hold"]`, "response.value"},
		{"actor bare", `"human:alice"`, `"alice"`, "response.actor"},
		{"actor empty", `"human:alice"`, `""`, "response.actor"},
		{"actor of two lines", `"human:alice"`, `"human:a\nb"`, "response.actor"},
		{"no resolved_at", `,"resolved_at":"2026-12-01T10:00:00.000Z"`, ``, "response.resolved_at"},
		{"resolved_at a date", `"2026-12-01T10:00:00.000Z"`, `"2026-12-01"`, "response.resolved_at"},
		{"checklist on an ask", `"comment"`, `"checklist":[],"comment"`, "response.checklist"},
		{"comment null", `"comment":"<why>"`, `"comment":null`, "response.comment"},
		{"response null", `"response":{`, `"response":null,"x":{`, "response"},
		{"response list", `"response":{`, `"response":[],"x":{`, "response"},
		{"duplicate", `"actor":`, `"actor":"human:bob","actor":`, "response.actor"},
		{"trailing", `"defaulted"`, `}{"defaulted"`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ma2h.ParseResponse(edit(t, doc, tt.old, tt.now))
			wantField(t, err, tt.field)
		})
	}
	t.Run("defaulted by a person", func(t *testing.T) {
		r := response()
		r.Resolution, r.Defaulted = ma2h.Expired, true
		_, err := r.Marshal()
		wantField(t, err, "response.actor")
	})
}

func TestParseResponseByVersion(t *testing.T) {
	t.Parallel()
	r := response()
	r.Resolution, r.Response.Value = ma2h.Completed, nil
	doc := string(mustMarshal(t, r))
	bare := strings.Replace(doc, `"comment"`, `"checklist":[{"text":"a"}],"comment"`, 1)
	_, err := ma2h.ParseResponse([]byte(bare))
	wantField(t, err, "response.checklist[0].done")
	for _, version := range []string{"0.2", "0.3", "0.4"} {
		old := edit(t, bare, `"0.5"`, `"`+version+`"`)
		old = edit(t, string(old), `"res_1"`, `"opaque-1"`)
		if _, err := ma2h.ParseResponse(old); err != nil {
			t.Errorf("%s: %v", version, err)
		}
	}
	first := edit(t, strings.Replace(doc, `"resolution_id":"res_1",`, ``, 1), `"0.5"`, `"0.1"`)
	if _, err := ma2h.ParseResponse(first); err != nil {
		t.Errorf("0.1 without resolution_id: %v", err)
	}
}

// resolveRequests are bodies of resolve with the field at fault, or "ok".
func resolveRequests() []struct{ name, raw, field string } {
	return []struct{ name, raw, field string }{
		{"string", `{"resolution":"answered","value":"x","comment":"c"}`, "ok"},
		{"empty string", `{"resolution":"answered","value":""}`, "ok"},
		{"object", `{"resolution":"answered","value":{"a":null}}`, "ok"},
		{"decline", `{"resolution":"declined"}`, "ok"},
		{"task", `{"resolution":"completed","checklist":[{"text":"a","done":false}]}`, "ok"},
		{"dismiss with an empty list", `{"resolution":"dismissed","checklist":[]}`, "ok"},
		{"unknown field", `{"resolution":"declined","actor":"human:alice"}`, "ok"},
		{"empty", ``, ""},
		{"list", `[]`, ""},
		{"no resolution", `{"value":"x"}`, "resolution"},
		{"cancelled", `{"resolution":"cancelled"}`, "resolution"},
		{"expired", `{"resolution":"expired"}`, "resolution"},
		{"resolution null", `{"resolution":null}`, "resolution"},
		{"no value", `{"resolution":"answered"}`, "value"},
		{"value null", `{"resolution":"answered","value":null}`, "value"},
		{"value null on declined", `{"resolution":"declined","value":null}`, "value"},
		{"value true", `{"resolution":"answered","value":true}`, "value"},
		{"value list", `{"resolution":"answered","value":[]}`, "value"},
		{"value with declined", `{"resolution":"declined","value":"x"}`, "value"},
		{"value with completed", `{"resolution":"completed","value":"x"}`, "value"},
		{"checklist with answered", `{"resolution":"answered","value":"x","checklist":[]}`, "checklist"},
		{"checklist null", `{"resolution":"completed","checklist":null}`, "checklist"},
		{"item without done", `{"resolution":"completed","checklist":[{"text":"a"}]}`, "checklist[0].done"},
		{"item without text", `{"resolution":"completed","checklist":[{"done":true}]}`, "checklist[0].text"},
		{"item null", `{"resolution":"completed","checklist":[null]}`, "checklist[0]"},
		{"comment number", `{"resolution":"declined","comment":1}`, "comment"},
		{"comment null", `{"resolution":"declined","comment":null}`, "comment"},
		{"value out of range", `{"resolution":"answered","value":{"a":1e999}}`, "value"},
		{"duplicate", `{"resolution":"declined","resolution":"declined"}`, "resolution"},
	}
}

func TestParseResolveRequest(t *testing.T) {
	t.Parallel()
	for _, tt := range resolveRequests() {
		t.Run(tt.name, func(t *testing.T) {
			r, err := ma2h.ParseResolveRequest([]byte(tt.raw))
			if tt.field == "ok" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if r != nil {
				t.Errorf("got %+v beside an error", r)
			}
			wantField(t, err, tt.field)
		})
	}
}

func TestResolveRequestsAgreeWithTheSchema(t *testing.T) {
	t.Parallel()
	s := newSchemas(t)
	for _, tt := range resolveRequests() {
		if ma2h.Scan([]byte(tt.raw)) != nil {
			continue // beyond what a schema sees
		}
		if err := s.validate(t, "v0.5/resolve-request", []byte(tt.raw)); (err == nil) != (tt.field == "ok") {
			t.Errorf("%s: the schema says %v", tt.name, err)
		}
	}
}

func TestParseSubmitAck(t *testing.T) {
	t.Parallel()
	const good = `{"id":"msg_1","status":"open","poll_url":"https://h.example.com/v1/messages/msg_1","review_url":"https://h.example.com/i/1"}`
	a, err := ma2h.ParseSubmitAck([]byte(good))
	if err != nil || a.ID != "msg_1" || a.Status != ma2h.Open {
		t.Fatalf("%+v, %v", a, err)
	}
	for _, tt := range []struct{ old, now, field string }{
		{`"msg_1","status"`, `"","status"`, "id"},
		{`"status":"open",`, ``, "status"},
		{`"https://h.example.com/v1/messages/msg_1"`, `"/v1/messages/msg_1"`, "poll_url"},
	} {
		_, err := ma2h.ParseSubmitAck(edit(t, good, tt.old, tt.now))
		wantField(t, err, tt.field)
	}
}

func TestParseDirectiveRefuses(t *testing.T) {
	t.Parallel()
	const good = `{"ma2h_version":"0.5","type":"directive","id":"dir_1","from":"human:alice","to":"agent:a","created_at":"2026-12-01T10:00:00Z","title":"t"}`
	if _, err := ma2h.ParseDirective([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ old, now, field string }{
		{`"directive"`, `"notify"`, "type"},
		{`"dir_1"`, `"x"`, "id"},
		{`"human:alice"`, `"alice"`, "from"},
		{`"human:alice"`, `"human:"`, "from"},
		{`"agent:a"`, `"human:a"`, "to"},
		{`"title":"t"`, `"title":""`, "title"},
		{`"title":"t"`, `"title":"t","state":{}`, "state"},
		{`"title":"t"`, `"title":"t","action":null`, "action"},
		{`"title":"t"`, `"title":"t","priority":"now"`, "priority"},
		{`"title":"t"`, `"title":"t","expires_at":"soon"`, "expires_at"},
		{`"title":"t"`, `"title":"t","context":[{"kind":"text"}]`, "context[0].text"},
		{`"2026-12-01T10:00:00Z"`, `"now"`, "created_at"},
		{`"0.5"`, `"0.3"`, "ma2h_version"},
	} {
		_, err := ma2h.ParseDirective(edit(t, good, tt.old, tt.now))
		wantField(t, err, tt.field)
	}
}

func TestParseAckRefuses(t *testing.T) {
	t.Parallel()
	const good = `{"ma2h_version":"0.5","type":"ack","in_reply_to":"msg_1","by":"agent:a","acked_at":"2026-12-01T10:00:00Z","note":""}`
	a, err := ma2h.ParseAck([]byte(good))
	if err != nil || a.Note == nil || a.ResolutionID != nil {
		t.Fatalf("%+v, %v", a, err)
	}
	for _, tt := range []struct{ old, now, field string }{
		{`"0.5"`, `"0.3"`, "ma2h_version"},
		{`"0.5"`, `"5"`, "ma2h_version"},
		{`"ma2h_version":"0.5",`, ``, "ma2h_version"},
		{`"ack"`, `"nack"`, "type"},
		{`"in_reply_to":"msg_1",`, ``, "in_reply_to"},
		{`"agent:a"`, `"a"`, "by"},
		{`"2026-12-01T10:00:00Z"`, `"now"`, "acked_at"},
		{`"acked_at":"2026-12-01T10:00:00Z",`, ``, "acked_at"},
		{`"note":""`, `"note":null`, "note"},
		{`"note":""`, `"note":1`, "note"},
	} {
		_, err := ma2h.ParseAck(edit(t, good, tt.old, tt.now))
		wantField(t, err, tt.field)
	}
}

func TestParsePresenceRefuses(t *testing.T) {
	t.Parallel()
	const good = `{"agent_id":"a","state":"online","last_seen":"2026-12-01T10:00:00Z","freshness_seconds":90}`
	if _, err := ma2h.ParsePresence([]byte(good)); err != nil {
		t.Fatal(err)
	}
	if _, err := ma2h.ParsePresence([]byte(`{"agent_id":"a","state":"unknown","freshness_seconds":1}`)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ old, now, field string }{
		{`"agent_id":"a",`, ``, "agent_id"},
		{`"online"`, `"away"`, "state"},
		{`"online"`, `"unknown"`, "last_seen"},
		{`"last_seen":"2026-12-01T10:00:00Z",`, ``, "last_seen"},
		{`"2026-12-01T10:00:00Z"`, `"soon"`, "last_seen"},
		{`90`, `0`, "freshness_seconds"},
		{`90`, `1.5`, "freshness_seconds"},
		{`90`, `"90"`, "freshness_seconds"},
	} {
		_, err := ma2h.ParsePresence(edit(t, good, tt.old, tt.now))
		wantField(t, err, tt.field)
	}
}

func TestParseMessageBodyRefuses(t *testing.T) {
	t.Parallel()
	r := mustMarshal(t, response())
	good := string(ma2h.AppendMessage(nil, mustJudge(t, envelope(t, "ask", nil)), "msg_1", ma2h.Answered, r, []byte(`{}`), nil))
	for _, tt := range []struct{ old, now, field string }{
		{`"id":"msg_1",`, ``, "id"},
		{`"id":"msg_1"`, `"id":5`, "id"},
		{`"status":"answered",`, ``, "status"},
		{`"delivery":{}`, `"delivery":[]`, "delivery"},
		{`"resolution":"answered"`, `"resolution":"ignored"`, "response.resolution"},
		{`"response":{`, `"response":null,"x":{`, "response"},
		{`"title":"Ship it?",`, `"title":[],`, "title"},
	} {
		_, err := ma2h.ParseMessageBody(edit(t, good, tt.old, tt.now))
		wantField(t, err, tt.field)
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	if ma2h.Open.Terminal() || !ma2h.Delivered.Terminal() || !ma2h.Expired.Terminal() {
		t.Error("open alone is not terminal")
	}
}

// What the hub took it can say again: state and value as deep as they may come
// in are read back from where they stand in a Response and in a message's body.
func TestDeepestContentComesBack(t *testing.T) {
	t.Parallel()
	nested := func(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }
	envelope := `{"ma2h_version":"0.5","type":"ask","title":"t","created_at":"2026-12-01T00:00:00Z","idempotency_key":"k",
		"agent":{"id":"a","run_id":"r","runtime":"cli"},"request":{"mode":"confirm"},"state":{"s":` + nested(ma2h.MaxDepth-2) + `}}`
	e, err := ma2h.Parse([]byte(envelope))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := ma2h.ParseResolveRequest([]byte(`{"resolution":"answered","value":{"v":` + nested(ma2h.MaxDepth-2) + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	r := ma2h.Response{
		Version: "0.5", InReplyTo: "msg_1", ResolutionID: "res_1", Agent: ma2h.ResponseAgent{ID: "a", RunID: "r"},
		Resolution: ma2h.Answered, State: e.State,
		Response: &ma2h.Detail{Value: answer.Value, Actor: "human:alice", ResolvedAt: "2026-12-01T00:00:00.000Z"},
	}
	raw, err := r.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	body, err := ma2h.ParseMessageBody(ma2h.AppendMessage(nil, e, "msg_1", ma2h.Answered, raw, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	if string(body.Response.State) != string(e.State) || string(body.Response.Response.Value) != string(answer.Value) {
		t.Error("state or value came back otherwise")
	}
}
