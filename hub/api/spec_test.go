package api_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"beckon/hub/api"

	"github.com/go-chi/chi/v5"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

// spec is openapi.yaml as the tests hold answers against it.
type spec struct {
	doc      map[string]any
	compiler *jsonschema.Compiler
	mu       sync.Mutex
}

const specURL = "https://beckon.test/openapi.json"

func readSpec(t testing.TB) *spec {
	t.Helper()
	s := &spec{compiler: jsonschema.NewCompiler()}
	if err := yaml.Unmarshal(api.OpenAPIDoc, &s.doc); err != nil {
		t.Fatalf("openapi.yaml: %v", err)
	}
	s.compiler.AssertFormat()
	if err := s.compiler.AddResource(specURL, jsonNumbers(s.doc)); err != nil {
		t.Fatal(err)
	}
	return s
}

// jsonNumbers makes of YAML's ints what the validator expects.
func jsonNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = jsonNumbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = jsonNumbers(v[i])
		}
	case int:
		return float64(v)
	}
	return v
}

// path finds the template of a path, "" if there is none.
func (s *spec) path(path string) string {
	have := strings.Split(path, "/")
	for template := range s.doc["paths"].(map[string]any) {
		want := strings.Split(template, "/")
		if len(want) == len(have) && slices.EqualFunc(want, have, func(w, h string) bool {
			return w == h || strings.HasPrefix(w, "{") && h != ""
		}) {
			return template
		}
	}
	return ""
}

// get follows keys and references into the document.
func (s *spec) get(v any, keys ...string) (any, string) {
	at := "#"
	walk := func(v any, key string) any {
		m, _ := v.(map[string]any)
		at += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		v = m[key]
		if m, ok := v.(map[string]any); ok {
			if ref, ok := m["$ref"].(string); ok {
				at, v = ref, any(s.doc)
				for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
					v = v.(map[string]any)[part]
				}
			}
		}
		return v
	}
	for _, key := range keys {
		v = walk(v, key)
	}
	return v, at
}

// check holds an answer against what the document says of it.
func (s *spec) check(t testing.TB, method, path string, r *reply) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	template := s.path(path)
	op, _ := s.get(s.doc, "paths", template, strings.ToLower(method))
	if template == "" || op == nil {
		// A path or method that does not exist gets the error body all the same.
		if r.status != http.StatusNotFound && r.status != http.StatusMethodNotAllowed {
			t.Errorf("%s %s: status %d, but it is not in openapi.yaml", method, path, r.status)
		}
		if method != http.MethodHead {
			s.validate(t, "#/components/schemas/Error", r)
		}
		return
	}
	response, at := s.get(s.doc, "paths", template, strings.ToLower(method), "responses", strconv.Itoa(r.status))
	if response == nil {
		t.Errorf("%s %s: status %d is not in openapi.yaml: %s", method, template, r.status, r.body)
		return
	}
	s.checkHeaders(t, response, r)
	content, _ := s.get(response, "content")
	media, ok := content.(map[string]any)
	switch {
	case !ok && r.body != "" && method != http.MethodHead:
		t.Errorf("%s %s %d: a body that openapi.yaml does not have: %s", method, template, r.status, r.body)
	case ok && media["application/json"] != nil:
		if ct := r.header.Get("Content-Type"); ct != "application/json" {
			t.Errorf("%s %s %d: Content-Type %q", method, template, r.status, ct)
		}
		s.validate(t, at+"/content/application~1json/schema", r)
	}
}

func (s *spec) checkHeaders(t testing.TB, response any, r *reply) {
	t.Helper()
	headers, _ := s.get(response, "headers")
	m, _ := headers.(map[string]any)
	for name := range m {
		h, _ := s.get(headers, name)
		if required, _ := h.(map[string]any)["required"].(bool); required && r.header.Get(name) == "" {
			t.Errorf("status %d without the header %s", r.status, name)
		}
	}
}

func (s *spec) validate(t testing.TB, pointer string, r *reply) {
	t.Helper()
	schema, err := s.compiler.Compile(specURL + pointer)
	if err != nil {
		t.Fatalf("openapi.yaml: %v", err)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(r.body))
	if err != nil {
		t.Errorf("status %d: not JSON: %v: %s", r.status, err, r.body)
		return
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("status %d does not fit openapi.yaml: %v\n%s", r.status, err, r.body)
	}
}

// TestOpenAPIHasEveryRoute holds the routing table and the document against
// each other, both ways.
func TestOpenAPIHasEveryRoute(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	routed := map[string]bool{}
	err := chi.Walk(w.api.Routes(), func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		routed[method+" "+strings.Replace(route, "/v1/agents/*", "/v1/agents/{id}/presence", 1)] = true // see presenceSuffix
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]bool{}
	for path, ops := range w.spec.doc["paths"].(map[string]any) {
		for method := range ops.(map[string]any) {
			written[strings.ToUpper(method)+" "+path] = true
		}
	}
	for r := range routed {
		if !written[r] {
			t.Errorf("%s is served but not in openapi.yaml", r)
		}
	}
	for r := range written {
		if !routed[r] {
			t.Errorf("%s is in openapi.yaml but not served", r)
		}
	}
	if len(routed) < 15 {
		t.Errorf("only %d routes", len(routed))
	}
}

// TestOpenAPICompiles finds broken references and schemas anywhere.
func TestOpenAPICompiles(t *testing.T) {
	t.Parallel()
	s := readSpec(t)
	ids := map[string]bool{}
	for path, ops := range s.doc["paths"].(map[string]any) {
		for method, op := range ops.(map[string]any) {
			id, _ := op.(map[string]any)["operationId"].(string)
			if id == "" || ids[id] {
				t.Errorf("%s %s: operationId %q is missing or taken", method, path, id)
			}
			ids[id] = true
		}
	}
	for name := range s.doc["components"].(map[string]any)["schemas"].(map[string]any) {
		if _, err := s.compiler.Compile(specURL + "#/components/schemas/" + name); err != nil {
			t.Errorf("schema %s: %v", name, err)
		}
	}
	var refs func(v any)
	refs = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				keys := strings.Split(strings.TrimPrefix(ref, "#/"), "/")
				if target, _ := s.get(s.doc, keys...); target == nil {
					t.Errorf("%s leads nowhere", ref)
				}
			}
			for _, x := range v {
				refs(x)
			}
		case []any:
			for _, x := range v {
				refs(x)
			}
		}
	}
	refs(s.doc)
}

func TestOpenAPIIsServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	r := w.do("GET", "/openapi.yaml", "", "").want(http.StatusOK, "")
	if !bytes.Equal([]byte(r.body), api.OpenAPIDoc) || r.header.Get("Content-Type") != "application/yaml" {
		t.Errorf("served another document, as %q", r.header.Get("Content-Type"))
	}
}

// sharedSchema compiles a schema of the protocol.
func sharedSchema(t testing.TB, name string) *jsonschema.Schema {
	t.Helper()
	shared := os.Getenv("BECKON_SHARED")
	if shared == "" {
		t.Skip("BECKON_SHARED is not set; it names the folder with the protocol's schemas")
	}
	dir := filepath.Join(shared, "protocol", "schema", "v0.5")
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no schemas in %s: %v", dir, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource("https://ma2h.org/schema/v0.5/"+filepath.Base(file), doc); err != nil {
			t.Fatal(err)
		}
	}
	return c.MustCompile("https://ma2h.org/schema/v0.5/" + name)
}

func validShared(t *testing.T, schema *jsonschema.Schema, body string) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("does not fit the protocol's schema: %v\n%s", err, body)
	}
}
