package channeltest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// hostile is text that is dangerous in one medium or another.
const hostile = "<!channel> <@U0BOB> <https://evil.example|click> <script>alert(1)</script>" +
	"<img src=x onerror=alert(2)> \"'><b> \u202Edlrow\u202C &lt; {{.}} @everyone"

// oneLine adds what must not begin a line where one line belongs.
const oneLine = hostile + "\r\nBcc: evil@example.com\r\n.\r\n"

func testHostile(t *testing.T, h Harness) {
	f := start(t, h)
	c := Ask("msg_a")
	c.Title, c.Project, c.RunID = oneLine, oneLine, oneLine
	c.Body = hostile + "\n\n![pixel](https://evil.example/p.png) [x](javascript:alert(3))"
	c.Tags = []string{oneLine}
	c.Options[0].Label, c.Options[0].Description = oneLine, oneLine
	c.OnExpire = oneLine
	c.Context = []hub.CardPart{
		{Text: hostile},
		{File: &ma2h.File{URI: "javascript:alert(4)", Name: oneLine}},
		{Data: []byte(`{"<script>alert(5)</script>":"<img src=x onerror=alert(6)>"}`)},
	}
	f.post(c)
	got := f.Read(t, "msg_a")
	for _, bad := range []string{
		"<!channel>", "<@U0BOB>", "<https://evil.example|", "<script", "<img", "\nBcc:", "\u202E", "href=\"javascript:", "src=\"https://evil",
	} {
		if strings.Contains(got.Raw, bad) {
			t.Errorf("the copy holds %q:\n%s", bad, got.Raw)
		}
	}
	if !strings.Contains(got.Text, "alert(1)") {
		t.Errorf("the text itself is gone:\n%s", got.Text)
	}
}

func testHuge(t *testing.T, h Harness) {
	f := start(t, h)
	c := Ask("msg_a")
	c.Body = strings.Repeat("word and 語 ", 100_000) + "the-very-end"
	c.Context = []hub.CardPart{{Text: strings.Repeat("line\n", 100_000) + "the-very-end"}}
	for i := range c.Options {
		c.Options[i].Label = strings.Repeat("long label ", 100)
		c.Options[i].Description = strings.Repeat("long description ", 500)
	}
	f.post(c)
	got := f.Read(t, "msg_a")
	if strings.Contains(got.Text, "the-very-end") {
		t.Fatalf("%d bytes were shown whole", len(got.Raw))
	}
	if !strings.Contains(got.Text, "cut") && !strings.Contains(got.Text, "…") {
		t.Errorf("a cut is not said")
	}
	if strings.Contains(got.Text, "\uFFFD") {
		t.Errorf("a cut went through a character")
	}
}

// outcomes are everything that a hub may say to an answer.
func outcomes() []struct {
	name string
	out  hub.Outcome
	want []string
} {
	by := func(actor, name string) *hub.Decision {
		return &hub.Decision{
			Resolution: ma2h.Answered, Actor: actor, ActorName: name, At: time.Now(), Via: "email", Choice: "Hold for review", Option: 2,
		}
	}
	refused := func(r hub.Reason) hub.Outcome { return hub.Outcome{Kind: hub.Refused, Reason: r, Status: ma2h.Open} }
	notAllowed := refused(hub.ReasonNotAllowed)
	notAllowed.May = []string{"Carol Diaz", "Bob Roy"}
	return []struct {
		name string
		out  hub.Outcome
		want []string
	}{
		{"accepted", hub.Outcome{Kind: hub.Accepted, Status: ma2h.Answered, Decision: by("human:alice", "Alice Ng")}, []string{"Hold for review"}},
		{"counted", hub.Outcome{Kind: hub.Counted, Status: ma2h.Open}, []string{"vote"}},
		{"held", hub.Outcome{Kind: hub.Held, Status: ma2h.Open}, []string{"confirm"}},
		{"already resolved", hub.Outcome{Kind: hub.AlreadyResolved, Status: ma2h.Answered, Decision: by("human:bob", "Bob Roy")}, []string{"Bob Roy", "Hold for review", "by e-mail", "changed nothing"}},
		{"not allowed", notAllowed, []string{"Carol Diaz", "Bob Roy"}},
		{"unclear", hub.Outcome{Kind: hub.Unclear, Reason: hub.ReasonInvalid, Status: ma2h.Open, Fields: []hub.FieldError{{Field: "comment", Msg: "is far too long"}}}, []string{"is far too long", "recorded"}},
		{"unknown person", refused(hub.ReasonUnknownPerson), []string{"directory"}},
		{"for information", refused(hub.ReasonNotify), []string{"information"}},
		{"wrong verb", refused(hub.ReasonWrongVerb), []string{"Nothing has been recorded"}},
		{"no answer wanted", refused(hub.ReasonNoAnswer), []string{"takes no answer"}},
	}
}

func testOutcomes(t *testing.T, h Harness) {
	for _, tt := range outcomes() {
		t.Run(tt.name, func(t *testing.T) {
			f := start(t, h)
			if f.Answer == nil {
				return // a channel that nobody can answer in
			}
			f.post(Ask("msg_a"))
			f.desk.Say(func(a hub.Answer) (hub.Outcome, error) {
				o := tt.out
				o.MessageID, o.Verb = a.MessageID, a.Verb
				return o, nil
			})
			said := f.Answer(t, "msg_a", 2)
			for _, w := range tt.want {
				if !strings.Contains(said, w) {
					t.Errorf("the person is not told %q, but:\n%s", w, said)
				}
			}
			if n := len(f.desk.Answers()); n != 1 {
				t.Errorf("%d answers reached the hub, want 1", n)
			}
		})
	}
	t.Run("nothing known to be recorded", func(t *testing.T) {
		f := start(t, h)
		if f.Answer == nil {
			return // a channel that nobody can answer in
		}
		f.post(Ask("msg_a"))
		f.desk.Say(func(hub.Answer) (hub.Outcome, error) { return hub.Outcome{}, errors.New("disk canary") })
		said := f.Answer(t, "msg_a", 2)
		if !strings.Contains(said, "could not record") {
			t.Errorf("the person is not told that nothing is known to be recorded, but:\n%s", said)
		}
		if strings.Contains(said, "canary") || strings.Contains(said, "Recorded:") {
			t.Errorf("the person is told too much:\n%s", said)
		}
	})
}

func testAnswer(t *testing.T, h Harness) {
	f := start(t, h)
	if f.Answer == nil {
		return // a channel that nobody can answer in
	}
	f.post(Ask("msg_a"))
	f.desk.Say(func(a hub.Answer) (hub.Outcome, error) {
		return hub.Outcome{Kind: hub.Counted, MessageID: a.MessageID, Verb: a.Verb, Status: ma2h.Open}, nil
	})
	f.Answer(t, "msg_a", 2)
	answers := f.desk.Answers()
	if len(answers) != 1 {
		t.Fatalf("%d answers reached the hub, want 1", len(answers))
	}
	a := answers[0]
	if a.MessageID != "msg_a" || a.Actor != "human:"+Reader || a.Verb != hub.VerbAnswer || a.Option != 2 {
		t.Errorf("got %+v, want option 2 of msg_a by %s", a, Reader)
	}
	if a.Receipt.Key == "" || len(a.Receipt.Evidence) == 0 {
		t.Errorf("the receipt lacks key or evidence: %+v", a.Receipt)
	}
	for _, s := range f.Secrets {
		if strings.Contains(string(a.Receipt.Evidence), s) {
			t.Error("the evidence holds a secret")
		}
	}
}
