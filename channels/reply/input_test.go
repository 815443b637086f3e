package reply

import (
	"slices"
	"strings"
	"testing"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// sayInput is a compact form of what a form's reading says.
func sayInput(c *hub.Card, r Reading) string {
	switch {
	case r.Why == WhyMissing:
		return string(r.Why) + " " + strings.Join(r.Missing, ",")
	case r.Why != "":
		return strings.TrimSpace(string(r.Why) + " " + r.Field)
	}
	parts := []string{}
	for _, f := range c.Fields {
		if v, ok := r.Fields[f.Name]; ok {
			parts = append(parts, f.Name+"="+v)
		}
	}
	if len(parts) != len(r.Fields) {
		parts = append(parts, "unknown names")
	}
	s := strings.Join(parts, "&")
	if r.Verb != hub.VerbAnswer {
		s = string(r.Verb)
	}
	if r.Comment != "" {
		s += "|" + r.Comment
	}
	return s
}

func checkInput(t *testing.T, c *hub.Card, tests []line) {
	t.Helper()
	for _, tt := range tests {
		if got := sayInput(c, Read(c, tt.text)); got != tt.want {
			t.Errorf("Read(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestOneOpenField(t *testing.T) {
	t.Parallel()
	c := inputOf(hub.Field{Name: "note", Title: "Release note", Type: hub.FieldString, Required: true})
	checkInput(t, c, []line{
		{"fixes", "note=fixes"},
		{"  Two\n\nlines: yes\n ", "note=Two\n\nlines: yes"},
		{"\ufeffIt's “fine”.\u200b", "note=It's “fine”."},
		{"don't know", "note=don't know"},
		{"2", "note=2"},
		{"yes", "note=yes"},
		{"note: fixes", "note=fixes"},
		{"Release Note: fixes\nand more", "note=fixes\nand more"},
		{"NOTE = a=b", "note=a=b"},
		{"*Note:* fixes", "note=fixes"},
		{"note：fixes", "note=fixes"},
		{"title: fixes", "note=title: fixes"},
		{"note:", "empty"},
		{"note:\nfixes", "note=fixes"},
		{"decline", "declined"},
		{"I decline.", "declined"},
		{"decline\nbecause", "ambiguous"},
		{"decline: because", "ambiguous"},
		{"I decline to say", "note=I decline to say"},
		{"note: decline", "note=decline"},
		{"Hi,\nfixes", "note=Hi,\nfixes"},
		{" \n", "empty"},
	})
	c.CanDecline = false
	checkInput(t, c, []line{{"decline", "no_decline"}, {"note: decline", "note=decline"}})
}

func TestOneClosedField(t *testing.T) {
	t.Parallel()
	checkInput(t, inputOf(hub.Field{Name: "n", Type: hub.FieldNumber, Required: true}), []line{
		{"3", "n=3"},
		{"3.", "n=3"},
		{"0.5", "n=0.5"},
		{"-3", "n=-3"},
		{"−3", "n=-3"},
		{"+3", "n=3"},
		{"1e3", "n=1e3"},
		{"1E-3", "n=1e-3"},
		{"１２", "n=12"},
		{"٣", "n=3"},
		{"(3)", "n=3"},
		{"n: 3", "n=3"},
		{"n = 3", "n=3"},
		{"n=3", "n=3"},
		{"3\nbecause of Bob", "n=3|because of Bob"},
		{"Hi,\n3", "n=3"},
		{"3 GB", "bad_value n"},
		{"1,000", "bad_value n"},
		{"1,5", "bad_value n"},
		{"1 000", "bad_value n"},
		{"007", "bad_value n"},
		{".5", "bad_value n"},
		{"5.5.5", "bad_value n"},
		{"three", "bad_value n"},
		{"3?", "bad_value n"},
		{"1٣", "bad_value n"},
		{"NaN", "bad_value n"},
		{"0x10", "bad_value n"},
		{"1e", "bad_value n"},
		{"3 - because", "bad_value n"},
		{"3 or 4", "bad_value n"},
		{"not 3", "bad_value n"},
		{"5%", "bad_value n"},
		{"²", "bad_value n"},
		{"--3", "bad_value n"},
		{"3\nor 4", "hedged"},
		{"3\n4", "hedged"},
		{"3\nnot 3", "hedged"},
		{"3\n3", "n=3|3"},
		{"decline", "declined"},
		{"decline\ntoo early", "declined|too early"},
	})
	checkInput(t, inputOf(hub.Field{Name: "go", Type: hub.FieldBoolean}), []line{
		{"yes", "go=true"},
		{"True", "go=true"},
		{"on", "go=true"},
		{"ja", "go=true"},
		{"no.", "go=false"},
		{"false", "go=false"},
		{"OFF", "go=false"},
		{"нет", "go=false"},
		{"yes\nBob knows", "go=true|Bob knows"},
		{"1", "bad_value go"},
		{"0", "bad_value go"},
		{"ok", "bad_value go"},
		{"approve", "bad_value go"},
		{"👍", "bad_value go"},
		{"not yes", "bad_value go"},
		{"yes?", "bad_value go"},
		{"yes\nno", "hedged"},
		{"yes, but", "bad_value go"},
	})
	env := hub.Field{Name: "env", Title: "Environment", Type: hub.FieldString, Enum: []string{"dev", "prod", "both"}, EnumNames: []string{"Development", "Production", "Both of them"}}
	checkInput(t, inputOf(env), []line{
		{"prod", "env=prod"}, {"PROD.", "env=prod"}, {"Production", "env=prod"}, {"“both of them”", "env=both"}, {"environment: dev", "env=dev"}, {"not prod", "bad_value env"}, {"1", "bad_value env"}, {"prod\nnot prod", "hedged"}, {"prod\ndev", "hedged"}, {"prod?", "bad_value env"},
	})
	env.Enum[0], env.EnumNames[2] = "decline", "PROD"
	checkInput(t, inputOf(env), []line{{"decline", "env=decline"}, {"prod", "bad_value env"}, {"Production", "env=prod"}})
	checkInput(t, inputOf(hub.Field{Name: "size", Type: hub.FieldInteger, Enum: []string{"1", "10"}}), []line{{"10", "size=10"}, {"2", "bad_value size"}})
}

func TestSeveralFields(t *testing.T) {
	t.Parallel()
	c := inputOf(
		hub.Field{Name: "env", Title: "Environment", Type: hub.FieldString, Enum: []string{"dev", "prod"}, Required: true},
		hub.Field{Name: "replicas", Type: hub.FieldInteger, Required: true},
		hub.Field{Name: "note", Title: "Ratio a:b", Type: hub.FieldString},
		hub.Field{Name: "notify_all", Title: "Notify users", Type: hub.FieldBoolean},
	)
	checkInput(t, c, []line{
		{"env: prod\nreplicas: 3", "env=prod&replicas=3"},
		{"ENVIRONMENT = Prod\n\nReplicas=3\nnotify users: no", "env=prod&replicas=3&notify_all=false"},
		{"Hi,\n- env: prod\n- replicas: 3", "env=prod&replicas=3"},
		{"*Env*: prod\n*replicas:* 3\nratio A:B: 1:2", "env=prod&replicas=3&note=1:2"},
		{"env: prod\nreplicas: 3\nnote: it's: fine", "env=prod&replicas=3&note=it's: fine"},
		{"notify_all: yes\nenv: dev\nreplicas: 0", "env=dev&replicas=0&notify_all=true"},
		{"env: prod\nreplicas: 3\n\nBob agrees.\nReally.", "env=prod&replicas=3|Bob agrees.\nReally."},
		{"env: prod\nreplicas: 3\nnote:", "env=prod&replicas=3"},
		{"env: prod", "missing replicas"},
		{"note: hello", "missing env,replicas"},
		{"env: stage\nreplicas: 3", "bad_value env"},
		{"env: prod\nreplicas: many", "bad_value replicas"},
		{"env: prod or dev\nreplicas: 3", "bad_value env"},
		{"env: prod\nreplica: 3", "unknown_field replica"},
		{"env: prod\nreplicas: 3\n\nnotes: typo", "unknown_field notes"},
		{"env: prod\nreplicas: 3\nBob agrees", "unknown_field"},
		{"prod", "unknown_field"},
		{"prod\n3", "unknown_field"},
		{"env: prod\nenv: dev\nreplicas: 3", "twice env"},
		{"env: prod\nEnvironment: prod\nreplicas: 3", "twice env"},
		{"env: prod\nreplicas: 3\n\nBob agrees.\nnote: x", "unknown_field note"},
		{"decline", "declined"},
		{"decline: not my team", "declined|not my team"},
		{"decline\nnot my team", "declined|not my team"},
		{"decline\nenv: prod", "ambiguous"},
		{"env: prod\nreplicas: 3\n\nscratch that", "hedged"},
		{"env: prod\nreplicas: 3\n\nbut only tomorrow", "hedged"},
		{"yes", "unknown_field"},
		{"ok", "unknown_field"},
	})
	all := "env: prod\nreplicas: 3\nnote: x\nnotify users: yes\n\nPS: Bob agrees."
	if got, want := sayInput(c, Read(c, all)), "env=prod&replicas=3&note=x&notify_all=true|PS: Bob agrees."; got != want {
		t.Errorf("with all fields: %q, want %q", got, want)
	}
	checkInput(t, inputOf(hub.Field{Name: "a", Title: "Name", Type: hub.FieldString}, hub.Field{Name: "name", Title: "b", Type: hub.FieldString}), []line{
		{"name: x", "twice name"}, {"a: x", "a=x"}, {"b: x", "name=x"}, {"a:\nb:", "empty"},
	})
	checkInput(t, inputOf(hub.Field{Name: "decline", Type: hub.FieldString}, hub.Field{Name: "b", Type: hub.FieldString}), []line{{"decline: x", "decline=x"}, {"decline", "declined"}})
}

func TestSensitiveInput(t *testing.T) {
	t.Parallel()
	c := inputOf(hub.Field{Name: "password", Type: hub.FieldString, Sensitive: true})
	c.PageOnly = true
	r := Read(c, "password: hunter2")
	if r.Why != WhyPageOnly || r.Fields != nil || r.Comment != "" || r.Field != "" {
		t.Errorf("kept something: %+v", r)
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	many := func(n int) []string {
		var out []string
		for i := range n {
			out = append(out, "v"+string(rune('a'+i)), "L"+string(rune('a'+i)))
		}
		return out
	}
	open := inputOf(hub.Field{Name: "note", Type: hub.FieldString})
	form := inputOf(hub.Field{Name: "env", Type: hub.FieldString, Enum: []string{"dev", "prod"}, Required: true}, hub.Field{Name: "n", Type: hub.FieldInteger})
	noDecline := shipCard()
	noDecline.CanDecline = false
	page := shipCard()
	page.PageOnly = true
	const nothing = " Nothing has been recorded."
	const below = " on the first line; anything after it becomes your comment." + nothing
	tests := []struct {
		name string
		card *hub.Card
		text string
		want string
	}{
		{"choice", shipCard(), "let's see", "I couldn't read that as one of the choices. Reply with 1, 2 or 3 (or ship, hold, abort)" + below},
		{"empty", shipCard(), "", "I found no text in your reply. Reply with 1, 2 or 3 (or ship, hold, abort)" + below},
		{"range", shipCard(), "7", "There is no choice with that number. Reply with 1, 2 or 3 (or ship, hold, abort)" + below},
		{"hedged", shipCard(), "ship - if Bob agrees", "I couldn't tell whether that is a plain answer, because of what comes with it. Reply with 1, 2 or 3 (or ship, hold, abort)" + below},
		{"two", shipCard(), "1\n2", "That could mean more than one answer. Reply with 1, 2 or 3 (or ship, hold, abort)" + below},
		{"no decline", noDecline, "decline", "This can't be declined. Reply with 1, 2 or 3 (or ship, hold, abort)" + below},
		{"confirm", confirmOf(), "hm", "I couldn't read that as one of the choices. Reply with yes or no (or 1 or 2)" + below},
		{"confirm of its own", confirmOf("keep", "Keep", "del", "Delete"), "yes", "I couldn't read that as one of the choices. Reply with 1 or 2 (or keep, del)" + below},
		{"one", selectOf("go", "Go"), "x", "I couldn't read that as one of the choices. Reply with 1 (or go)" + below},
		{"twelve", selectOf(many(12)...), "x", "I couldn't read that as one of the choices. Reply with 1 to 12" + below},
		{"labels", selectOf("x", "Go", "go", "Run", "x2", "Stop\nnow"), "x?", "I couldn't read that as one of the choices. Reply with 1, 2 or 3 (or x, Run, x2)" + below},
		{"unsafe number", selectOf("a", "2", "b", "B"), "2", "That could mean more than one answer. Reply with 1 (or a, b)" + below},
		{"nothing is safe", selectOf("2", "1", "1", "2"), "x", "I couldn't read that as one of the choices. Please answer on the page." + nothing},
		{"task", taskCard(), "hm", "I couldn't read that as done or not. Reply with done or can't do" + below},
		{"notify", &hub.Card{Type: ma2h.Notify}, "ok", "This message is for information and wants no answer." + nothing},
		{"page", page, "ship", "This can be answered on its page only. Your reply was not kept." + nothing},
		{"long", shipCard(), strings.Repeat("x", MaxRunes+1), "That is too long to read as an answer. Reply with 1, 2 or 3 (or ship, hold, abort)" + below},
		{"open field", open, "", "I found no text in your reply. Reply with the text of note alone. To decline, reply decline." + nothing},
		{"boolean", inputOf(hub.Field{Name: "go", Type: hub.FieldBoolean}), "hm", "I couldn't read go: it takes yes or no. Reply with yes or no on the first line; anything after it becomes your comment. To decline, reply decline." + nothing},
		{"bad value", form, "env: x", "I couldn't read env: it takes dev, prod. Reply with one line for each field, such as “env: value”. The fields are env, n. To decline, reply decline." + nothing},
		{"unknown field", form, "envy: dev", "I know no field envy here. Reply with one line for each field, such as “env: value”. The fields are env, n. To decline, reply decline." + nothing},
		{"no field", form, "dev", "I couldn't match a line of that to a field. Reply with one line for each field, such as “env: value”. The fields are env, n. To decline, reply decline." + nothing},
		{"missing", form, "n: 1", "Still needed: env. Reply with one line for each field, such as “env: value”. The fields are env, n. To decline, reply decline." + nothing},
		{"twice", form, "n: 1\nn: 2", "I can't tell which value is meant for n. Reply with one line for each field, such as “env: value”. The fields are env, n. To decline, reply decline." + nothing},
		{"clear", shipCard(), "ship", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := Read(tt.card, tt.text)
			if got := Sentence(tt.card, &r); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// Whatever the help offers must be read as what it says.
func TestHelpIsTrue(t *testing.T) {
	t.Parallel()
	for _, c := range []*hub.Card{
		shipCard(), confirmOf(), confirmOf("a", "B", "b", "A"), selectOf("a", "2", "b", "B"), selectOf("no", "1", "1", "No"), selectOf("decline", "Decline", "x", "y?"),
		selectOf("same", "A", "other", "Same"), selectOf("ship, now", "Ship, now", "x", "…"), selectOf("1. a", "2. b", "2. b", "1. a"),
	} {
		h := HelpFor(c, &Reading{Why: WhyNoChoice})
		for i, w := range strings.Split(h.Words, ", ") {
			if r := Read(c, w); h.Words != "" && r.Option != i+1 {
				t.Errorf("%q of %q reads as %+v", w, h.Words, r)
			}
		}
		for _, n := range strings.FieldsFunc(h.Numbers, func(r rune) bool { return !strings.ContainsRune("0123456789", r) }) {
			if r := Read(c, n); say(r) != n {
				t.Errorf("number %s of %q reads as %+v", n, h.Numbers, r)
			}
		}
		if r := Read(c, "decline"); (r.Verb == hub.VerbDecline) != h.Decline {
			t.Errorf("decline reads as %+v, help says %v", r, h.Decline)
		}
	}
}

func TestWordsAreFolded(t *testing.T) {
	t.Parallel()
	for name, list := range map[string][]string{
		"yes": yesWords, "no": noWords, "confirm yes": confirmYesWords, "confirm no": confirmNoWords, "yes names": yesNames, "no names": noNames,
		"decline": declineWords, "complete": completeWords, "dismiss": dismissWords, "courtesies": courtesies,
	} {
		for _, w := range list {
			if fold(w) != w {
				t.Errorf("%s: %q folds to %q", name, w, fold(w))
			}
		}
	}
	for name, list := range map[string][]string{
		"greetings": greetings, "addressees": addressees, "hedges": hedges, "continuations": continuations, "retractions": retractions,
		"retracting lines": retractingLines, "negations after": negationsAfter,
	} {
		for _, w := range list {
			if got := strings.Join(textWords(w), " "); got != w {
				t.Errorf("%s: %q reads as %q", name, w, got)
			}
		}
	}
	for w := range negations {
		if got := textWords(w); !slices.Equal(got, []string{w}) {
			t.Errorf("negation %q reads as %q", w, got)
		}
	}
	for _, w := range yesWords {
		if slices.Contains(noWords, w) || negates(w) {
			t.Errorf("%q is both yes and no", w)
		}
	}
}
