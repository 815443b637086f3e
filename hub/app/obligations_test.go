package app_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// leg is a part of the protocol that a hub may offer.
type leg string

const (
	core     leg = "core"
	push     leg = "push"
	inbound  leg = "inbound"
	ack      leg = "ack"
	presence leg = "presence"

	// These are off, and never advertised.
	sessions   leg = "sessions"
	interAgent leg = "inter_agent"
	stream     leg = "stream"
)

// offBecause says why a leg is off.
var offBecause = map[leg]string{
	sessions:   "an agent here is one mailbox; its runs are told apart by run_id",
	interAgent: "this hub is between agents and people; a message to an agent is refused, never ignored",
	stream:     "the long poll is the floor of the drain, and enough",
}

// obligation is one thing that a vector which can't be run as a document asks
// for, and the tests that prove it.
type obligation struct {
	vector string
	point  string // of a dp vector "(1)", of a pa vector the number of its assert, from 1
	leg    leg
	tests  []string // package.Test
}

// obligations are those of every dp and pa vector that is behaviour and not a
// document. The signatures are run in hub/ma2h.
var obligations = []obligation{
	{"dp-002", "", core, []string{"hub/app.TestConformanceSubmitterBinding", "hub/api.TestOthersSeeNothing", "hub/api.TestCancel"}},

	{"dp-007", "(1)", inbound, []string{"hub.TestInboxRedelivers", "hub/client.TestReceive"}},
	{"dp-007", "(2)", inbound, []string{"hub/client.TestReceive", "hub/client.TestReceiveOverlaps"}},
	{"dp-007", "(3)", inbound, []string{"hub.TestDirective", "hub/api.TestInbox", "hub/client.TestInbox"}},
	{"dp-007", "(4)", inbound, []string{"hub.TestInboxIsOnesOwn", "hub/api.TestInbox"}},
	{"dp-007", "(5)", inbound, []string{"hub/client.TestInboxOfAnother", "hub/ma2h.TestVectorDirective"}},
	{"dp-007", "(6)", inbound, []string{"hub/client.TestInboxOfAnother", "hub/ma2h.TestVectorDirective"}},
	{"dp-007", "(7)", inbound, []string{"hub.TestInboxWaits", "hub/client.TestInbox"}},
	{"dp-007", "(8)", inbound, []string{"hub/app.TestKillKeepsWhatGoesBack", "hub/client.TestDirectiveOutlivesTheHub", "hub/store.TestSQLite", "hub/store.TestKill"}},

	{"dp-010", "(1)", ack, []string{"hub.TestTrackByRead", "hub/client.TestAckOfAHub"}},
	{"dp-010", "(2)", ack, []string{"hub.TestAckRefusals", "hub/api.TestGuessedIDs", "hub/app.TestConformanceSubmitterBinding"}},
	{"dp-010", "(3)", inbound, []string{"hub.TestDirective", "hub/client.TestReceiveFromAHub", "hub/api.TestInbox"}},
	{"dp-010", "(4)", ack, []string{"hub.TestDirective", "hub.TestTrackByRead", "hub.TestPushOfWhatWasRead"}},
	{"dp-010", "(5)", presence, []string{"hub.TestPresence", "hub/api.TestPresence"}},
	{"dp-010", "(6)", presence, []string{"hub/api.TestPresence"}},

	{"dp-021", "(1)", stream, nil},
	{"dp-021", "(2)", stream, nil},
	{"dp-021", "(3)", stream, nil},
	{"dp-021", "(4)", stream, nil},
	{"dp-021", "(5)", stream, nil},
	{"dp-021", "(6)", presence, []string{"hub.TestPresence", "hub/api.TestNotModifiedDeliversNothing", "hub/api.TestClientLeavesBeforeTheAnswer"}},
	{"dp-021", "(7)", interAgent, nil},
	{"dp-021", "(8)", inbound, []string{"hub/api.TestInboxWaits", "hub/app.TestObligationsOfWhatIsOffered"}},

	{"dp-022", "(1)", sessions, nil},
	{"dp-022", "(2)", interAgent, nil},
	{"dp-022", "(3)", interAgent, nil},
	{"dp-022", "(4)", interAgent, nil},
	{"dp-022", "(5)", interAgent, nil},
	{"dp-022", "(6)", interAgent, nil},
	{"dp-022", "(7)", ack, []string{"hub.TestTrackExpires", "hub.TestReadTooLate", "hub.TestInboxRedelivers"}},
	{"dp-022", "(8)", ack, []string{"hub.TestTrackExpires", "hub.TestInboxRedelivers"}},
	{"dp-022", "(9)", ack, []string{"hub.TestPollThatAnAnswerCountsOn", "hub/api.TestNotModifiedDeliversNothing", "hub/api.TestClientLeavesBeforeTheAnswer", "hub.TestTrackByRead", "hub.TestPushOfWhatWasRead", "hub/api.TestDelivery"}},
	{"dp-022", "(10)", ack, []string{"hub.TestTrackByRead", "hub/api.TestDelivery"}},

	{"dp-023", "(1)", interAgent, nil},
	{"dp-023", "(2)", interAgent, nil},
	{"dp-023", "(3)", interAgent, nil},
	{"dp-023", "(4)", interAgent, nil},
	{"dp-023", "(5)", core, []string{"hub/ma2h.TestConformance", "hub/app.TestConformanceSubmit"}},
	{"dp-023", "(6)", core, []string{"hub/app.TestConformanceSubmit", "hub/app.TestObligationsOfWhatIsOffered"}},
	{"dp-023", "(7)", interAgent, nil},
	{"dp-023", "(8)", interAgent, nil},
	{"dp-023", "(9)", interAgent, nil},
	{"dp-023", "(10)", core, []string{"hub/api.TestReplay", "hub.TestReplay", "hub.TestReplayLate", "hub/app.TestConformanceDocuments"}},

	{"dp-024", "(1)", interAgent, nil},
	{"dp-024", "(2)", interAgent, nil},
	{"dp-024", "(3)", sessions, nil},
	{"dp-024", "(4)", core, []string{"hub/app.TestConformanceSubmitterBinding", "hub/api.TestResolve", "hub.TestResolveByAgent"}},
	{"dp-024", "(5)", core, []string{"hub/app.TestConformanceResolve", "hub/api.TestResolve", "hub.TestAnswerRace", "hub.TestLate"}},
	{"dp-024", "(6)", interAgent, nil},
	{"dp-024", "(7)", sessions, nil},
	{"dp-024", "(8)", interAgent, nil},

	{"pa-001", "1", core, []string{"hub/client.TestStateIsBound", "hub/client.TestExampleAgent", "hub/app.TestAgentIsStartedByItsAnswer"}},
	{"pa-001", "2", core, []string{"hub/client.TestState", "hub/client.TestStateRotates", "hub/client.TestStateKeys"}},
	{"pa-001", "3", core, []string{"hub/app.TestConformanceSubmitterBinding", "hub.TestMayResolve"}},
	{"pa-001", "4", core, []string{"hub/app.TestConformanceSubmitterBinding", "hub/api.TestOthersSeeNothing"}},
	{"pa-001", "5", push, []string{"hub.TestPush", "hub/client.TestHandlerTakesWhatTheHubPushes", "hub/callback.TestPush", "hub/callback.TestEveryByteCounts"}},
	{"pa-001", "6", core, []string{"hub/ma2h.TestVectorPush", "hub/ma2h.TestVerifyNamesTheFailure", "hub/client.TestHandlerRefuses"}},
	{"pa-001", "7", push, []string{"hub.TestPushRefusals", "hub.TestPushAfterTheConfigChanged", "hub/safehttp.TestResolvers", "hub/safehttp.TestRebinding", "hub/safehttp.TestHostileURLs", "hub/safehttp.TestCallsAreAlone"}},
	{"pa-001", "8", core, []string{"hub.TestAnswerRace", "hub.TestAnswerAtExpiry", "hub.TestLate"}},
	{"pa-001", "9", core, []string{"hub/app.TestKill", "hub/app.TestKillKeepsWhatGoesBack", "hub/app.TestAgentIsStartedByItsAnswer", "hub/app.TestRestart", "hub/app.TestFsyncBefore202", "hub/store.TestKill"}},
	{"pa-001", "10", core, []string{"hub/api.TestSubmitRefusals", "hub.TestPushRefusals"}},
	{"pa-001", "11", core, []string{"hub/ma2h.TestVectorNumbers", "hub/ma2h.TestDigestIsCanonical"}},
	{"pa-001", "12", inbound, []string{"hub.TestDirective", "hub.TestDirectiveRefusals"}},
	{"pa-001", "13", inbound, []string{"hub.TestInboxIsOnesOwn", "hub/api.TestInbox", "hub/api.TestInboxRefusals"}},
	{"pa-001", "14", inbound, []string{"hub.TestInboxRedelivers", "hub.TestInboxWaits"}},
	{"pa-001", "15", inbound, []string{"hub.TestInboxRedelivers", "hub/ma2h.TestVectorDirective", "hub/client.TestInboxRefuses"}},
	{"pa-001", "16", core, []string{"hub/client.TestInboxRefuses", "hub/client.TestInboxOfAnother", "hub/client.TestReceive", "hub/client.TestReceiveOverlaps"}},
	{"pa-001", "17", core, []string{"hub/app.TestConformanceDocuments"}},
	{"pa-001", "18", inbound, []string{"hub/app.TestKillKeepsWhatGoesBack", "hub/client.TestDirectiveOutlivesTheHub", "hub/store.TestSQLite", "hub/store.TestKill"}},
	{"pa-001", "19", ack, []string{"hub.TestTrackByRead", "hub.TestAckRefusals", "hub/api.TestDelivery"}},
	{"pa-001", "20", core, []string{"hub/ma2h.TestVectorAck", "hub/app.TestObligationsOfWhatIsOffered"}},
	{"pa-001", "21", presence, []string{"hub.TestPresence", "hub/api.TestPresence"}},

	{"pa-002", "1", core, []string{"hub/app.TestConformanceSubmit"}},
	{"pa-002", "2", interAgent, nil},
	{"pa-002", "3", core, []string{"hub/ma2h.TestConformance"}},
	{"pa-002", "4", sessions, nil},
	{"pa-002", "5", interAgent, nil},
	{"pa-002", "6", interAgent, nil},
	{"pa-002", "7", sessions, nil},
	{"pa-002", "8", interAgent, nil},
	{"pa-002", "9", core, []string{"hub/app.TestConformanceSubmit", "hub/app.TestObligationsOfWhatIsOffered"}},
	{"pa-002", "10", stream, nil},
	{"pa-002", "11", core, []string{"hub/api.TestReplay", "hub.TestReplay", "hub.TestReplayLate"}},
	{"pa-002", "12", sessions, nil},
	{"pa-002", "13", interAgent, nil},
	{"pa-002", "14", stream, nil},
	{"pa-002", "15", core, []string{"hub/app.TestConformanceResolve", "hub/api.TestResolve", "hub.TestResolveByAgent"}},
	{"pa-002", "16", interAgent, nil},
	{"pa-002", "17", core, []string{"hub/app.TestConformanceDocuments", "hub/app.TestConformanceSubmit"}},
	{"pa-002", "18", interAgent, nil},
	{"pa-002", "19", interAgent, nil},
	{"pa-002", "20", ack, []string{"hub.TestTrackExpires", "hub.TestReadTooLate"}},
	{"pa-002", "21", presence, []string{"hub.TestPresence"}},
	{"pa-002", "22", sessions, nil},
	{"pa-002", "23", interAgent, nil},
	{"pa-002", "24", core, []string{"hub/client.TestErrors", "hub/client.TestAckAndPresence"}},
}

// TestObligationsAreAll: the table has every point of every such vector, once.
func TestObligationsAreAll(t *testing.T) {
	t.Parallel()
	points := map[string][]string{}
	for _, o := range obligations {
		points[o.vector] = append(points[o.vector], o.point)
	}
	for _, id := range []string{"dp-002", "dp-007", "dp-010", "dp-021", "dp-022", "dp-023", "dp-024", "pa-001", "pa-002"} {
		var v struct {
			Obligation string
			Asserts    []json.RawMessage
		}
		readVector(t, id, &v)
		var want []string
		for i := range v.Asserts {
			want = append(want, fmt.Sprint(i+1))
		}
		for i := 1; strings.Contains(v.Obligation, fmt.Sprintf("(%d) ", i)); i++ {
			want = append(want, fmt.Sprintf("(%d)", i))
		}
		if want == nil { // one obligation
			want = []string{""}
		}
		if !slices.Equal(points[id], want) {
			t.Errorf("%s has the points %q, the table %q", id, want, points[id])
		}
		delete(points, id)
	}
	for id := range points {
		t.Errorf("%s is in the table, and asks for nothing that is", id)
	}
}

// allTests are the names of all tests of the project, as package.Test.
func allTests(t *testing.T) map[string]bool {
	t.Helper()
	have := map[string]bool{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != root):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil // its package does not build, which is said there
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				have[filepath.ToSlash(dir)+"."+fn.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return have
}

// offer is which legs a hub's discovery names.
func offer(t *testing.T, p *process) map[leg]bool {
	t.Helper()
	status, body := p.do("GET", "/.well-known/ma2h", "", "")
	type object struct {
		Enabled       bool
		SignatureAlgs []string `json:"signature_algs"`
		SessionParam  any      `json:"session_param"`
		StreamURL     any      `json:"stream_url"`
	}
	var d struct {
		CallbackAuth []string `json:"callback_auth_schemes"`
		Inbound      *object
		Ack          *object
		Presence     *object
		Sessions     any
		InterAgent   any `json:"inter_agent"`
	}
	if err := json.Unmarshal(body, &d); status != http.StatusOK || err != nil {
		t.Fatalf("discovery: %d %s", status, body)
	}
	on := func(o *object) bool { return o != nil && o.Enabled }
	offered := map[leg]bool{
		core: true, push: len(d.CallbackAuth) > 0, inbound: on(d.Inbound), ack: on(d.Ack), presence: on(d.Presence),
		sessions: d.Sessions != nil, interAgent: d.InterAgent != nil,
	}
	if d.Inbound != nil {
		offered[stream] = d.Inbound.StreamURL != nil
		if d.Inbound.SessionParam != nil {
			t.Error("inbound.session_param is advertised, and there are no sessions")
		}
		if len(d.Inbound.SignatureAlgs) != 1 {
			t.Errorf("directives are signed by %v, want exactly one", d.Inbound.SignatureAlgs)
		}
	}
	if d.Ack != nil && d.Ack.SignatureAlgs != nil {
		t.Error("ack.signature_algs is advertised, and no ack is pushed")
	}
	return offered
}

// TestObligationsOfWhatIsOffered: each point of a leg that discovery names is
// proved by tests that exist; a leg that is off is not named, and proved by none.
func TestObligationsOfWhatIsOffered(t *testing.T) {
	t.Parallel()
	offered, have := offer(t, startConformance(t)), allTests(t)
	open := map[leg]int{}
	for _, o := range obligations {
		off := offBecause[o.leg] != ""
		switch {
		case off && offered[o.leg]:
			t.Errorf("%s is advertised; it is off because %s", o.leg, offBecause[o.leg])
		case off && o.tests != nil:
			t.Errorf("%s %s is of a leg that is off, and has tests", o.vector, o.point)
		case !off && len(o.tests) == 0:
			t.Errorf("%s %s is proved by nothing", o.vector, o.point)
		}
		if !offered[o.leg] {
			open[o.leg]++
			continue
		}
		for _, name := range o.tests {
			if !have[name] {
				t.Errorf("%s %s: there is no test %s", o.vector, o.point, name)
			}
		}
	}
	for l, n := range open {
		why := offBecause[l]
		if why == "" {
			why = "it is not there yet"
		}
		t.Logf("%s is not advertised, %d points: %s", l, n, why)
	}
}
