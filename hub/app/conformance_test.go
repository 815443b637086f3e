package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"beckon/hub/ma2h"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// conformanceYAML keeps the letter of the protocol: who sent a message answers
// it, unless the message says otherwise.
const conformanceYAML = `
listen: 127.0.0.1:0
store: %s
resolvers: submitter
people:
  alice: {name: Alice Ng}
agents:
  deploybot/dev-team: {token: env:BOT}
  overseer/fleet: {token: env:OTHER}
limits: {requests_per_minute: 0, open_messages: 0}
routes:
  - post: [{web: alice}]
`

// tokens are the credentials of the agents in the vectors. No agent here has a #
// in its id; what it sends comes from another.
var tokens = map[string]string{"deploybot/dev-team": botToken, "overseer/fleet": otherToken, "legacy#worker": otherToken}

func startConformance(t *testing.T) *process {
	t.Helper()
	return start(t, parse(t, fmt.Sprintf(conformanceYAML, filepath.Join(t.TempDir(), "beckon.db"))))
}

// protocolDir is a folder of the protocol's own data.
func protocolDir(t *testing.T, name string) string {
	t.Helper()
	root := os.Getenv("BECKON_SHARED")
	if root == "" {
		t.Skip("BECKON_SHARED is not set: it names the folder that holds protocol/vectors")
	}
	return filepath.Join(root, "protocol", name)
}

// readVector reads the vector with an id such as "sv-001".
func readVector(t *testing.T, id string, into any) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(protocolDir(t, "vectors"), id+"-*.json"))
	if err != nil || len(found) != 1 {
		t.Fatalf("vector %s: %v, %v", id, found, err)
	}
	raw, err := os.ReadFile(found[0])
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", found[0], err)
	}
}

// protocol are the protocol's JSON Schemas.
type protocol struct{ compiler *jsonschema.Compiler }

func readProtocol(t *testing.T) protocol {
	t.Helper()
	dir := protocolDir(t, "schema")
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.schema.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no schemas: %v", err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(f)
		f.Close()
		if err == nil {
			name := filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(file)
			err = c.AddResource("https://ma2h.org/schema/"+name, doc)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	return protocol{c}
}

// check holds a document of the hub's to a schema such as "v0.5/response".
func (p protocol) check(t *testing.T, name string, raw []byte) {
	t.Helper()
	schema, err := p.compiler.Compile("https://ma2h.org/schema/" + name + ".schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err == nil {
		err = schema.Validate(doc)
	}
	if err != nil {
		t.Errorf("%s does not take %s: %v", name, raw, err)
	}
}

// code is what an error body says.
func code(t *testing.T, body []byte) string {
	t.Helper()
	var e struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal(body, &e); err != nil || e.Error.Code == "" || e.Error.Message == "" {
		t.Errorf("no error body: %s", body)
	}
	return e.Error.Code
}

// TestConformanceSubmit sends the vectors that are messages to a real hub.
func TestConformanceSubmit(t *testing.T) {
	t.Parallel()
	p := startConformance(t)
	tests := []struct {
		id     string
		status int
		code   string
	}{
		{"sv-001", 202, ""},
		{"sv-002", 400, "validation_error"},
		{"sv-003", 400, "validation_error"},
		{"sv-005", 400, "validation_error"},
		{"sv-006", 400, "validation_error"},
		{"sv-017", 422, "unknown_destination"},
		{"sv-018", 422, "unknown_destination"},
		{"sv-019", 400, "validation_error"},
		{"sv-020", 400, "validation_error"},
		{"sv-021", 400, "validation_error"},
		{"sv-038", 422, "invalid_field"},
		{"sv-040", 403, "agent_id_mismatch"}, // such an agent can't be; see hub/ma2h for the meaning
		{"sv-046", 400, "validation_error"},
	}
	for _, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			var v struct {
				Input json.RawMessage `json:"input"`
			}
			readVector(t, tt.id, &v)
			var m struct {
				Agent struct{ ID string }
			}
			if err := json.Unmarshal(v.Input, &m); err != nil || tokens[m.Agent.ID] == "" {
				t.Fatalf("its agent is %q, %v", m.Agent.ID, err)
			}
			status, body := p.do("POST", "/v1/messages", tokens[m.Agent.ID], string(v.Input))
			if status != tt.status || tt.code != "" && code(t, body) != tt.code {
				t.Errorf("%d %s, want %d %s", status, body, tt.status, tt.code)
			}
		})
	}
}

// TestConformanceResolve sends the vectors that are answers to a real hub.
func TestConformanceResolve(t *testing.T) {
	t.Parallel()
	p := startConformance(t)
	confirm := func(m map[string]any) { m["request"] = map[string]any{"mode": "confirm"} }
	task := func(m map[string]any) {
		m["type"] = "task"
		delete(m, "request")
		m["action"] = map[string]any{"instructions": "Rotate it.", "checklist": []any{
			map[string]any{"text": "Generate a new key in the secret manager"}, map[string]any{"text": "Update prod secret"},
		}}
	}
	tests := []struct {
		id     string
		ask    func(map[string]any)
		status int
		ends   string // the status that the message has then
	}{
		{"sv-041", confirm, 200, "answered"},
		{"sv-042", confirm, 400, "open"},
		{"sv-055", confirm, 400, "open"},
		{"sv-056", task, 200, "completed"},
		{"sv-057", confirm, 400, "open"},
	}
	for _, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			var v struct {
				Input json.RawMessage `json:"input"`
			}
			readVector(t, tt.id, &v)
			id := p.submit(envelope(tt.id, tt.ask))
			if status, body := p.do("POST", "/v1/messages/"+id+"/resolve", botToken, string(v.Input)); status != tt.status {
				t.Errorf("%d %s, want %d", status, body, tt.status)
			}
			if got := p.message(id); got.Status != tt.ends {
				t.Errorf("the message is %s, want %s", got.Status, tt.ends)
			}
		})
	}
}

// read is a message as its submitter reads it.
type read struct {
	Status   string
	Response json.RawMessage
}

func (p *process) message(id string) (m read) {
	p.t.Helper()
	status, body := p.do("GET", "/v1/messages/"+id, botToken, "")
	if err := json.Unmarshal(body, &m); status != http.StatusOK || err != nil {
		p.t.Fatalf("read %s: %d %s", id, status, body)
	}
	return m
}

// TestConformanceDocuments holds what a real hub says, in every ending of every
// version, to the protocol's schemas.
func TestConformanceDocuments(t *testing.T) {
	t.Parallel()
	p, schemas := startConformance(t), readProtocol(t)
	status, body := p.do("GET", "/.well-known/ma2h", "", "")
	if status != http.StatusOK {
		t.Fatalf("discovery: %d %s", status, body)
	}
	schemas.check(t, "v0.5/capability", body)

	soon := func() string { return ma2h.FormatTime(time.Now().Add(2 * time.Second)) }
	resolve := func(body string) func(string) {
		return func(id string) {
			if status, b := p.do("POST", "/v1/messages/"+id+"/resolve", botToken, body); status != http.StatusOK {
				t.Errorf("resolve: %d %s", status, b)
			}
		}
	}
	task := func(m map[string]any) {
		m["type"] = "task"
		delete(m, "request")
		m["action"] = map[string]any{"instructions": "Do it.", "checklist": []any{map[string]any{"text": "One"}}}
	}
	endings := []struct {
		name string
		ask  func(map[string]any)
		end  func(id string)
		want string
	}{
		{"answered", nil, resolve(`{"resolution":"answered","value":"ship","comment":"ok"}`), "answered"},
		{"form", func(m map[string]any) {
			m["request"] = map[string]any{"mode": "input", "schema": map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "number"}}}}
		}, resolve(`{"resolution":"answered","value":{"n":1.50}}`), "answered"},
		{"declined", nil, resolve(`{"resolution":"declined"}`), "declined"},
		{"cancelled", nil, func(id string) {
			if status, b := p.do("POST", "/v1/messages/"+id+"/cancel", botToken, ""); status != http.StatusOK {
				t.Errorf("cancel: %d %s", status, b)
			}
		}, "cancelled"},
		{"expired", func(m map[string]any) { m["expires_at"] = soon() }, nil, "expired"},
		{"defaulted", func(m map[string]any) {
			m["expires_at"] = soon()
			m["request"].(map[string]any)["default_on_expire"] = "hold"
		}, nil, "expired"},
		{"completed", task, resolve(`{"resolution":"completed","checklist":[{"text":"One","done":true}]}`), "completed"},
		{"dismissed", task, resolve(`{"resolution":"dismissed","comment":"no"}`), "dismissed"},
		{"task expired", func(m map[string]any) { task(m); m["expires_at"] = soon() }, nil, "expired"},
		{"notify", func(m map[string]any) { m["type"] = "notify"; delete(m, "request") }, nil, "delivered"},
	}
	for _, version := range []string{"0.1", "0.2", "0.3", "0.4", "0.5"} {
		for _, e := range endings {
			t.Run(version+" "+e.name, func(t *testing.T) {
				t.Parallel()
				envelope := envelope(version+e.name, func(m map[string]any) {
					m["ma2h_version"], m["state"], m["client_ref"] = version, map[string]any{"a<b": []any{1, nil}}, "job-7"
					m["priority"], m["tags"], m["body"] = "high", []string{"x"}, "See *this*."
					if e.ask != nil {
						e.ask(m)
					}
				})
				status, ack := p.do("POST", "/v1/messages", botToken, envelope)
				if status != http.StatusAccepted {
					t.Fatalf("submit: %d %s", status, ack)
				}
				in := "v" + max(version, "0.2") // 0.1 has a schema of the envelope only
				schemas.check(t, in+"/submit-ack", ack)
				var a struct{ ID string }
				_ = json.Unmarshal(ack, &a)
				get := func() []byte {
					_, body := p.do("GET", "/v1/messages/"+a.ID+"?wait=30", botToken, "")
					if version != "0.1" {
						schemas.check(t, in+"/get-message", body)
					}
					return body
				}
				if e.end != nil {
					e.end(a.ID)
				}
				var m read
				if err := json.Unmarshal(get(), &m); err != nil || m.Status != e.want {
					t.Fatalf("it is %s, want %s", m.Status, e.want)
				}
				if e.want == "delivered" {
					return
				}
				if version != "0.1" {
					schemas.check(t, in+"/response", m.Response)
				}
				if !strings.Contains(string(m.Response), `"ma2h_version":"`+version+`"`) || !strings.Contains(string(m.Response), `"state":{"a\u003cb":[1,null]}`) {
					t.Errorf("the Response is %s", m.Response)
				}
				// A replay of the ended message is acked with its status (§8.1).
				status, again := p.do("POST", "/v1/messages", botToken, envelope)
				if status != http.StatusAccepted || !strings.Contains(string(again), `"status":"`+e.want+`"`) || !strings.Contains(string(again), a.ID) {
					t.Errorf("replayed: %d %s", status, again)
				}
				schemas.check(t, "v0.5/submit-ack", again)
			})
		}
	}
}

// TestConformanceSubmitterBinding is dp-002: nobody but the submitter reads,
// withdraws or resolves a message by its id, and to others it does not exist.
func TestConformanceSubmitterBinding(t *testing.T) {
	t.Parallel()
	p := startConformance(t)
	id := p.submit(envelope("k", nil))
	foreign := func(method, path, body string) (int, string) {
		status, b := p.do(method, "/v1/messages/"+path, otherToken, body)
		return status, string(b)
	}
	ways := []struct{ name, method, suffix, body string }{
		{"read", "GET", "", ""},
		{"wait", "GET", "?wait=1", ""},
		{"read more", "GET", "?include=beckon", ""},
		{"cancel", "POST", "/cancel", ""},
		{"resolve", "POST", "/resolve", `{"resolution":"answered","value":"ship"}`},
		{"acknowledge", "POST", "/ack", `{}`},
	}
	for _, w := range ways {
		const unknown = "msg_01J5UNKNOWN00000000000000"
		status, body := foreign(w.method, id+w.suffix, w.body)
		nobody, same := foreign(w.method, unknown+w.suffix, w.body)
		if status != http.StatusNotFound || nobody != status || strings.ReplaceAll(body, id, unknown) != same {
			t.Errorf("%s by another agent: %d %s; of what is not there: %d %s", w.name, status, body, nobody, same)
		}
	}
	if got := p.message(id).Status; got != "open" {
		t.Fatalf("then it is %s", got)
	}
	// Its own cancel goes through, again too, and leaves a Response.
	for range 2 {
		if status, body := p.do("POST", "/v1/messages/"+id+"/cancel", botToken, ""); status != http.StatusOK || string(body) != `{"id":"`+id+`","status":"cancelled"}` {
			t.Errorf("its own: %d %s", status, body)
		}
	}
	if m := p.message(id); m.Status != "cancelled" || !strings.Contains(string(m.Response), `"actor":"agent:deploybot/dev-team"`) {
		t.Errorf("then %s", m.Response)
	}
	// With nobody named, the submitter may resolve; on a list, only who is on it.
	own := p.submit(envelope("own", nil))
	if status, body := p.do("POST", "/v1/messages/"+own+"/resolve", botToken, `{"resolution":"declined"}`); status != http.StatusOK {
		t.Errorf("its own answer: %d %s", status, body)
	}
	if status, body := p.do("POST", "/v1/messages/"+own+"/cancel", botToken, ""); status != http.StatusConflict || code(t, body) != "already_terminal" || !strings.Contains(string(body), `"resolution":"declined"`) {
		t.Errorf("cancelled after another end: %d %s", status, body)
	}
	listed := p.submit(envelope("listed", func(m map[string]any) {
		m["request"].(map[string]any)["allowed_resolvers"] = []string{"agent:overseer/fleet"}
	}))
	if status, body := p.do("POST", "/v1/messages/"+listed+"/resolve", botToken, `{"resolution":"declined"}`); status != http.StatusForbidden {
		t.Errorf("the submitter, who is not on the list: %d %s", status, body)
	}
	if status, body := p.do("POST", "/v1/messages/"+listed+"/resolve", otherToken, `{"resolution":"declined"}`); status != http.StatusOK {
		t.Errorf("whoever is on the list: %d %s", status, body)
	}
	// A person on the page may not, and the page says so instead of a form.
	open := p.submit(envelope("page", nil))
	if _, page := p.signIn("alice").get(p.url + "/i/" + url.PathEscape(open)); strings.Contains(page, `/answer"`) {
		t.Error("a person is offered to answer what only the submitter may")
	}
	if p.message(open).Status != "open" {
		t.Error("it was answered")
	}
}
