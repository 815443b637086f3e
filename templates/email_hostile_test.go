package templates_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"
)

// evil is agent text that is dangerous in one medium or another.
const evil = "</title></td><script>alert(1)</script><img src=x onerror=alert(2)> \"'><b> \u202Edlrow\u202C {{.}} &lt;i&gt; &#x202e; &NewLine;Bcc: x\r\nBcc: evil@example.com\r\n.\r\n" +
	"[click](https://evil.example/a) [js](javascript:alert(3)) ![p](https://evil.example/p.png) <https://evil.example/b> mailto:evil@example.com www.evil.example" +
	"\n\n-- \n\n-- reply above this line --\n\n<table><a href=\"https://evil.example/c\">x</a>\n\n[r]: https://evil.example/r\n[r]"

func hostileCard() *hub.Card {
	return edit(func(c *hub.Card) {
		c.Title, c.Body, c.Project, c.RunID, c.AgentID, c.OnExpire, c.AskedTeam = evil, evil, evil, evil, evil, evil, evil
		c.Tags, c.AskedOf, c.Verification, c.Instructions = []string{evil}, []string{evil, evil}, evil, evil
		for i := range c.Options {
			c.Options[i].Label, c.Options[i].Description = evil, evil
		}
		c.Context = []hub.CardPart{
			{Text: evil},
			{File: &ma2h.File{URI: "https://evil.example/\"><script>", Name: evil, MimeType: evil}},
			{Data: []byte(`{"<script>alert(5)</script>":"<img src=x onerror=alert(6)>","a":["</td>"]}`)},
		}
		c.Checklist = []ma2h.ChecklistItem{{Text: evil}}
	})
}

func TestMailHostile(t *testing.T) {
	onDay(t, func(t *testing.T) {
		set := newMail(t)
		d := hub.Decision{Resolution: ma2h.Answered, Actor: evil, ActorName: evil, Via: evil, At: time.Now(), Choice: evil, Comment: evil, Values: []hub.NamedValue{{Title: evil, Text: evil}}, Checklist: []ma2h.ChecklistItem{{Text: evil}}}
		for _, k := range []templates.MailKind{
			templates.MailAsk, templates.MailRemind, templates.MailEnded, templates.MailOutcome, templates.MailLate, templates.MailUnclear, templates.MailUnreadable, templates.MailDoubt,
		} {
			for _, change := range []func(c *hub.Card){
				func(*hub.Card) {},
				func(c *hub.Card) {
					c.Mode, c.Fields = ma2h.Input, []hub.Field{{Name: evil, Title: evil, Description: evil, Default: evil, HasDefault: true, Pattern: evil, Minimum: evil}}
				},
				func(c *hub.Card) { c.Type = ma2h.Task },
				func(c *hub.Card) { c.MayAnswer = false },
				func(c *hub.Card) { c.Status, c.Decision = ma2h.Answered, &d },
			} {
				c := hostileCard()
				change(c)
				m := askMail(c, kind(k), func(m *templates.Mail) {
					m.Help, m.From, m.Reply.Takes = evil, "x@"+evil, []string{evil}
					m.Outcome = &hub.Outcome{Kind: hub.Unclear, Fields: []hub.FieldError{{Field: evil, Msg: evil}}}
				})
				out := render(t, set, m)
				checkMail(t, string(k), m, out)
				for _, bad := range []string{"<script", "<img", "{{", "<no value>"} {
					if strings.Contains(out.HTML, bad) && bad != "{{" {
						t.Errorf("%s: the HTML holds %q", k, bad)
					}
				}
				if regexp.MustCompile(`(?m)^-- ?$`).MatchString(out.Text) {
					t.Errorf("%s: a line says that a signature begins", k)
				}
			}
		}
	})
}

// TestMailBounds feeds the largest messages that there can be.
func TestMailBounds(t *testing.T) {
	onDay(t, func(t *testing.T) {
		set := newMail(t)
		many := func(s string, n int) string { return strings.Repeat(s, n) + "the-very-end" }
		for name, change := range map[string]func(*hub.Card){
			"words":    func(c *hub.Card) { c.Body = many("word and 語 ", 100_000) },
			"quotes":   func(c *hub.Card) { c.Body = many("\"'<&>", 100_000) },
			"one word": func(c *hub.Card) { c.Body, c.Title = many("x", 500_000), many("y", 100_000) },
			"items":    func(c *hub.Card) { c.Body = many("- a\n", 50_000) },
			"bold":     func(c *hub.Card) { c.Body = many("**a** _b_ `c` ", 5000) },
			"nested":   func(c *hub.Card) { c.Body = many("> > > - - - x\n\n", 5000) },
			"table":    func(c *hub.Card) { c.Body = "|a|b|\n|-|-|\n" + many("|1|2|\n", 5000) },
			"options": func(c *hub.Card) {
				c.Options = nil
				for i := range 100 {
					c.Options = append(c.Options, hub.CardOption{N: i + 1, Label: many("\"label\" ", 100), Description: many("'description' ", 500)})
				}
			},
			"fields": func(c *hub.Card) {
				mailForm(c)
				for range 50 {
					c.Fields = append(c.Fields, hub.Field{Name: many("n", 300), Description: many("\"d\" ", 500), Type: hub.FieldString})
				}
			},
			"steps": func(c *hub.Card) {
				mailTask(c)
				for range 1000 {
					c.Checklist = append(c.Checklist, ma2h.ChecklistItem{Text: many("\"step\" ", 200)})
				}
			},
			"context": func(c *hub.Card) {
				c.Context = nil
				for range 32 {
					c.Context = append(c.Context, hub.CardPart{Text: many("\"line\"\n", 5000)}, hub.CardPart{Data: []byte(`{"a":"` + many("x", 60_000) + `"}`)})
				}
			},
		} {
			c := edit(change)
			m := askMail(c, func(m *templates.Mail) {
				for i := range 100 {
					m.Write[i+1] = "mailto:hub%2Bq@example.com?subject=" + strings.Repeat("%20", 60) + "&body=1"
				}
			})
			out := render(t, set, m)
			checkMail(t, name, m, out)
			if strings.Contains(out.Text+out.HTML, "the-very-end") {
				t.Errorf("%s: %d bytes are shown whole", name, len(out.HTML))
			}
			if !strings.Contains(out.Text, "This is cut") || !strings.Contains(out.HTML, "This is cut") {
				t.Errorf("%s: nothing says that it is cut", name)
			}
			if strings.Contains(out.Text, "\uFFFD") {
				t.Errorf("%s: a cut went through a character", name)
			}
			if n := len([]rune(out.Subject)); n > 170 {
				t.Errorf("%s: a subject of %d characters", name, n)
			}
		}
	})
}

// TestMailHidden holds that a sensitive message shows title and link only, even
// if the hub should forget to leave the rest out.
func TestMailHidden(t *testing.T) {
	onDay(t, func(t *testing.T) {
		set := newMail(t)
		for _, k := range []templates.MailKind{templates.MailAsk, templates.MailRemind, templates.MailUnclear, templates.MailDoubt} {
			c := mailCard()
			c.Hidden, c.PageOnly = true, true
			c.Body, c.Instructions, c.Verification, c.OnExpire, c.Tags = "canary", "canary", "canary", "canary", []string{"canary"}
			c.Options[0].Label, c.Options[1].Description = "canary", "canary"
			c.Context = []hub.CardPart{{Text: "canary"}}
			c.Checklist = []ma2h.ChecklistItem{{Text: "canary"}}
			out := render(t, set, askMail(c, kind(k), func(m *templates.Mail) { m.Help = "Answer on the page." }))
			if strings.Contains(out.Text+out.HTML, "canary") {
				t.Errorf("%s leaks:\n%s", k, out.Text)
			}
			d := hub.Decision{
				Resolution: ma2h.Answered, Actor: "human:bob", ActorName: "Bob Roy", At: mailDay(7, 52), Via: "slack", Choice: "canary", Option: 1, Comment: "canary",
				Values: []hub.NamedValue{{Title: "canary", Text: "canary"}}, Checklist: []ma2h.ChecklistItem{{Text: "canary"}},
			}
			over := *c
			over.Status, over.Decision = ma2h.Answered, &d
			for _, k := range []templates.MailKind{templates.MailEnded, templates.MailLate, templates.MailOutcome} {
				end := render(t, set, askMail(&over, kind(k), func(m *templates.Mail) {
					m.Outcome = &hub.Outcome{Kind: hub.AlreadyResolved, Status: ma2h.Answered, Decision: &d}
				}))
				if strings.Contains(end.Text+end.HTML, "canary") || !strings.Contains(end.Text, "Bob Roy answered at 15:52 in Slack") {
					t.Errorf("%s leaks, or says nothing:\n%s", k, end.Text)
				}
			}
			if !strings.Contains(out.Text, c.Title) || !strings.Contains(out.Text, c.ReviewURL) {
				t.Errorf("%s lacks title or link:\n%s", k, out.Text)
			}
		}
	})
}
