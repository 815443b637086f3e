package api_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"beckon/hub"
	"beckon/hub/api"
	"beckon/hub/ma2h"
)

func TestSubmit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	tests := []struct {
		name, envelope string
		status         ma2h.Status
	}{
		{"ask", ask(nil), ma2h.Open},
		{"task", task(nil), ma2h.Open},
		{"notify", notify(nil), ma2h.Delivered},
		{"0.1 without a key", ask(map[string]any{"ma2h_version": "0.1", "idempotency_key": nil}), ma2h.Open},
		{"above 0.5", ask(map[string]any{"ma2h_version": "0.10"}), ma2h.Open},
		{"confirm without options", ask(map[string]any{"request": map[string]any{"mode": "confirm"}}), ma2h.Open},
		{"unknown and smuggled fields", ask(map[string]any{"status": "answered", "response": 1, "beckon": 1, "new": 1}), ma2h.Open},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := w.in(t)
			r := w.do("POST", "/v1/messages", deployToken, tt.envelope).want(http.StatusAccepted, "")
			id := r.text("id")
			if r.text("status") != string(tt.status) || !strings.HasPrefix(id, "msg_") ||
				r.text("poll_url") != "https://beckon.example.com/v1/messages/"+id ||
				r.text("review_url") != "https://beckon.example.com/i/"+id {
				t.Errorf("ack %s", r.body)
			}
			again := w.do("GET", "/v1/messages/"+id, deployToken, "").want(200, "")
			if again.text("status") != string(tt.status) || again.field("new") != nil || again.field("beckon") != nil {
				t.Errorf("read %s", again.body)
			}
			if os.Getenv("BECKON_SHARED") != "" {
				validShared(t, sharedSchema(t, "submit-ack.schema.json"), r.body)
				if strings.Contains(tt.envelope, `"0.5"`) {
					validShared(t, sharedSchema(t, "get-message.schema.json"), again.body)
				}
			}
		})
	}
}

// TestReplay: the same bytes are the same message, before anything else is
// looked at; other bytes under the key are a conflict.
func TestReplay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	e := ask(map[string]any{"idempotency_key": "k1"})
	first := w.do("POST", "/v1/messages", deployToken, e).want(202, "")
	second := w.do("POST", "/v1/messages", deployToken, strings.Replace(e, "run_1", "run_2", 1)).want(202, "")
	if first.body != second.body {
		t.Errorf("acks differ:\n%s\n%s", first.body, second.body)
	}
	w.answer(first.text("id"), 1)
	third := w.do("POST", "/v1/messages", deployToken, e).want(202, "")
	if third.text("id") != first.text("id") || third.text("status") != "answered" {
		t.Errorf("replay after the answer: %s", third.body)
	}
	w.do("POST", "/v1/messages", deployToken, ask(map[string]any{"idempotency_key": "k1", "title": "Other"})).
		want(409, ma2h.CodeIdempotencyConflict)
	// The key belongs to one agent.
	other := w.do("POST", "/v1/messages", otherToken, strings.ReplaceAll(e, deploybot, otherbot)).want(202, "")
	if other.text("id") == first.text("id") {
		t.Error("another agent's key returned this agent's message")
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	r := w.do("POST", "/v1/messages", deployToken, ask(map[string]any{
		"request": with(map[string]any{"allowed_resolvers": []string{}}),
	})).want(202, "")
	if got := r.header.Values("Beckon-Warning"); len(got) == 0 || got[0] == "" {
		t.Errorf("no Beckon-Warning for an ask that nobody may answer: %v", r.header)
	}
	if strings.Contains(r.body, "warning") {
		t.Errorf("the ack is closed: %s", r.body)
	}
	r = w.do("POST", "/v1/messages", deployToken, ask(nil)).want(202, "")
	if got := r.header.Values("Beckon-Warning"); len(got) != 0 {
		t.Errorf("warns for nothing: %q", got)
	}
}

// TestSubmitRefusals has one case for each refusal of a well-formed JSON
// document; TestMalformed has the rest.
func TestSubmitRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(d *hub.Directory, _ *api.Options) {
		d.Limits.Body, d.Limits.Part, d.Limits.Parts, d.Limits.Options = 100, 100, 2, 3
	})
	long := strings.Repeat("x", 101)
	text := func(s string) map[string]any { return map[string]any{"kind": "text", "text": s} }
	option := func(s string) map[string]any { return map[string]any{"value": s, "label": s} }
	agent := func(m map[string]any) map[string]any {
		a := map[string]any{"id": deploybot, "run_id": "run_1", "runtime": "cli"}
		for k, v := range m {
			a[k] = v
		}
		return map[string]any{"agent": a}
	}
	request := func(m map[string]any) map[string]any { return map[string]any{"request": with(m)} }
	tests := []struct {
		name, envelope string
		status         int
		code           ma2h.Code
		field          string // that the message must name
	}{
		{"major 1", ask(map[string]any{"ma2h_version": "1.0"}), 400, ma2h.CodeVersion, "ma2h_version"},
		{"version 0.03", ask(map[string]any{"ma2h_version": "0.03"}), 400, ma2h.CodeValidation, "ma2h_version"},
		{"version is a number", ask(map[string]any{"ma2h_version": 0.5}), 400, ma2h.CodeValidation, "ma2h_version"},
		{"other agent's id", ask(agent(map[string]any{"id": otherbot})), 403, ma2h.CodeAgentMismatch, "agent.id"},
		{"no title", ask(map[string]any{"title": nil}), 400, ma2h.CodeValidation, "title"},
		{"title of 201 runes", ask(map[string]any{"title": strings.Repeat("é", 201)}), 400, ma2h.CodeValidation, "title"},
		{"unknown runtime", ask(agent(map[string]any{"runtime": "mainframe"})), 400, ma2h.CodeValidation, "agent.runtime"},
		{"no key", ask(map[string]any{"idempotency_key": nil}), 400, ma2h.CodeValidation, "idempotency_key"},
		{"notify with a request", notify(request(nil)), 400, ma2h.CodeValidation, "request"},
		{"select without options", ask(request(map[string]any{"options": nil})), 400, ma2h.CodeValidation, "request.options"},
		{"default not an option", ask(request(map[string]any{"default_on_expire": "later"})), 422, ma2h.CodeInvalidField, "request.default_on_expire"},
		{"state is null", ask(map[string]any{"state": json.RawMessage("null")}), 400, ma2h.CodeValidation, "state"},
		{"expired", ask(map[string]any{"expires_at": "2020-01-01T00:00:00Z"}), 422, ma2h.CodeInvalidField, "expires_at"},
		{"expired notify", notify(map[string]any{"expires_at": "2020-01-01T00:00:00Z"}), 422, ma2h.CodeInvalidField, "expires_at"},
		{"body too long", ask(map[string]any{"body": long}), 422, ma2h.CodeInvalidField, "body"},
		{"Part too long", ask(map[string]any{"context": []any{text(long)}}), 422, ma2h.CodeInvalidField, "context"},
		{"too many Parts", ask(map[string]any{"context": []any{text("a"), text("b"), text("c")}}), 422, ma2h.CodeInvalidField, "context"},
		{"too many options", ask(request(map[string]any{"options": []any{option("a"), option("b"), option("c"), option("d")}})), 422, ma2h.CodeInvalidField, "request.options"},
		{"push at 0.2", ask(map[string]any{"ma2h_version": "0.2", "request": with(map[string]any{
			"callback": map[string]any{"mode": "push", "url": "https://a.example", "auth": map[string]any{"scheme": "hmac", "secret_ref": "env:X"}},
		})}), 400, ma2h.CodeVersion, ""},
		{"push", ask(request(map[string]any{
			"callback": map[string]any{"mode": "push", "url": "https://a.example", "auth": map[string]any{"scheme": "hmac", "secret_ref": "env:X"}},
		})), 422, ma2h.CodeInvalidField, "request.callback"},
		{"push without url", ask(request(map[string]any{"callback": map[string]any{"mode": "push"}})), 400, ma2h.CodeValidation, "request.callback.url"},
		{"hmac with token_ref", ask(request(map[string]any{
			"callback": map[string]any{"mode": "push", "url": "https://a.example", "auth": map[string]any{"scheme": "hmac", "token_ref": "env:X"}},
		})), 400, ma2h.CodeValidation, "request.callback.auth"},
		{"to", ask(map[string]any{"to": "agent:other/bot"}), 422, ma2h.CodeUnknownDestination, "to"},
		{"to below 0.5", ask(map[string]any{"ma2h_version": "0.4", "to": "agent:other/bot"}), 422, ma2h.CodeInvalidField, "to"},
		{"bad resolver", ask(request(map[string]any{"allowed_resolvers": []string{"agent:"}})), 400, ma2h.CodeValidation, "request.allowed_resolvers"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := w.in(t)
			r := w.do("POST", "/v1/messages", deployToken, tt.envelope).want(tt.status, tt.code)
			if !strings.Contains(r.text("error.message"), tt.field) {
				t.Errorf("the message does not name %s: %s", tt.field, r.body)
			}
		})
	}
	if r := w.do("GET", "/v1/messages", deployToken, ""); len(r.field("messages").([]any)) != 0 {
		t.Errorf("something refused was stored: %s", r.body)
	}
}

func TestOpenMessagesAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(d *hub.Directory, _ *api.Options) { d.Limits.OpenMessages = 2 })
	id := w.submit(ask(nil))
	w.submit(task(nil))
	e := ask(nil)
	r := w.do("POST", "/v1/messages", deployToken, e).want(429, ma2h.CodeRateLimited)
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	w.submit(notify(nil))
	w.do("POST", "/v1/messages/"+id+"/cancel", deployToken, "").want(200, "")
	w.do("POST", "/v1/messages", deployToken, e).want(202, "")
}

func TestMediaTypes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	tests := []struct {
		name   string
		header []string
		status int
	}{
		{"json", nil, 202},
		{"charset", []string{"Content-Type: ", "Content-Type: application/json; charset=UTF-8"}, 202},
		{"none", []string{"Content-Type: "}, 202},
		{"identity", []string{"Content-Encoding: identity"}, 202},
		{"latin1", []string{"Content-Type: ", "Content-Type: application/json; charset=iso-8859-1"}, 415},
		{"form", []string{"Content-Type: ", "Content-Type: application/x-www-form-urlencoded"}, 415},
		{"text", []string{"Content-Type: ", "Content-Type: text/plain"}, 415},
		{"nonsense", []string{"Content-Type: ", "Content-Type: ;;"}, 415},
		{"gzip", []string{"Content-Encoding: gzip"}, 415},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := w.in(t)
			code := ma2h.CodeUnsupportedMediaType
			if tt.status == 202 {
				code = ""
			}
			w.do("POST", "/v1/messages", deployToken, ask(nil), tt.header...).want(tt.status, code)
			if tt.status == 415 {
				w.do("POST", "/v1/messages/msg_1/resolve", deployToken, `{"resolution":"declined"}`, tt.header...).want(415, code)
			}
		})
	}
}

func TestEnvelopeLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(d *hub.Directory, _ *api.Options) { d.Limits.Envelope = 600 })
	pad := func(n int) string {
		e := notify(map[string]any{"pad": ""})
		return strings.Replace(e, `"pad":""`, `"pad":"`+strings.Repeat("x", n-len(e))+`"`, 1)
	}
	w.do("POST", "/v1/messages", deployToken, pad(600)).want(202, "")
	r := w.do("POST", "/v1/messages", deployToken, pad(601)).want(422, ma2h.CodeInvalidField)
	if !strings.Contains(r.text("error.message"), "600 bytes") {
		t.Errorf("does not say the limit: %s", r.body)
	}
	id := w.submit(notify(nil))
	w.do("POST", "/v1/messages/"+id+"/resolve", deployToken, pad(601)).want(422, ma2h.CodeInvalidField)
	// Authentication comes before the size.
	w.do("POST", "/v1/messages", "nonsense", pad(601)).want(401, ma2h.CodeUnauthenticated)
}

// TestMalformed sends every malformed envelope of the protocol package: each
// gets its status and code, and words that name the field.
func TestMalformed(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../ma2h/testdata/malformed.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Envelope, Base64, Field string
		Code                          ma2h.Code
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 80 {
		t.Fatalf("only %d cases", len(cases))
	}
	w := newWorld(t, func(d *hub.Directory, _ *api.Options) {
		d.Limits.RequestsPerMinute = 0
		d.Agents["legacy#w"] = &hub.Agent{ID: "legacy#w", Tokens: []hub.TokenHash{hub.HashToken("legacy-token-1")}}
	})
	status := map[ma2h.Code]int{
		ma2h.CodeValidation: 400, ma2h.CodeVersion: 400, ma2h.CodeInvalidField: 422, ma2h.CodeUnknownDestination: 422,
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			w := w.in(t)
			body := c.Envelope
			if c.Base64 != "" {
				b, err := base64.StdEncoding.DecodeString(c.Base64)
				if err != nil {
					t.Fatal(err)
				}
				body = string(b)
			}
			token := deployToken
			if strings.Contains(body, `"legacy#w"`) {
				token = "legacy-token-1"
			}
			r := w.do("POST", "/v1/messages", token, body).want(status[c.Code], c.Code)
			if !strings.Contains(r.text("error.message"), c.Field) {
				t.Errorf("the message does not name %q: %s", c.Field, r.body)
			}
		})
	}
	if r := w.do("GET", "/v1/messages", deployToken, ""); len(r.field("messages").([]any)) != 0 {
		t.Errorf("something malformed was stored: %s", r.body)
	}
}

// TestStatusHasEveryCode: no code of the protocol falls through to 500.
func TestStatusHasEveryCode(t *testing.T) {
	t.Parallel()
	s := readSpec(t)
	codes, _ := s.get(s.doc, "components", "schemas", "Error", "properties", "error", "properties", "code")
	list := codes.(map[string]any)["enum"].([]any)
	if len(list) < 17 || !slices.Contains(list, any("rate_limited")) {
		t.Fatalf("codes %v", list)
	}
	for _, c := range list {
		if got := api.Status(ma2h.Code(c.(string))); (got == 500) != (c == "internal") {
			t.Errorf("%s is %d", c, got)
		}
	}
	if api.Status("new_code") != 500 {
		t.Error("an unknown code is not 500")
	}
}
