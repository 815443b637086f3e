package slack

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A mapped fault is one that other software had in Slack, or a trap of the
// library slack-go, and what would notice it in ours.
type mappedFault struct {
	n     int
	what  string
	tests string // names separated by spaces; of another package with its folder before a dot
	none  string // why it does not concern us, in place of tests
}

// productFaults are faults that were reported of other software.
func productFaults() []mappedFault {
	return []mappedFault{
		{1, "a long request is refused for every recipient", "TestReports TestRandomMessages", ""},
		{2, "a section is too long", "TestReports TestMarkdownIsCut", ""},
		{3, "refused blocks are swallowed and nobody hears", "TestReports TestDegraded TestUpdateRefusedBlocks", ""},
		{4, "the log does not say which block was refused", "TestLogSaysWhatWasRefused", ""},
		{5, "all texts together are too long", "TestReports TestMarkdownIsCut TestRandomMessages", ""},
		{6, "a title is too long", "TestReports TestRandomMessages", ""},
		{7, "too many blocks", "TestReports TestRandomMessages", ""},
		{8, "a long text is not divided", "TestReports TestRandomMessages", ""},
		{9, "a fence is cut in two", "TestCutCodeStaysCode TestMarkdown", ""},
		{10, "code is taken for Markdown", "TestMarkdown", ""},
		{11, "tilde fences are not known", "TestMarkdown", ""},
		{12, "a table arrives as pipes", "TestMarkdown", ""},
		{13, "an agent's text mentions everybody", "TestReports TestPlain TestRandomMessages", ""},
		{14, "the three special characters are mangled", "TestMarkdown TestPlain TestUnformat TestThreadReplies", ""},
		{15, "escaping kills our own links", "TestPlain TestReports", ""},
		{16, "a link lies about where it leads, or breaks", "TestMarkdown TestRandomMessages", ""},
		{17, "the look at a link decides", "TestReports ../web.TestLinksChangeNothing ../web.TestGetNeverDecides", ""},
		{18, "a click makes the request anew", "TestRepeatsHaveNoSecondEffect ../../hub.TestReplayIsSilent", ""},
		{19, "the controls stay after the answer", "TestReports TestUpdate TestEndedHasNoControls", ""},
		{20, "interactivity is switched off in the app", "TestManifestSays", ""},
		{21, "a double click acts twice", "TestRepeatsHaveNoSecondEffect TestStorm ../../hub.TestAnswerRace", ""},
		{22, "repeats act again since their ids differ", "TestRepeatsHaveNoSecondEffect TestRepeatAfterRestart TestKeys", ""},
		{23, "anybody in the channel may answer", "TestEveryPathHasTheSameDoor TestTaskHasTheSameDoor TestWhoMayNot", ""},
		{24, "who may not answer uses the question up", "TestWhoMayNot", ""},
		{25, "a refusal is said before the acknowledgement", "TestRefusalIsAcknowledgedFirst", ""},
		{26, "a bot's words count as an answer", "TestBotsDoNotAnswer", ""},
		{27, "copies do not hear of an answer elsewhere or of the end", "TestReports TestUpdate TestExpired TestStoppedAndEnded ../../hub.TestCopies", ""},
		{28, "it shows as decided before it is stored", "TestSlowHandlerAcknowledgesInTime ../../hub.TestNothingBeforeCommit", ""},
		{29, "a button's value is authority, or is used up by a failure", "TestEveryPathHasTheSameDoor TestNotRecorded TestLateClickIsToldTheSameFacts", ""},
		{30, "what is marked as a retry is dropped unseen", "TestRepeatsHaveNoSecondEffect", ""},
		{31, "one message comes under two event ids", "TestRepeatsHaveNoSecondEffect", ""},
		{32, "slow work delays the acknowledgement", "TestSlowHandlerAcknowledgesInTime", ""},
		{33, "the trigger of a form has run out", "TestExpiredTrigger", ""},
		{34, "a response_url is spent", "TestSpentResponseURL", ""},
		{35, "the lasting confirmation is one that vanishes", "TestClickAnswers", ""},
		{36, "a private note hides in a thread", "TestRefusalIsAcknowledgedFirst", ""},
		{37, "not invited looks like no such channel, and is tried for ever", "TestReports TestRefusals TestMovesOn", ""},
		{38, "posted, reported as failed, posted again", "TestReports TestFaults TestLookFails", ""},
		{39, "all channels are listed for each message", "TestReports TestPlaces", ""},
		{40, "limited though delivered", "TestReports TestFaults", ""},
		{41, "bursts are lost, and asks wait behind news", "TestLoad TestQueueOrder TestQueueShare", ""},
		{42, "delivered, timed out, posted twice", "TestFaults TestReports TestStoppedWhilePosting", ""},
		{43, "a socket dies or sleeps and nobody notices", "TestDeafSocket TestCutSocketsComeBack TestOutage", ""},
		{44, "the app's connections are all taken", "TestTakenSockets TestTwoHubs", ""},
		{45, "state is in the process that did not get the click", "TestTwoHubs TestRepeatAfterRestart", ""},
		{46, "a new field breaks every click", "TestNewFieldBreaksNoClick TestNonsenseIsAcknowledged", ""},
		{47, "emoji or mentions where Slack does not draw them", "TestGoldenCards TestRandomMessages fakeslack.TestRules", ""},
		{48, "the notification has nothing to show", "TestReports TestGoldenCards", ""},
		{49, "the payload of an acknowledgement is dropped", "TestFormShowsErrorsAtItsFields TestObjectionsFitTheAcknowledgement fakeslack.TestAcks", ""},
		{50, "a reaction is an answer, or the only sign of one", "TestManifestSays TestClickAnswers", ""},
		{51, "the decision is not told where it was asked", "TestReports TestUpdateRefused TestUpdateOfWhatWasDeleted", ""},
		{52, "prose is guessed into a choice", "TestThreadReplies", ""},
	}
}

// libraryTraps are traps of slack-go.
func libraryTraps() []mappedFault {
	return []mappedFault{
		{1, "debugging cuts connections and logs content", "TestLibraryIsForBlocksOnly", ""},
		{2, "a call has no time limit", "TestFaults TestErrorsHoldNoSecret", ""},
		{3, "a post is repeated after a reset", "TestFaults TestLibraryIsForBlocksOnly", ""},
		{4, "the token stands in the form", "TestTokenInHeaderOnly", ""},
		{5, "a slow consumer stops the pings", "TestSlowHandlerAcknowledgesInTime TestLibraryIsForBlocksOnly", ""},
		{6, "an acknowledgement that was queued is taken for delivered", "TestOutage TestRepeatsHaveNoSecondEffect TestLibraryIsForBlocksOnly", ""},
		{7, "a connection is closed before the next is open", "TestSocketsAreReplacedBeforeTheyGo", ""},
		{8, "the loop ends on some errors and sleeps on others", "TestSocketsOutliveARefusal TestCutSocketsComeBack TestTakenSockets", ""},
		{9, "what can't be decoded is never acknowledged", "TestNonsenseIsAcknowledged", ""},
		{10, "a server that does not ping is left", "TestServerThatNeverPings", ""},
		{11, "no blocks are sent as an empty list", "TestUpdateRefusedBlocks TestDegraded TestLibraryIsForBlocksOnly", ""},
		{12, "the library keeps few of Slack's limits", "TestRandomMessages TestGoldenCards TestGoldenModals fakeslack.TestLimits", ""},
		{13, "the team of the person is not the team of the install", "TestWhoMayNot TestOrganization", ""},
		{14, "releases change the types", "", "the compiler notices, and go.mod names one version"},
	}
}

// testsIn are the test functions of a folder.
func testsIn(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files of tests, %v", dir, len(files), err)
	}
	names := map[string]bool{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				names[fn.Name.Name] = true
			}
		}
	}
	return names
}

// TestEveryFaultHasATest: the tables name every fault once, in order, each with
// tests that exist or a reason why there are none.
func TestEveryFaultHasATest(t *testing.T) {
	t.Parallel()
	known := map[string]map[string]bool{}
	for name, x := range map[string]struct {
		list []mappedFault
		want int
	}{"faults": {productFaults(), 52}, "traps": {libraryTraps(), 14}} {
		if len(x.list) != x.want {
			t.Errorf("%d %s, want %d", len(x.list), name, x.want)
		}
		for i, f := range x.list {
			if f.n != i+1 || f.what == "" || (f.tests == "") == (f.none == "") {
				t.Errorf("%s: %+v is out of order or incomplete", name, f)
			}
			tests := strings.Fields(f.tests)
			for k, test := range tests {
				dir, fn := ".", test
				if at := strings.LastIndex(test, "."); at >= 0 {
					dir, fn = test[:at], test[at+1:]
				}
				if known[dir] == nil {
					known[dir] = testsIn(t, dir)
				}
				if !known[dir][fn] || slices.Contains(tests[:k], test) {
					t.Errorf("%s %d, %s: there is no %s, or it is named twice", name, f.n, f.what, test)
				}
			}
		}
	}
}
