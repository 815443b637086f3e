package ma2h_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"beckon/hub/ma2h"
)

// fate is what this hub makes of a conformance vector.
type fate string

const (
	asItIs  fate = "run as they are"
	refused fate = "run as refusals by the hub"
	partly  fate = "partly ours"
	off     fate = "of legs that are off"
)

// The legs of the protocol that this hub does not offer, with the reason. None
// of them is advertised, which hub/app's conformance test holds.
const (
	sessions   = "sessions (§16): an agent here is one mailbox; its runs are told apart by run_id"
	interAgent = "inter-agent (§4 to, §8.7.1, §9.8): this hub is between agents and people"
	stream     = "stream (§8.7.2): the long poll is the floor of the drain, and enough"
	pushedAck  = "pushed acks (§14.4): people read them at the hub; run as fixtures of the signer"
)

// vectorFate says what becomes of one vector.
type vectorFate struct {
	fate fate
	// run is how a dp vector is run here.
	run func(*testing.T)
	// code is what the hub answers to one that it refuses.
	code ma2h.Code
	// leg is the reason of one that is off.
	leg string
	// elsewhere says that hub/app's conformance test has what it asks for.
	elsewhere bool
}

// fates has every vector there is.
func fates() map[string]vectorFate {
	all := map[string]vectorFate{
		"sv-017": {fate: refused, code: ma2h.CodeUnknownDestination}, "sv-018": {fate: refused, code: ma2h.CodeUnknownDestination},
		"sv-019": {fate: refused, code: ma2h.CodeValidation}, "sv-020": {fate: refused, code: ma2h.CodeValidation},
		"sv-021": {fate: refused, code: ma2h.CodeValidation},
		"sv-038": {fate: refused, code: ma2h.CodeInvalidField}, "sv-040": {fate: refused, code: ma2h.CodeInvalidField},

		"dp-001": {fate: asItIs, run: TestVectorPush}, "dp-003": {fate: asItIs, run: TestVectorPush},
		"dp-004": {fate: asItIs, run: TestVectorNumbers},
		"dp-005": {fate: asItIs, run: TestVectorDirective}, "dp-006": {fate: asItIs, run: TestVectorDirective},
		"dp-025": {fate: asItIs, run: TestVectorMAC},
		"dp-002": {fate: asItIs, elsewhere: true}, "dp-007": {fate: asItIs, elsewhere: true},
		"dp-010": {fate: asItIs, elsewhere: true}, "pa-001": {fate: asItIs, elsewhere: true},
		"dp-021": {fate: partly, elsewhere: true}, "dp-022": {fate: partly, elsewhere: true},
		"dp-023": {fate: partly, elsewhere: true}, "dp-024": {fate: partly, elsewhere: true},
		"pa-002": {fate: partly, elsewhere: true},

		"dp-008": {fate: off, leg: pushedAck, run: TestVectorAck}, "dp-009": {fate: off, leg: pushedAck, run: TestVectorAck},
		"dp-019": {fate: off, leg: sessions}, "dp-020": {fate: off, leg: interAgent},
	}
	for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 32, 35, 41, 42, 45, 46, 47, 49, 55, 56, 57} {
		all[fmt.Sprintf("sv-%03d", n)] = vectorFate{fate: asItIs}
	}
	for _, n := range []int{22, 44, 54, 58, 59, 60, 64, 65, 66} {
		all[fmt.Sprintf("sv-%03d", n)] = vectorFate{fate: off, leg: sessions}
	}
	for _, n := range []int{23, 24, 25, 26, 27, 28, 29, 30, 31, 33, 34, 36, 37, 39, 43, 48, 50, 51, 52, 53, 61, 62, 63} {
		all[fmt.Sprintf("sv-%03d", n)] = vectorFate{fate: off, leg: interAgent}
	}
	for n := 11; n <= 18; n++ {
		all[fmt.Sprintf("dp-%03d", n)] = vectorFate{fate: off, leg: interAgent}
	}
	return all
}

// vectorText is what all vectors have.
type vectorText struct {
	ID     string          `json:"id"`
	Class  string          `json:"class"`
	Ref    string          `json:"ref"`
	Target string          `json:"target"`
	Expect string          `json:"expect"`
	Input  json.RawMessage `json:"input"`
}

// TestConformance runs every vector of the protocol and prints the tally.
func TestConformance(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(sharedDir(t, "vectors"), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	all, schemas := fates(), newSchemas(t)
	passed := map[fate]int{}
	t.Run("vectors", func(t *testing.T) {
		for _, file := range files {
			id := filepath.Base(file)[:len("sv-000")]
			f, known := all[id]
			if !known {
				t.Errorf("nobody has said what becomes of %s", filepath.Base(file))
				continue
			}
			delete(all, id)
			var v vectorText
			readJSON(t, file, &v)
			if t.Run(id, func(t *testing.T) { f.judge(t, v, schemas) }) {
				passed[f.fate]++
			}
		}
	})
	for id := range all {
		t.Errorf("there is no vector %s any more", id)
	}
	total := 0
	for _, n := range passed {
		total += n
	}
	t.Logf("%d of %d vectors: %d %s, %d %s, %d %s, %d %s", total, len(files),
		passed[asItIs], asItIs, passed[refused], refused, passed[partly], partly, passed[off], off)
	for _, leg := range []string{sessions, interAgent, stream, pushedAck} {
		t.Logf("off: %s", leg)
	}
}

// judge runs one vector.
func (f vectorFate) judge(t *testing.T, v vectorText, s schemas) {
	if v.Class == "schema-validation" {
		// The schemas that the hub's own documents are held to read as the
		// protocol means them.
		if err := s.validate(t, v.schema(), v.Input); (err == nil) != (v.Expect == "valid") {
			t.Errorf("its schema says %v, want %s", err, v.Expect)
		}
	}
	switch {
	case f.run != nil:
		t.Run("here", f.run)
	case f.elsewhere:
		if v.Class == "schema-validation" {
			t.Error("a document can be read here")
		}
	case f.fate == asItIs:
		f.read(t, v)
	case f.fate == refused:
		_, err := judge(v.Input)
		if e, ok := errors.AsType[*ma2h.Error](err); !ok || e.Code != f.code {
			t.Errorf("got %v, want a %s", err, f.code)
		}
	case f.fate == off:
		if got := v.leg(t); got != f.leg {
			t.Errorf("it is about %q", got)
		}
		// An agent that uses this package takes nothing of such a leg for a
		// directive.
		if strings.HasSuffix(v.Target, "inbound-message.schema.json") {
			if _, err := ma2h.ParseDirective(v.Input); err == nil {
				t.Error("it passes for a directive")
			}
		}
	}
}

// read gives a document to the reader of its schema.
func (f vectorFate) read(t *testing.T, v vectorText) {
	input := v.Input
	if v.ID[:6] == "sv-046" { // about the resolver, without the leg that is off
		var m map[string]json.RawMessage
		if err := json.Unmarshal(v.Input, &m); err != nil {
			t.Fatal(err)
		}
		delete(m, "to")
		m["agent"] = json.RawMessage(`{"id":"overseer/fleet","run_id":"r","runtime":"cli"}`)
		input, _ = json.Marshal(m)
	}
	var err error
	switch target := filepath.Base(v.Target); target {
	case "message.schema.json":
		_, err = judge(input)
	case "response.schema.json":
		_, err = ma2h.ParseResponse(input)
	case "inbound-message.schema.json":
		_, err = ma2h.ParseDirective(input)
	case "ack.schema.json":
		_, err = ma2h.ParseAck(input)
	case "presence.schema.json":
		_, err = ma2h.ParsePresence(input)
	case "resolve-request.schema.json":
		_, err = ma2h.ParseResolveRequest(input)
	default:
		t.Fatalf("no reader for %s", target)
	}
	if _, ok := errors.AsType[*ma2h.Error](err); err != nil && !ok {
		t.Fatalf("not a refusal: %v", err)
	}
	if (err == nil) != (v.Expect == "valid") {
		t.Errorf("got %v, want %s", err, v.Expect)
	}
}

// schema names the vector's schema as schemas.validate wants it; those without a
// version are of 0.4, where the first of them were written.
func (v vectorText) schema() string {
	name := strings.Replace(v.Target, ".schema.json", "", 1)
	if !strings.Contains(name, "/") {
		name = "v0.4/" + name
	}
	return name
}

// leg is which leg a vector is about, by what is in it.
func (v vectorText) leg(t *testing.T) string {
	t.Helper()
	if v.Class == "downstream-proof" {
		switch {
		case strings.Contains(v.Ref, "§9.8"), strings.Contains(v.Ref, "§8.7.1"):
			return interAgent
		case strings.Contains(v.Ref, "§16"):
			return sessions
		}
		return v.Ref
	}
	var in struct {
		Type        string          `json:"type"`
		Status      string          `json:"status"`
		Destination json.RawMessage `json:"destination"`
		Mailbox     json.RawMessage `json:"mailbox"`
		InterAgent  json.RawMessage `json:"inter_agent"`
		Sessions    json.RawMessage `json:"sessions"`
	}
	if err := json.Unmarshal(v.Input, &in); err != nil {
		t.Fatal(err)
	}
	switch {
	case strings.Contains(v.Target, "session.schema.json"):
		return sessions
	case in.InterAgent != nil, in.Mailbox != nil, in.Destination != nil:
		return interAgent
	case slices.Contains([]string{"queued", "bounced", "acknowledged"}, in.Status):
		return interAgent
	case strings.Contains(v.Target, "inbound-message") && in.Type != "directive":
		return interAgent
	case in.Sessions != nil:
		return sessions
	}
	return "the human leg"
}

// TestConformanceData: the vectors are those that the requirements count.
func TestConformanceData(t *testing.T) {
	t.Parallel()
	count := map[fate]int{}
	for _, f := range fates() {
		count[f.fate]++
	}
	for f, want := range map[fate]int{asItIs: 27 + 10, refused: 7, partly: 5, off: 32 + 12} {
		if count[f] != want {
			t.Errorf("%d vectors %s, want %d", count[f], f, want)
		}
	}
}
