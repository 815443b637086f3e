package templates_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares with testdata/name, which -update writes.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", path, d)
	}
}

// In a synctest bubble it is midnight of 1 January 2000, UTC.
func TestWordsGolden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(8 * time.Hour) // 16:00 in Singapore
		var b strings.Builder
		alice := &hub.Person{ID: "alice", Name: "Alice Ng", Location: time.FixedZone("SGT", 8*3600)}
		bob := &hub.Person{ID: "bob", Name: "Bob Roy", Location: time.UTC}
		say := func(label, s string) { b.WriteString(label + ": " + s + "\n") }

		now := time.Now()
		card := &hub.Card{
			Type: ma2h.Ask, Status: ma2h.Open, AgentID: "deploybot/dev-team", Project: "web-app", Priority: ma2h.High,
			ExpiresAt: now.Add(130 * time.Minute), OnExpire: "Hold for review", Reader: alice,
		}
		say("asker", templates.Asker(card))
		say("deadline", templates.Deadline(card))
		card.Reader = nil
		say("deadline, nobody's", templates.Deadline(card))
		card.Reader, card.OnExpire, card.ExpiresAt = bob, "", now.Add(52*time.Hour)
		say("deadline, far", templates.Deadline(card))
		card.OnExpireValues = []hub.NamedValue{{Name: "n", Title: "Replicas", Text: "3"}, {Name: "notify", Text: "no"}}
		say("deadline, values", templates.Deadline(card))
		card.Type, card.OnExpireValues, card.ExpiresAt = ma2h.Task, nil, now.Add(400*24*time.Hour)
		say("deadline, task", templates.Deadline(card))
		card.ExpiresAt = time.Time{}
		say("deadline, none", templates.Deadline(card))
		card.Status = ma2h.Completed
		say("deadline, done", templates.Deadline(card))

		choice := func(via string) *hub.Decision {
			return &hub.Decision{
				Resolution: ma2h.Answered, Actor: "human:alice", ActorName: "Alice Ng", At: now.Add(-8 * time.Minute), Via: via, Choice: "Hold for review", Option: 2,
			}
		}
		for _, via := range []string{"web", "slack", "email", "api", "admin", "clock"} {
			say("decision, "+via, templates.Decision(choice(via), bob))
		}
		say("decision, mine", templates.Decision(choice("web"), alice))
		say("decision, shared place", templates.Decision(choice("web"), nil))
		old := choice("email")
		old.At = now.Add(-9 * 24 * time.Hour)
		say("decision, last year", templates.Decision(old, bob))
		for _, r := range []ma2h.Status{ma2h.Declined, ma2h.Completed, ma2h.Dismissed, ma2h.Cancelled} {
			d := choice("slack")
			d.Resolution, d.Choice = r, ""
			say("decision, "+string(r), templates.Decision(d, bob))
		}
		expired := &hub.Decision{Resolution: ma2h.Expired, Actor: "system:expiry", Via: "clock", At: now}
		say("decision, expired", templates.Decision(expired, alice))
		expired.Defaulted, expired.Choice = true, "Hold for review"
		say("decision, defaulted", templates.Decision(expired, alice))
		form := choice("web")
		form.Choice, form.Values = "", []hub.NamedValue{{Name: "note", Title: "Release note", Text: "Fixes\nand more"}, {Name: "key", Title: "API key", Text: "••••"}}
		say("decision, form", templates.Decision(form, bob))

		lay := func(label string, d *hub.Decision, reader *hub.Person) {
			v := templates.Decided(d, reader)
			say("laid out, "+label, v.Head+" / "+v.Line)
		}
		lay("answered", choice("email"), bob)
		lay("mine", choice("web"), alice)
		lay("form", form, bob)
		lay("defaulted", expired, bob)
		values := *expired
		values.Choice, values.Values = "", form.Values
		lay("defaulted form", &values, bob)
		say("group", templates.Group([]string{"Alice Ng", "Bob Roy"}, "oncall"))

		outcomes := []hub.Outcome{
			{Kind: hub.Accepted, Verb: hub.VerbAnswer, Decision: choice("web")},
			{Kind: hub.Accepted, Verb: hub.VerbAnswer, Decision: form},
			{Kind: hub.Accepted, Verb: hub.VerbDecline},
			{Kind: hub.Accepted, Verb: hub.VerbComplete},
			{Kind: hub.Accepted, Verb: hub.VerbDismiss},
			{Kind: hub.Accepted, Verb: hub.VerbTick},
			{Kind: hub.Counted},
			{Kind: hub.Held},
			{Kind: hub.AlreadyResolved, Status: ma2h.Answered, Decision: choice("email")},
			{Kind: hub.AlreadyResolved, Status: ma2h.Expired, Decision: expired},
			{Kind: hub.AlreadyResolved, Status: ma2h.Cancelled},
			{Kind: hub.Unclear, Reason: hub.ReasonInvalid, Fields: []hub.FieldError{{Field: "replicas", Msg: "must be a number"}, {Field: "note", Msg: "is required"}}},
			{Kind: hub.Unclear},
			{Kind: hub.Refused, Reason: hub.ReasonNotAllowed, May: []string{"Alice Ng", "Bob Roy"}},
			{Kind: hub.Refused, Reason: hub.ReasonNotAllowed, May: []string{"Alice Ng", "Bob Roy"}, MayTeam: "oncall"},
			{Kind: hub.Refused, Reason: hub.ReasonNotAllowed, May: []string{"Alice Ng"}},
			{Kind: hub.Refused, Reason: hub.ReasonNotAllowed},
			{Kind: hub.Refused, Reason: hub.ReasonNotFound},
			{Kind: hub.Refused, Reason: hub.ReasonUnknownPerson},
			{Kind: hub.Refused, Reason: hub.ReasonNotify},
			{Kind: hub.Refused, Reason: hub.ReasonWrongVerb},
			{Kind: hub.Refused, Reason: hub.ReasonNoAnswer},
			{Kind: hub.Refused, Reason: hub.ReasonNoDecline},
			{Kind: hub.Refused, Reason: "something new"},
		}
		for _, o := range outcomes {
			say("outcome, "+string(o.Kind)+" "+string(o.Verb)+string(o.Reason)+string(o.Status), templates.Outcome(o, bob))
		}
		for _, d := range []time.Duration{0, 30 * time.Second, time.Minute, 59*time.Minute + 59*time.Second, time.Hour, 25 * time.Hour, 240 * time.Hour} {
			say("in "+d.String(), templates.In(now.Add(d)))
			say("ago "+d.String(), templates.Ago(now.Add(-d)))
		}
		say("names", templates.Names([]string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}))
		golden(t, "words.txt", b.String())
	})
}

func TestHistoryGolden(t *testing.T) {
	dir := &hub.Directory{People: map[string]*hub.Person{"alice": {ID: "alice", Name: "Alice Ng", Location: time.UTC}}}
	events := []struct{ kind, content string }{
		{"submitted", `{"agent":"deploybot/dev-team"}`},
		{"posted", `{"target":"web:alice","attempt":1}`},
		{"posted", `{"target":"slack:#deploys"}`},
		{"posted", `{"target":"pigeon:loft"}`},
		{"delivery_failed", `{"target":"email:alice","code":"timeout","kind":"post"}`},
		{"unreachable", `{}`},
		{"ticked", `{"actor":"human:alice","via":"web","done":1,"of":2}`},
		{"late", `{"actor":"human:bob","via":"email"}`},
		{"refused", `{"actor":"human:bob","via":"slack","reason":"not_allowed"}`},
		{"answered", `{"actor":"human:alice","via":"web","value":"never shown","comment":"never shown","evidence":{"by":"x"}}`},
		{"declined", `{"actor":"agent:deploybot/dev-team","via":"api"}`},
		{"completed", `{"actor":"human:alice","via":"slack"}`},
		{"dismissed", `{"actor":"human:alice","via":"web"}`},
		{"cancelled", `{"actor":"system:operator"}`},
		{"expired", `{"actor":"system:expiry","defaulted":false}`},
		{"expired", `{"defaulted":true}`},
		{"bounced", `{"person":"alice","note":"mailbox full"}`},
		{"away", `{"person":"alice"}`},
		{"seen", `{"person":"alice"}`},
		{"delayed", `{"person":"alice","note":"try again later"}`},
		{"unread", `{"person":"alice","via":"email"}`},
		{"unread", `{"via":"slack"}`},
		{"doubted", `{"person":"alice","via":"email"}`},
		{"escalated", `{"person":"alice","entry":1}`},
		{"delivered_to_agent", `{"via":"read"}`},
		{"pushed", `{"attempt":1}`},
		{"acknowledged", `{"note":"going on"}`},
		{"never_picked_up", `{}`},
		{"directed", `{"actor":"human:alice","via":"slack","directive":"dir_1"}`},
		{"directive_acknowledged", `{"directives":["dir_1"]}`},
		{"retried", `{"operator":"ops"}`},
		{"quite\u202E new", `[1]`},
		{"answered", ``},
	}
	var in []hub.Event
	for _, e := range events {
		in = append(in, hub.Event{Kind: e.kind, Content: []byte(e.content)})
	}
	var b strings.Builder
	for _, l := range templates.History(in, dir, nil) {
		b.WriteString(l.Text + "\n")
	}
	golden(t, "history.txt", b.String())
}

func TestMarkdownGolden(t *testing.T) {
	in, err := os.ReadFile("testdata/hostile.md")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "hostile.html", string(templates.Markdown(string(in))))
}

func TestMarkdownBounds(t *testing.T) {
	tests := []struct{ name, in string }{
		{"long", strings.Repeat("word ", templates.MaxMarkdown)},
		{"nested quotes", strings.Repeat(">", 20000) + " x"},
		{"nested lists", strings.Repeat("- ", 5000) + "x"},
		{"many links", strings.Repeat("[a](https://example.com/"+strings.Repeat("x", 50)+") ", 10000)},
		{"open brackets", strings.Repeat("[", 50000)},
		{"emphasis", strings.Repeat("*a_ ", 50000)},
		{"html", strings.Repeat("<div>\n", 40000)},
		{"half links", strings.Repeat("a](", 80000)},
		{"code spans", func() string {
			var b strings.Builder
			for i := range 600 {
				b.WriteString(strings.Repeat("`", i) + " ")
			}
			return b.String()
		}()},
		{"half comments", strings.Repeat("a <!-- ", 30000)},
		{"half links in one line each", strings.Repeat("a](\n\n", 30000)},
		{"tables", strings.Repeat("|a", 20000) + "\n" + strings.Repeat("|-", 20000) + "\n" + strings.Repeat("|b\n", 20000)},
		{"references", strings.Repeat("[a]: /x\n", 20000) + strings.Repeat("[a] ", 1000)},
		{"addresses", strings.Repeat("www.a.example/( ", 16000)},
		{"entities", strings.Repeat("&amp", 60000)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			got := string(templates.Markdown(tt.in))
			if len(got) > 3<<20 {
				t.Errorf("%d bytes of input make %d of output", len(tt.in), len(got))
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %s", took)
			}
			if len(tt.in) > templates.MaxMarkdown && !strings.Contains(got, "The text is cut here") {
				t.Error("the cut is not said")
			}
		})
	}
}

func TestSafeURL(t *testing.T) {
	tests := []struct {
		in, host string
		ok       bool
	}{
		{"https://example.com/a?b=c", "example.com", true},
		{"HTTP://Example.com:8080", "Example.com:8080", true},
		{"https://bank.example@evil.example/", "evil.example", true},
		{"https://exаmple.com/", "exаmple.com, not plain Latin letters", true}, // a Cyrillic letter
		{"mailto:a@example.com", "a@example.com", true},
		{"javascript:alert(1)", "", false},
		{"JaVaScRiPt:alert(1)", "", false},
		{"java\nscript:alert(1)", "", false},
		{"data:text/html,x", "", false},
		{"vbscript:x", "", false},
		{"file:///etc/passwd", "", false},
		{"//evil.example/x", "", false},
		{"/i/msg_1/answer", "", false},
		{"https:///path", "", false},
		{"https://exa\u202Emple.com", "", false},
		{"", "", false},
	}
	for _, tt := range tests {
		if _, host, ok := templates.SafeURL(tt.in); ok != tt.ok || host != tt.host {
			t.Errorf("SafeURL(%q) = %q, %v; want %q, %v", tt.in, host, ok, tt.host, tt.ok)
		}
	}
}

func TestClean(t *testing.T) {
	tests := []struct{ name, in, line, text string }{
		{"plain", "a b", "a b", "a b"},
		{"breaks", "a\r\nb\tc", "a b c", "a\nb\tc"},
		{"override", "a\u202Eb\u2066c", "a\uFFFDb\uFFFDc", "a\uFFFDb\uFFFDc"},
		{"hidden", "a\u200Bb\uFEFFc\U000E0041d", "abcd", "abcd"},
		{"control", "a\x00b\x1b[31mc\u0085d", "a b [31mc d", "a b [31mc d"},
		{"separators", "a\u2028b\u2029c", "a b c", "a b c"},
		{"joined", "👩\u200D💻 نامه\u200Cای", "👩\u200D💻 نامه\u200Cای", "👩\u200D💻 نامه\u200Cای"},
		{"not UTF-8", "a\xffb", "a\uFFFDb", "a\uFFFDb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := templates.Line(tt.in); got != tt.line {
				t.Errorf("Line = %q, want %q", got, tt.line)
			}
			if got := templates.Text(tt.in); got != tt.text {
				t.Errorf("Text = %q, want %q", got, tt.text)
			}
		})
	}
}

func TestCut(t *testing.T) {
	tests := []struct {
		in   string
		n    int
		want string
		cut  bool
	}{
		{"語語語", 3, "語語語", false},
		{"語語語語", 3, "語語…", true},
		{"ab  cd", 4, "ab…", true},
		{"abc", 1, "…", true},
		{"abc", 0, "", true},
		{"", 0, "", false},
	}
	for _, tt := range tests {
		if got, cut := templates.Cut(tt.in, tt.n); got != tt.want || cut != tt.cut {
			t.Errorf("Cut(%q, %d) = %q, %v; want %q, %v", tt.in, tt.n, got, cut, tt.want, tt.cut)
		}
	}
}

func TestTreeBounds(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 50) + "1" + strings.Repeat("}", 50)
	wide := `{"list":[` + strings.Repeat("1,", 999) + "1]}"
	n := templates.Tree([]byte(wide)).Kids[0]
	if len(n.Kids)+n.More != 1000 || n.More == 0 {
		t.Errorf("%d shown and %d said to be left out of 1000", len(n.Kids), n.More)
	}
	depth := 0
	for at := templates.Tree([]byte(deep)); !at.Leaf; at = &at.Kids[0] {
		depth++
	}
	if depth > 10 {
		t.Errorf("%d levels", depth)
	}
	if got := templates.Tree([]byte(`{"a":`)); !got.Leaf || got.Value != `{"a":` {
		t.Errorf("broken JSON shows as %+v", got)
	}
}

func TestOverride(t *testing.T) {
	t.Parallel()
	write := func(t *testing.T, name, text string) string {
		t.Helper()
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "web"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "web", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	tests := []struct{ name, file, text, want string }{
		{"unknown field", "signin.html", "{{define \"title\"}}x{{end}}\n{{define \"main\"}}\n{{.Nope}}{{end}}", "web/signin.html:3"},
		{"syntax", "list.html", "\n\n{{if}}", "web/list.html:3"},
		{"unknown function", "parts.html", "{{exec}}", "web/parts.html:1"},
		{"escaping", "problem.html", "{{define \"title\"}}{{end}}{{define \"main\"}}<a href='{{if .Kind}}\"{{end}}>{{end}}", "problem.html"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := templates.New(write(t, tt.file, tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error at %s", err, tt.want)
			}
		})
	}

	own, err := templates.New(write(t, "signin.html", `{{define "title"}}x{{end}}{{define "main"}}Our own words{{end}}`))
	if err != nil {
		t.Fatal(err)
	}
	page, err := own.Page("signin", &templates.SignInPage{})
	if err != nil || !strings.Contains(string(page), "Our own words") {
		t.Errorf("the operator's file is not used: %v", err)
	}
	if _, err := own.Page("problem", &templates.ProblemPage{Kind: "not-found"}); err != nil {
		t.Errorf("the other files are gone: %v", err)
	}
	plain, err := templates.New("")
	if err != nil {
		t.Fatal(err)
	}
	styled, err := templates.New(write(t, "web.css", "body { color: red }"))
	if err != nil {
		t.Fatal(err)
	}
	if plain.CSS().Path == styled.CSS().Path {
		t.Error("another style sheet has the same path")
	}
	if _, err := templates.New(filepath.Join(t.TempDir(), "nowhere")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// Every page renders, and every problem has words of its own.
func TestPages(t *testing.T) {
	set, err := templates.New("")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, k := range templates.ProblemKinds() {
		page, err := set.Page("problem", &templates.ProblemPage{Kind: k})
		if err != nil {
			t.Fatal(err)
		}
		if other, dup := seen[string(page)]; dup {
			t.Errorf("%s and %s say the same", k, other)
		}
		seen[string(page)] = k
	}
	if _, err := set.Page("nothing", nil); err == nil {
		t.Error("a page that does not exist renders")
	}
}
