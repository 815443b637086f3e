package ma2h_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"beckon/hub/ma2h"

	"github.com/google/go-cmp/cmp"
)

// envelope writes a valid 0.5 envelope of a type, with members replaced or
// added; a nil value leaves one out.
func envelope(t testing.TB, typ string, change map[string]any) []byte {
	t.Helper()
	m := map[string]any{
		"ma2h_version": "0.5", "type": typ, "created_at": "2026-12-01T10:00:00Z", "title": "Ship it?",
		"agent":           map[string]any{"id": "deploybot/dev-team", "run_id": "run_1", "runtime": "cli"},
		"idempotency_key": "k1",
	}
	switch typ {
	case "ask":
		m["request"] = map[string]any{"mode": "confirm"}
	case "task":
		m["action"] = map[string]any{"instructions": "Rotate it."}
	}
	for k, v := range change {
		if m[k] = v; v == nil {
			delete(m, k)
		}
	}
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func mustJudge(t testing.TB, raw []byte) *ma2h.Envelope {
	t.Helper()
	e, err := judge(raw)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return e
}

// raw is JSON that goes into an envelope as it is.
func raw(s string) json.RawMessage { return json.RawMessage(s) }

type acceptedCase struct {
	name   string
	typ    string
	change map[string]any
}

func acceptedCases() []acceptedCase {
	return []acceptedCase{
		{"confirm", "ask", nil},
		{"later minor", "ask", map[string]any{"ma2h_version": "0.10"}},
		{"minor beyond an int", "ask", map[string]any{"ma2h_version": "0." + strings.Repeat("9", 40)}},
		{"0.0", "notify", map[string]any{"ma2h_version": "0.0"}},
		{"unknown fields", "ask", map[string]any{"x": nil, "status": raw(`null`), "response": raw(`{"a":[null,""]}`)}},
		{"null inside state", "ask", map[string]any{"state": raw(`{"a":null,"":""}`)}},
		{"null inside data and metadata", "ask", map[string]any{
			"context": raw(`[{"kind":"data","data":{"a":null},"metadata":{"b":null}}]`),
		}},
		{"null inside a schema", "ask", map[string]any{"request": raw(`{"mode":"input","schema":{"default":null}}`)}},
		{"null default", "ask", map[string]any{"request": raw(`{"mode":"confirm","default_on_expire":null}`)}},
		{"default of a synthesized confirm", "ask", map[string]any{
			"request": raw(`{"mode":"confirm","default_on_expire":"deny"}`),
		}},
		{"default object of input", "ask", map[string]any{
			"request": raw(`{"mode":"input","schema":{},"default_on_expire":{}}`),
		}},
		{"default string of input at 0.1", "ask", map[string]any{
			"ma2h_version": "0.1", "request": raw(`{"mode":"input","schema":{},"default_on_expire":"x"}`),
		}},
		{"empty text and body", "notify", map[string]any{"body": "", "context": raw(`[{"kind":"text","text":""}]`)}},
		{"title of 200 runes", "notify", map[string]any{"title": strings.Repeat("é", 200)}},
		{"nobody may resolve", "ask", map[string]any{"request": raw(`{"mode":"confirm","allowed_resolvers":[]}`)}},
		{"agent session as resolver", "ask", map[string]any{
			"request": raw(`{"mode":"confirm","allowed_resolvers":["agent:a#sess_1","human:x#y","system:z"]}`),
		}},
		{"legacy resolver below 0.5", "ask", map[string]any{
			"ma2h_version": "0.4", "request": raw(`{"mode":"confirm","allowed_resolvers":["agent:foo#bar"]}`),
		}},
		{"no key at 0.1", "ask", map[string]any{"ma2h_version": "0.1", "idempotency_key": nil}},
		{"no key for a notify", "notify", map[string]any{"idempotency_key": nil}},
		{"push without auth", "ask", map[string]any{
			"request": raw(`{"mode":"confirm","callback":{"mode":"push","url":"https://agent.example.com/x"}}`),
		}},
		{"pull at 0.2", "ask", map[string]any{
			"ma2h_version": "0.2", "request": raw(`{"mode":"confirm","callback":{"mode":"pull"}}`),
		}},
		{"hmac with token_ref at 0.1", "ask", map[string]any{
			"ma2h_version": "0.1",
			"request":      raw(`{"mode":"confirm","callback":{"mode":"push","url":"https://a.example.com/","auth":{"scheme":"hmac","token_ref":"T"}}}`),
		}},
		{"agent with # alone", "notify", map[string]any{
			"agent": map[string]any{"id": "legacy#w", "run_id": "r", "runtime": "cli"},
		}},
		{"id that is no string from 0.2", "notify", map[string]any{"ma2h_version": "0.2", "id": 5}},
		{"id that is null from 0.2", "notify", map[string]any{"id": raw(`null`)}},
		{"lower-case time", "notify", map[string]any{"created_at": "2026-12-01t10:00:00z"}},
		{"63 levels in state", "notify", map[string]any{
			"state": raw(`{"d":` + strings.Repeat("[", 62) + strings.Repeat("]", 62) + `}`),
		}},
		{"large numbers and tiny ones", "notify", map[string]any{"state": raw(`{"a":1e308,"b":1e-400,"c":-0,"d":12345678901234567890}`)}},
		{"a surrogate pair", "notify", map[string]any{"state": raw(`{"a":"\ud83d\ude00"}`)}},
		{"a noncharacter", "notify", map[string]any{"title": "a\ufffeb"}},
	}
}

func TestAccepted(t *testing.T) {
	t.Parallel()
	for _, tt := range acceptedCases() {
		t.Run(tt.name, func(t *testing.T) { mustJudge(t, envelope(t, tt.typ, tt.change)) })
	}
}

// TestAcceptedAgreesWithTheSchema: what is accepted from 0.5 on suits the schema.
func TestAcceptedAgreesWithTheSchema(t *testing.T) {
	t.Parallel()
	s := newSchemas(t)
	for _, tt := range acceptedCases() {
		doc := envelope(t, tt.typ, tt.change)
		if e := mustJudge(t, doc); e.Minor >= 5 {
			s.check(t, "v0.5/message", doc)
		}
	}
}

func TestParseVersions(t *testing.T) {
	t.Parallel()
	for v, want := range map[string]int{"0.0": 0, "0.1": 1, "0.5": 5, "0.10": 10, "0.99999999999999999999": math.MaxInt32} {
		e := mustJudge(t, envelope(t, "notify", map[string]any{"ma2h_version": v}))
		if e.Minor != want || e.Version != v {
			t.Errorf("%s: minor %d, version %s, want %d", v, e.Minor, e.Version, want)
		}
	}
}

func TestIDIsForLegacyOnly(t *testing.T) {
	t.Parallel()
	for v, want := range map[string]string{"0.1": "my.id~1", "0.2": "", "0.5": ""} {
		e := mustJudge(t, envelope(t, "notify", map[string]any{"ma2h_version": v, "id": "my.id~1"}))
		if e.ID != want {
			t.Errorf("%s: id %q, want %q", v, e.ID, want)
		}
	}
}

func TestForeignBlocksAreDroppedAtLegacy(t *testing.T) {
	t.Parallel()
	e := mustJudge(t, envelope(t, "notify", map[string]any{
		"ma2h_version": "0.1", "request": raw(`{"mode":"select"}`), "action": raw(`{}`),
	}))
	if e.Request != nil || e.Action != nil {
		t.Errorf("kept request %v, action %v", e.Request, e.Action)
	}
}

func TestValidateFillsIn(t *testing.T) {
	t.Parallel()
	e := mustJudge(t, envelope(t, "ask", map[string]any{"expires_at": "2026-12-01T18:00:00.25+08:00"}))
	want := []ma2h.Option{{Value: "approve", Label: "Approve"}, {Value: "deny", Label: "Deny"}}
	if diff := cmp.Diff(want, e.Request.Options); diff != "" || !e.Request.Implied {
		t.Errorf("options of a confirm (-want +got):\n%s", diff)
	}
	if e.Priority != ma2h.Normal {
		t.Errorf("priority %q", e.Priority)
	}
	if want := time.Date(2026, 12, 1, 10, 0, 0, 250e6, time.UTC); !e.Expires.Equal(want) {
		t.Errorf("expires %v, want %v", e.Expires, want)
	}
	// Twice is the same as once, and an agent's own options stay its own.
	if err := e.Validate(); err != nil || !e.Request.Implied {
		t.Errorf("second Validate: %v, implied %v", err, e.Request.Implied)
	}
	own := mustJudge(t, envelope(t, "ask", map[string]any{
		"request": raw(`{"mode":"confirm","options":[{"value":"y","label":"Y"},{"value":"n","label":"N"}]}`),
	}))
	if own.Request.Implied || own.Request.Options[0].Value != "y" {
		t.Errorf("got %+v", own.Request)
	}
}

func TestEmptyIsNotAbsent(t *testing.T) {
	t.Parallel()
	e := mustJudge(t, envelope(t, "task", map[string]any{
		"tags": []string{}, "context": []any{}, "state": raw(`{}`),
		"action": raw(`{"instructions":"x","checklist":[],"allowed_resolvers":[]}`),
	}))
	if e.Tags == nil || e.Context == nil || e.State == nil || e.Action.Checklist == nil || e.Action.AllowedResolvers == nil {
		t.Errorf("an empty value was lost: %+v %+v", e, e.Action)
	}
	bare := mustJudge(t, envelope(t, "task", nil))
	if bare.Tags != nil || bare.Context != nil || bare.State != nil || bare.Action.Checklist != nil || bare.Action.AllowedResolvers != nil {
		t.Errorf("an absent value was made up: %+v %+v", bare, bare.Action)
	}
}

func TestPeek(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, raw      string
		agent, id, key string
		minor          int
		refused        bool
	}{
		{"whole", `{"ma2h_version":"0.1","agent":{"id":"a\u002fb"},"id":"i","idempotency_key":"k"}`, "a/b", "i", "k", 1, false},
		{"wrong shape", `{"ma2h_version":"0.3","agent":[],"id":5,"idempotency_key":null,"title":5}`, "", "", "", 3, false},
		{"agent id a number", `{"ma2h_version":"0.3","agent":{"id":5}}`, "", "", "", 3, false},
		{"no version", `{"agent":{"id":"a"}}`, "", "", "", 0, true},
		{"major", `{"ma2h_version":"1.0","agent":{"id":"a"}}`, "", "", "", 0, true},
		{"duplicate", `{"ma2h_version":"0.3","x":{"a":1,"a":1}}`, "", "", "", 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			agent, id, key, minor, err := ma2h.Peek([]byte(tt.raw))
			if (err != nil) != tt.refused {
				t.Fatal(err)
			}
			if agent != tt.agent || id != tt.id || key != tt.key || minor != tt.minor {
				t.Errorf("got %q %q %q %d", agent, id, key, minor)
			}
		})
	}
}

// TestErrorsKeepSecrets puts a marker wherever an agent's own data may stand and
// breaks the envelope there: no error may repeat it.
func TestErrorsKeepSecrets(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for _, body := range []string{
		`"body":["hunter2"]`, `"state":"hunter2"`, `"state":{"hunter2":1e400}`, `"state":{"hunter2":1,"hunter2":2}`,
		`"state":{"a":"hunter2\ud800"}`, `"state":{"hunter2":hunter2}`, `"context":[{"kind":"data","data":{"hunter2":1,"hunter2":1}}]`,
		`"context":[{"kind":"hunter2"}]`, `"context":["hunter2"]`, `"title":"hunter2\n"`, `"sensitive":"hunter2"`,
		`"expires_at":"hunter2"`, `"to":"hunter2"`, `"context":[{"kind":"file","file":{"uri":"%zz://hunter2"}}]`,
		`"client_ref":{"a":"hunter2"}`, `"state":{"a":` + strings.Repeat(`{"hunter2":`, 70) + `1` + strings.Repeat("}", 71),
	} {
		doc := `{"ma2h_version":"0.5","type":"notify","created_at":"2026-12-01T10:00:00Z",` +
			`"agent":{"id":"a","run_id":"r","runtime":"cli"},` + body + `}`
		if !strings.Contains(body, `"title"`) {
			doc = doc[:len(doc)-1] + `,"title":"t"}`
		}
		_, err := judge([]byte(doc))
		if err == nil {
			t.Errorf("accepted %s", body)
			continue
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestDepthIsBounded feeds a document that is nothing but depth: the reader must
// not follow it.
func TestDepthIsBounded(t *testing.T) {
	t.Parallel()
	deep := []byte(`{"a":` + strings.Repeat(`[`, 4<<20))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := ma2h.Scan(deep); err == nil {
		t.Fatal("accepted")
	}
	runtime.ReadMemStats(&after)
	if grown := after.StackSys - before.StackSys; grown > 1<<20 && after.StackSys > before.StackSys {
		t.Errorf("the stack grew by %d bytes", grown)
	}
}

func TestPayloadHash(t *testing.T) {
	t.Parallel()
	base := `{"ma2h_version":"0.5","agent":{"id":"a","run_id":"r1","runtime":"cli"},"n":1.0,"x":"é"}`
	hash := func(doc string) string {
		t.Helper()
		sum, err := ma2h.PayloadHash([]byte(doc))
		if err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		return fmt.Sprintf("%x", sum)
	}
	same := map[string]string{
		"run_id":     strings.Replace(base, "r1", "r2", 1),
		"no run_id":  strings.Replace(base, `"run_id":"r1",`, "", 1),
		"session":    strings.Replace(base, `"r1"`, `"r1","session":"sess_1"`, 1),
		"order":      `{"x":"é","n":1.0,"agent":{"runtime":"cli","id":"a"},"ma2h_version":"0.5"}`,
		"whitespace": strings.ReplaceAll(base, ",", " ,\n\t"),
		"escapes":    strings.Replace(base, "é", `\u00e9`, 1),
		"number":     strings.Replace(base, "1.0", "1e0", 1),
	}
	for name, doc := range same {
		if hash(doc) != hash(base) {
			t.Errorf("%s changed the hash", name)
		}
	}
	other := map[string]string{
		"created_at":  strings.Replace(base, `"n"`, `"created_at":"2026-12-01T10:00:00Z","n"`, 1),
		"unknown":     strings.Replace(base, "1.0", "2", 1),
		"runtime":     strings.Replace(base, "cli", "cloud", 1),
		"nested run":  strings.Replace(base, `"n":1.0`, `"n":{"run_id":"r1"}`, 1),
		"composition": strings.Replace(base, "é", "e\u0301", 1),
	}
	seen := map[string]string{hash(base): "base"}
	for name, doc := range other {
		h := hash(doc)
		if was, dup := seen[h]; dup {
			t.Errorf("%s has the hash of %s", name, was)
		}
		seen[h] = name
	}
	for _, doc := range []string{`{"a":1,"a":1}`, `{"a":1e400}`, ``, `[]`, `{"agent":{"id":1,"id":1}}`} {
		if _, err := ma2h.PayloadHash([]byte(doc)); err == nil {
			t.Errorf("hashed %q", doc)
		}
	}
}

// example is an envelope of about 1.5 KB, as benchmarks of the hub use.
func example(t testing.TB) []byte {
	t.Helper()
	return envelope(t, "ask", map[string]any{
		"title": "Ship web-app 2.3 to production?", "priority": "high", "tags": []string{"deploy", "web-app"},
		"body":       strings.Repeat("All checks passed. One migration adds an index on `orders` (about 40 s of lock).\n", 5),
		"client_ref": "build-812", "expires_at": "2099-12-01T18:00:00Z",
		"agent": map[string]any{
			"id": "deploybot/dev-team", "run_id": "run_01J", "runtime": "github-actions", "project": "web-app",
			"labels": map[string]string{"model": "m-1", "team": "web"},
		},
		"context": raw(`[{"kind":"data","data":{"files":14,"tests":812,"risk":"medium"}},` +
			`{"kind":"file","file":{"uri":"https://ci.example.com/diff.patch","name":"diff.patch","mime_type":"text/x-diff"}}]`),
		"state": raw(`{"sealed":"` + strings.Repeat("QUJD", 50) + `"}`),
		"request": raw(`{"mode":"select","options":[{"value":"ship","label":"Ship to prod now","description":"Deploy immediately."},` +
			`{"value":"hold","label":"Hold for review","description":"Wait for a human PR review."},` +
			`{"value":"abort","label":"Abort the change","description":"Revert and close."}],"default_on_expire":"hold",` +
			`"permissions":{"allow_ignore":true},"callback":{"mode":"pull"}}`),
	})
}

func BenchmarkParse(b *testing.B) {
	raw := example(b)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		e, err := ma2h.Parse(raw)
		if err == nil {
			err = e.Validate()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkScan(b *testing.B) {
	raw := example(b)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if err := ma2h.Scan(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPeek(b *testing.B) {
	raw := example(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, _, _, err := ma2h.Peek(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPayloadHash(b *testing.B) {
	raw := example(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ma2h.PayloadHash(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendMessage(b *testing.B) {
	e := mustJudge(b, example(b))
	b.ReportAllocs()
	var dst []byte
	for b.Loop() {
		dst = ma2h.AppendMessage(dst[:0], e, "msg_1", ma2h.Open, nil, nil, nil)
	}
}

// FuzzParse: nothing panics, and what is accepted renders to a body that is
// accepted and says the same.
func FuzzParse(f *testing.F) {
	raw, err := os.ReadFile(filepath.Join("testdata", "malformed.json"))
	if err != nil {
		f.Fatal(err)
	}
	var cases []malformed
	if err := json.Unmarshal(raw, &cases); err != nil {
		f.Fatal(err)
	}
	for _, m := range cases {
		f.Add([]byte(m.Envelope))
	}
	f.Add(example(f))
	f.Add(envelope(f, "task", nil))
	f.Add(envelope(f, "notify", map[string]any{"ma2h_version": "0.1", "id": "x"}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		scanned := ma2h.Scan(raw)
		_, _, _, _, peeked := ma2h.Peek(raw)
		e, err := judge(raw)
		if err != nil {
			return
		}
		if scanned != nil || peeked != nil {
			t.Fatalf("parsed what Scan (%v) or Peek (%v) refuses: %q", scanned, peeked, raw)
		}
		sum, err := ma2h.PayloadHash(raw)
		if err != nil {
			t.Fatalf("no hash of %q: %v", raw, err)
		}
		body := ma2h.AppendMessage(nil, e, "msg_1", ma2h.Open, nil, nil, nil)
		again, err := judge(body)
		if err != nil {
			t.Fatalf("%q renders to %q: %v", raw, body, err)
		}
		if e.Minor < 2 {
			e.ID = "msg_1"
		}
		if diff := cmp.Diff(e, again); diff != "" {
			t.Fatalf("%q renders to %q:\n%s", raw, body, diff)
		}
		if !bytes.Equal(body, ma2h.AppendMessage(nil, again, "msg_1", ma2h.Open, nil, nil, nil)) {
			t.Fatalf("%q does not render twice alike", raw)
		}
		if _, err := ma2h.PayloadHash(body); err != nil {
			t.Fatalf("%x: %v", sum, err)
		}
	})
}

// What a person would see nothing of is refused where people must see it.
func TestBlank(t *testing.T) {
	t.Parallel()
	option := func(label string) map[string]any {
		return map[string]any{"request": map[string]any{"mode": "select", "options": []any{map[string]any{"value": "a", "label": label}}}}
	}
	item := func(text string) map[string]any {
		return map[string]any{"action": map[string]any{"instructions": "x", "checklist": []any{map[string]any{"text": text}}}}
	}
	for _, nothing := range []string{" ", "\u00a0\u3000", "\u200b", "\ufeff\u200d", "\u202e", "\u3164", "\u2800", "\u0301"} {
		for field, raw := range map[string][]byte{
			"title":                    envelope(t, "notify", map[string]any{"title": nothing}),
			"request.options[0].label": envelope(t, "ask", option(nothing)),
			"action.checklist[0].text": envelope(t, "task", item(nothing)),
		} {
			_, err := judge(raw)
			if e, ok := errors.AsType[*ma2h.Error](err); !ok || e.Code != ma2h.CodeInvalidField || e.Field != field {
				t.Errorf("%s %+q: %v", field, nothing, err)
			}
		}
	}
	for _, something := range []string{"\u200bx", "…", "é", "é", "שלום", "👍", "—", "1"} {
		mustJudge(t, envelope(t, "notify", map[string]any{"title": something}))
		mustJudge(t, envelope(t, "ask", option(something)))
		mustJudge(t, envelope(t, "task", item(something)))
	}
}
