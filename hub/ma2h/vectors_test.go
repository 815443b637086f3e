package ma2h_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"beckon/hub/ma2h"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// sharedDir returns a folder of the protocol's own data, or skips.
func sharedDir(t *testing.T, name string) string {
	t.Helper()
	root := os.Getenv("BECKON_SHARED")
	if root == "" {
		t.Skip("BECKON_SHARED is not set: it names the folder that holds protocol/vectors")
	}
	dir, err := filepath.Abs(filepath.Join(root, "protocol", name))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// vector returns the text of the vector with an id such as "dp-001".
func vector(t *testing.T, id string, into any) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(sharedDir(t, "vectors"), id+"-*.json"))
	if err != nil || len(found) != 1 {
		t.Fatalf("vector %s: %d files, %v", id, len(found), err)
	}
	readJSON(t, found[0], into)
}

// asIs are the schema vectors that this hub runs as they are; refused are those
// whose feature it does not have, with the code that it answers.
var (
	asIs = []string{
		"sv-001", "sv-002", "sv-003", "sv-004", "sv-005", "sv-006", "sv-007", "sv-008", "sv-009", "sv-010",
		"sv-011", "sv-012", "sv-013", "sv-014", "sv-015", "sv-016", "sv-032", "sv-035", "sv-041", "sv-042",
		"sv-045", "sv-046", "sv-047", "sv-049", "sv-055", "sv-056", "sv-057",
	}
	refused = map[string]ma2h.Code{
		"sv-017": ma2h.CodeUnknownDestination, "sv-018": ma2h.CodeUnknownDestination,
		"sv-019": ma2h.CodeValidation, "sv-020": ma2h.CodeValidation, "sv-021": ma2h.CodeValidation,
		"sv-038": ma2h.CodeInvalidField, "sv-040": ma2h.CodeInvalidField,
	}
)

type schemaVector struct {
	Target string          `json:"target"`
	Expect string          `json:"expect"`
	Input  json.RawMessage `json:"input"`
}

// read gives a document to the reader of its schema.
func (v schemaVector) read() error {
	var err error
	switch target := filepath.Base(v.Target); target {
	case "message.schema.json":
		_, err = judge(v.Input)
	case "response.schema.json":
		_, err = ma2h.ParseResponse(v.Input)
	case "inbound-message.schema.json":
		_, err = ma2h.ParseDirective(v.Input)
	case "ack.schema.json":
		_, err = ma2h.ParseAck(v.Input)
	case "presence.schema.json":
		_, err = ma2h.ParsePresence(v.Input)
	case "resolve-request.schema.json":
		_, err = ma2h.ParseResolveRequest(v.Input)
	default:
		err = fmt.Errorf("no reader for %s", target)
	}
	return err
}

func TestSchemaVectors(t *testing.T) {
	t.Parallel()
	passed := 0
	for _, id := range asIs {
		t.Run(id, func(t *testing.T) {
			var v schemaVector
			vector(t, id, &v)
			if id == "sv-046" { // about the resolver, without the leg that is off
				var m map[string]json.RawMessage
				if err := json.Unmarshal(v.Input, &m); err != nil {
					t.Fatal(err)
				}
				delete(m, "to")
				m["agent"] = json.RawMessage(`{"id":"overseer/fleet","run_id":"r","runtime":"cli"}`)
				v.Input, _ = json.Marshal(m)
			}
			err := v.read()
			if _, ok := errors.AsType[*ma2h.Error](err); err != nil && !ok {
				t.Fatalf("not a refusal: %v", err)
			}
			if (err == nil) != (v.Expect == "valid") {
				t.Fatalf("got %v, want %s", err, v.Expect)
			}
			passed++
		})
	}
	for id, code := range refused {
		t.Run(id, func(t *testing.T) {
			var v schemaVector
			vector(t, id, &v)
			_, err := judge(v.Input)
			e, ok := errors.AsType[*ma2h.Error](err)
			if !ok || e.Code != code {
				t.Fatalf("got %v, want a %s", err, code)
			}
			passed++
		})
	}
	t.Logf("schema vectors: %d of %d pass (%d as they are, %d as refusals)",
		passed, len(asIs)+len(refused), len(asIs), len(refused))
}

func TestExamples(t *testing.T) {
	t.Parallel()
	dir := sharedDir(t, "examples")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	schemas := newSchemas(t)
	n := 0
	for _, entry := range entries {
		name := entry.Name()
		if name == "receipt-bounced.json" || name == "message-inter-agent-ask.json" {
			continue // of the inter-agent leg, which is off
		}
		t.Run(name, func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case name == "directive-inbound.json":
				_, err = ma2h.ParseDirective(raw)
			case strings.Contains(name, "response"):
				var r *ma2h.Response
				if r, err = ma2h.ParseResponse(raw); err == nil {
					var again []byte
					if again, err = r.Marshal(); err == nil {
						schemas.check(t, "v0.5/response", again)
					}
				}
			default:
				var e *ma2h.Envelope
				if e, err = judge(raw); err == nil {
					status, response := ma2h.Open, []byte(nil)
					if e.Type == ma2h.Notify {
						status = ma2h.Delivered
					}
					schemas.check(t, "v0.5/get-message", ma2h.AppendMessage(nil, e, "msg_1", status, response, nil, nil))
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			n++
		})
	}
	t.Logf("examples: %d of %d read", n, len(entries))
}

// schemas are the protocol's JSON Schemas.
type schemas struct{ compiler *jsonschema.Compiler }

func newSchemas(t *testing.T) schemas {
	t.Helper()
	dir := sharedDir(t, "schema")
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	found, err := filepath.Glob(filepath.Join(dir, "*", "*.schema.json"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no schemas: %v", err)
	}
	slices.Sort(found)
	for _, path := range found {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource("https://ma2h.org/schema/"+filepath.ToSlash(rel), doc); err != nil {
			t.Fatal(err)
		}
	}
	return schemas{compiler: c}
}

// validate holds a document to a schema such as "v0.5/response".
func (s schemas) validate(t *testing.T, name string, raw []byte) error {
	t.Helper()
	schema, err := s.compiler.Compile("https://ma2h.org/schema/" + name + ".schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(doc)
}

func (s schemas) check(t *testing.T, name string, raw []byte) {
	t.Helper()
	if err := s.validate(t, name, raw); err != nil {
		t.Errorf("%s does not take %s: %v", name, raw, err)
	}
}

// TestAgreesWithSchema holds the malformed envelopes to the protocol's schema:
// what the schema refuses is a wrong shape here too, and never accepted.
func TestAgreesWithSchema(t *testing.T) {
	t.Parallel()
	s := newSchemas(t)
	// The schema binds # in agent.id to the leg that is off here; to this hub
	// that is a wrong meaning, like the leg itself.
	except := "to from an agent with #"
	n := 0
	for _, m := range readMalformed(t) {
		raw := m.bytes(t)
		if ma2h.Scan(raw) != nil || !strings.Contains(m.Envelope, `"ma2h_version":"0.5"`) {
			continue
		}
		n++
		byTheSchema := s.validate(t, "v0.5/message", raw) == nil
		if !byTheSchema && m.Code != ma2h.CodeValidation && m.Name != except {
			t.Errorf("%s: the schema refuses it, so it should be a wrong shape, is %s", m.Name, m.Code)
		}
		if byTheSchema && m.Code == ma2h.CodeValidation {
			t.Logf("stricter than the schema: %s", m.Name)
		}
	}
	t.Logf("compared %d envelopes", n)
}
