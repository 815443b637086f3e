package slack

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"

	slackgo "github.com/slack-go/slack"
)

// rounds scales a long test by BECKON_ROUNDS.
func rounds(t testing.TB, small int) int {
	n, err := strconv.Atoi(os.Getenv("BECKON_ROUNDS"))
	if err != nil || n < 1 {
		return small
	}
	t.Logf("%d rounds", n)
	return n
}

// tag stands in every text of the agent's in the property test, so that the
// test sees where it went.
const tag = "§"

// gen makes random messages. Everything an agent may send comes out of it.
type gen struct{ *rand.Rand }

// rune returns a character of any plane, mostly of the interesting ones.
func (g gen) rune() rune {
	switch g.IntN(10) {
	case 0:
		return rune(g.IntN(0x20)) // control
	case 1:
		return []rune("<>&|@#*_~`!^:[](){}\\\"'")[g.IntN(22)]
	case 2:
		return []rune{0x202A, 0x202E, 0x2066, 0x2069, 0x200B, 0x200D, 0xFEFF, 0x2028, 0x2029, 0xE0041, 0x061C, 0x00A0, 0x3000, 0x0300}[g.IntN(14)]
	case 3:
		return rune(0x1F300 + g.IntN(0x300)) // emoji
	case 4:
		return rune(g.IntN(0x110000)) // any plane; a surrogate becomes U+FFFD
	case 5:
		return rune(0x4E00 + g.IntN(0x5000))
	case 6:
		return ' '
	}
	return rune('a' + g.IntN(26))
}

func (g gen) text(most int) string {
	n := g.IntN(most + 1)
	if g.IntN(4) > 0 {
		n = min(n, 40)
	}
	var b strings.Builder
	b.WriteString(tag)
	for i := range n {
		if i == 7 {
			b.WriteString([]string{"<!channel>", "<@U0BOB>", "<https://evil.example|bank>", "&lt;!here&gt;", "@here", ":tada:", "&#x202E;", "&#8203;x"}[g.IntN(8)])
		}
		b.WriteRune(g.rune())
	}
	return b.String()
}

// markdown strings fragments together.
func (g gen) markdown(most int) string {
	var b strings.Builder
	for b.Len() < g.IntN(most+1) {
		switch g.IntN(12) {
		case 0:
			b.WriteString("\n\n# " + g.text(60))
		case 1:
			b.WriteString("\n- " + g.text(80) + "\n  - " + g.text(30))
		case 2:
			b.WriteString("\n1. " + g.text(80) + "\n\n   ```\n   " + g.text(30) + "\n   ```\n")
		case 3:
			b.WriteString("\n```go\n" + g.text(200) + "\n```\n")
		case 4:
			b.WriteString("\n> " + g.text(100) + "\n> - " + g.text(10))
		case 5:
			b.WriteString(" **" + g.text(20) + "** `" + g.text(20) + "` ~~" + g.text(9) + "~~")
		case 6:
			b.WriteString(" [" + g.text(20) + "](https://example.com/" + strings.Repeat("x", g.IntN(90)) + ")")
		case 7:
			b.WriteString(" ![" + g.text(20) + "](javascript:" + g.text(9) + ")")
		case 8:
			b.WriteString("\n\n| a | b |\n|---|---|\n| " + g.text(50) + " | c |\n")
		default:
			b.WriteString("\n\n" + g.text(most))
		}
	}
	return b.String()
}

func pick[T any](g gen, list ...T) T { return list[g.IntN(len(list))] }

func (g gen) card() *hub.Card {
	c := &hub.Card{
		MessageID: "msg_" + strconv.FormatUint(g.Uint64(), 36), Type: pick(g, ma2h.Notify, ma2h.Ask, ma2h.Ask, ma2h.Ask, ma2h.Task), Status: ma2h.Open,
		Title: g.text(200), Body: g.markdown(pick(g, 50, 3000, 60000)), Priority: pick(g, ma2h.Low, ma2h.Normal, ma2h.High, ma2h.Urgent),
		AgentID: g.text(60), Project: g.text(60), RunID: g.text(100), Runtime: "cli", Masked: g.IntN(3),
		CanAnswer: g.IntN(8) > 0, CanDecline: g.IntN(3) > 0, AskedOf: []string{"Alice Ng", "Bob Roy"},
	}
	c.ReviewURL = "https://beckon.example.com/i/" + c.MessageID
	for range g.IntN(20) {
		c.Tags = append(c.Tags, g.text(50))
	}
	for range pick(g, 0, 3, 32) {
		switch g.IntN(3) {
		case 0:
			c.Context = append(c.Context, hub.CardPart{Text: g.text(20000)})
		case 1:
			data, _ := json.Marshal(map[string]any{g.text(50): g.text(500), g.text(9): []any{1, g.text(9), nil}, "n": 1.5})
			c.Context = append(c.Context, hub.CardPart{Data: data})
		case 2:
			c.Context = append(c.Context, hub.CardPart{File: &ma2h.File{URI: pick(g, "https://example.com/", "javascript:", "") + g.text(9), Name: g.text(300), MimeType: g.text(90)}})
		}
	}
	if g.IntN(4) > 0 {
		c.ExpiresAt = time.Unix(1_700_000_000+g.Int64N(400_000_000), 0)
	}
	switch c.Type {
	case ma2h.Notify:
		c.Status, c.CanAnswer, c.CanDecline = ma2h.Delivered, false, false
	case ma2h.Ask:
		g.ask(c)
	case ma2h.Task:
		c.Instructions, c.Verification = g.markdown(3000), g.text(2000)
		for range pick(g, 0, 2, 30, 150) {
			c.Checklist = append(c.Checklist, ma2h.ChecklistItem{Text: g.text(300), Done: g.IntN(2) == 0})
		}
	}
	if g.IntN(3) == 0 {
		c.Reader = alice()
		c.MayAnswer = c.Type != ma2h.Notify && g.IntN(3) > 0
	}
	if c.Type != ma2h.Notify && g.IntN(5) == 0 {
		g.decide(c)
	}
	return c
}

func (g gen) ask(c *hub.Card) {
	c.PageOnly = g.IntN(20) == 0
	if g.IntN(3) == 0 {
		c.Mode = ma2h.Input
		for range pick(g, 1, 4, 50, 120) {
			c.Fields = append(c.Fields, g.field())
		}
		if g.IntN(2) == 0 {
			c.OnExpireValues = []hub.NamedValue{{Name: g.text(20), Title: g.text(100), Text: g.text(500)}}
		}
		return
	}
	c.Mode = pick(g, ma2h.Select, ma2h.Select, ma2h.Confirm)
	for i := range pick(g, 1, 2, 3, 5, 6, 30, 100, 101, 150) {
		o := hub.CardOption{N: i + 1, Value: g.text(200), Label: g.text(pick(g, 10, 28, 400))}
		if g.IntN(2) == 0 {
			o.Description = g.text(1000)
		}
		c.Options = append(c.Options, o)
	}
	if g.IntN(2) == 0 {
		c.OnExpire = c.Options[0].Label
	}
}

func (g gen) field() hub.Field {
	f := hub.Field{
		Name: g.text(50), Title: g.text(300), Description: g.text(3000), Required: g.IntN(2) == 0, Sensitive: g.IntN(30) == 0,
		Type:   pick(g, hub.FieldString, hub.FieldString, hub.FieldString, hub.FieldNumber, hub.FieldInteger, hub.FieldBoolean),
		Format: pick(g, "", "", "date", "date-time", "email", "uri", "time", g.text(20)),
	}
	switch f.Type {
	case hub.FieldString:
		f.MinLength, f.MaxLength = pick(g, 0, 1, 50, 5000), pick(g, 0, 1, 50, 5000)
		if g.IntN(3) == 0 {
			for range pick(g, 1, 9, 11, 99, 100, 250) {
				f.Enum = append(f.Enum, g.text(200))
			}
		}
		f.Default = pick(g, g.text(100), "2026-12-01", "2026-12-01T10:00:00Z", "a@example.com", "https://example.com/", "")
		if len(f.Enum) > 0 {
			f.Default = f.Enum[g.IntN(len(f.Enum))]
		}
	case hub.FieldBoolean:
		f.Default = pick(g, "true", "false")
	default:
		f.Minimum, f.Maximum, f.Default = g.num(), g.num(), g.num()
	}
	f.HasDefault = g.IntN(2) == 0
	return f
}

func (g gen) num() string {
	return pick(g, "", "0", "-5", "1.5", "1e9", "99999999999999999999999", strconv.Itoa(g.IntN(1000)))
}

func (g gen) decide(c *hub.Card) {
	d := hub.Decision{
		Actor: "human:alice", ActorName: pick(g, "Alice Ng", ""), At: time.Unix(1_700_000_000, 0), Via: pick(g, "web", "slack", "email", "api", "clock"),
		Comment: g.text(10000), Edited: g.IntN(2) == 0, Defaulted: g.IntN(2) == 0,
		Resolution: pick(g, ma2h.Answered, ma2h.Declined, ma2h.Cancelled, ma2h.Expired),
	}
	if c.Type == ma2h.Task {
		d.Resolution, d.Checklist = pick(g, ma2h.Completed, ma2h.Dismissed, ma2h.Expired), c.Checklist
	}
	if len(c.Options) > 0 {
		d.Choice, d.Option = c.Options[0].Label, 1
	}
	for _, f := range c.Fields {
		d.Values = append(d.Values, hub.NamedValue{Name: f.Name, Title: f.Title, Text: g.text(2000)})
	}
	ended(c, d)
}

// Ten thousand random messages (BECKON_ROUNDS; fewer by default) make blocks
// that Slack takes, and what they say survives.
func TestRandomMessages(t *testing.T) {
	for i := range rounds(t, 150) {
		g := gen{rand.New(rand.NewPCG(uint64(i), 42))}
		c := g.card()
		o := renderOptions{Rev: "r" + strconv.Itoa(i)}
		if c.Reader != nil {
			o.Link = "https://beckon.example.com/k/personal"
		}
		blocks, text, cut := renderMessage(c, o)
		checkMessage(t, blocks, text)
		checkText(t, text)
		checkText(t, renderPlain(c))
		checkSurvives(t, c, blocks, cut)
		checkActions(t, c, blocks)
		if c.Status == ma2h.Open {
			rb, rt := renderReminder(c, o)
			checkMessage(t, rb, rt)
			checkText(t, rt)
			checkView(t, declineModal(c, origin{Channel: "C1", TS: "1.2"}))
			if fitsModal(c) {
				checkView(t, askModal(c, origin{Channel: "C1", TS: "1.2"}))
			}
		}
		checkView(t, homeView([]*hub.Card{c, c, c}, homeOptions{}))
		if t.Failed() {
			t.Fatalf("seed %d: %s", i, marshal(t, c))
		}
	}
}

// control finds what Slack would interpret in text.
var control = regexp.MustCompile(`<[^>]*>?`)

// checkText holds a text that Slack interprets against the rule that it
// interprets only what is the hub's own.
func checkText(t testing.TB, s string) {
	t.Helper()
	if n := runeLen(s); n > maxTopText {
		t.Errorf("the text has %d characters", n)
	}
	for _, m := range control.FindAllString(s, -1) {
		if !strings.HasPrefix(m, "<!date^") && !strings.HasPrefix(m, "<https://beckon.example.com/") || strings.Contains(m, tag) || !strings.HasSuffix(m, ">") {
			t.Errorf("the text holds %q", m)
		}
	}
	if strings.Contains(s, "@here") || strings.ContainsAny(s, "\u202E\u2066\u200B") {
		t.Errorf("the text holds what might mention or mislead: %q", s)
	}
}

// checkSurvives finds what the message says in what the blocks say.
func checkSurvives(t testing.TB, c *hub.Card, blocks []slackgo.Block, cut []string) {
	t.Helper()
	raw := marshal(t, blocks)
	said := extract(raw)
	for _, m := range said.mrkdwn {
		if strings.Contains(m, tag) {
			t.Errorf("agent text stands where Slack interprets it: %q", m)
		}
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	checkInert(t, tree)
	all := strings.Join(strings.Fields(said.all()), " ")
	if strings.ContainsAny(all, "\u202A\u202E\u2066\u200B\uFEFF\u2028\u0007") {
		t.Error("an invisible or reordering character got through")
	}
	// whole or cut finds a text in full, or its beginning where the cut is said.
	whole := func(what, s, noun string) {
		t.Helper()
		s = templates.Line(s)
		if s == "" || strings.Contains(all, s) {
			return
		}
		if !slices.Contains(cut, noun) || !strings.Contains(all, string([]rune(s)[:min(20, runeLen(s))])) {
			t.Errorf("%s %q is neither shown nor said to be cut (%v)", what, s, cut)
		}
	}
	whole("the title", c.Title, "title")
	whole("the agent", cutTo(templates.Line(c.AgentID), 120), "sender")
	if len(cut) > 0 && !strings.Contains(all, "Cut here: "+strings.Join(cut, ", ")) {
		t.Errorf("the cut of %v is not said", cut)
	}
	if c.Decision != nil {
		whole("the comment", c.Decision.Comment, "comment")
		return
	}
	if !c.ExpiresAt.IsZero() && c.Status == ma2h.Open && !strings.Contains(all, "<!date^"+strconv.FormatInt(c.ExpiresAt.Unix(), 10)+"^") {
		t.Error("the deadline is not shown")
	}
	if c.Type == ma2h.Ask {
		for i, o := range c.Options {
			// Without a menu or buttons only the list stands, which may end early.
			if i > 0 && !chooses(blocks) && slices.Contains(cut, "choices") {
				break
			}
			whole("choice "+itoa(i+1), o.Label, "choices")
		}
	}
	for i, item := range c.Checklist {
		// Without boxes only the list stands, which may end early.
		if i < maxChecklist && (i == 0 || !noneMay(c) || !slices.Contains(cut, "checklist")) {
			whole("item "+itoa(i+1), item.Text, "checklist")
		}
	}
}

// chooses reports controls that have every choice.
func chooses(blocks []slackgo.Block) bool {
	return slices.ContainsFunc(blocks, func(b slackgo.Block) bool { return strings.HasSuffix(b.ID(), ":choices") })
}

// checkActions reads every control as the inbound side does.
func checkActions(t testing.TB, c *hub.Card, blocks []slackgo.Block) {
	t.Helper()
	for _, b := range blocks {
		row, ok := b.(*slackgo.ActionBlock)
		if !ok {
			continue
		}
		for _, e := range row.Elements.ElementSet {
			id, value := "", ""
			switch e := e.(type) {
			case *slackgo.ButtonBlockElement:
				id = e.ActionID
			case *slackgo.SelectBlockElement:
				id, value = e.ActionID, e.Options[len(e.Options)-1].Value
			case *slackgo.CheckboxGroupsBlockElement:
				id = e.ActionID
			}
			a, ok := parseAction(id, value)
			if !ok || a.MessageID != c.MessageID || a.Kind == kindChoose && a.Option != len(c.Options) {
				t.Errorf("the control %q is read as %+v, %v", id, a, ok)
			}
		}
	}
}
