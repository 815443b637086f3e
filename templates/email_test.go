package templates_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"

	"golang.org/x/net/html"
)

// onDay runs f in a bubble on 1 December 2026 at 07:50 UTC.
func onDay(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(mailDay(7, 50)))
		f(t)
	})
}

func mailDay(hour, minute int) time.Time {
	return time.Date(2026, 12, 1, hour, minute, 0, 0, time.UTC)
}

func mailAlice() *hub.Person {
	return &hub.Person{ID: "alice", Name: "Alice Ng", Email: "alice@example.com", Location: time.FixedZone("Asia/Singapore", 8*3600)}
}

// mailCard is an open ask of Alice.
func mailCard() *hub.Card {
	return &hub.Card{
		MessageID: "msg_01JE3ZK7Q8", ReviewURL: "https://beckon.example.com/i/msg_01JE3ZK7Q8", Type: ma2h.Ask, Status: ma2h.Open, Mode: ma2h.Select,
		Title: "Ship web-app 2.3 to production?", Priority: ma2h.High, Tags: []string{"deploy", "web"},
		Body:    "All checks passed. One migration adds an index on `orders` (about 40 s of lock).",
		AgentID: "deploybot/dev-team", Project: "web-app", RunID: "run_812", Runtime: "github-actions",
		AcceptedAt: mailDay(7, 50), ExpiresAt: mailDay(10, 0), OnExpire: "Hold for review",
		Options: []hub.CardOption{
			{N: 1, Value: "ship", Label: "Ship to prod now", Description: "Deploy immediately."},
			{N: 2, Value: "hold", Label: "Hold for review", Description: "Wait for a human PR review.", Default: true},
			{N: 3, Value: "abort", Label: "Abort the change", Description: "Revert and close."},
		},
		Context: []hub.CardPart{
			{File: &ma2h.File{URI: "https://ci.example.com/812/diff.patch", Name: "diff.patch", MimeType: "text/x-diff"}},
			{Data: []byte(`{"files":14,"tests":{"run":812,"failed":0},"risk":"medium","by":["ann","bo"]}`)},
			{Text: "The last deploy was yesterday.\nNo incident since."},
		},
		MayAnswer: true, CanAnswer: true, CanDecline: true,
		Reader: mailAlice(), AskedOf: []string{"Alice Ng", "Bob Roy"}, AskedTeam: "oncall",
	}
}

// askMail is the mail of a card, as the channel fills it in for this one.
func askMail(c *hub.Card, f ...func(*templates.Mail)) *templates.Mail {
	m := &templates.Mail{
		Kind: templates.MailAsk, Card: c, Page: c.ReviewURL, Tag: "Q-7F3K2M",
		Reply: templates.MailReply{Numbers: "1, 2 or 3", Words: "ship, hold, abort", Decline: true},
		Write: map[int]string{},
	}
	for _, o := range c.Options {
		m.Write[o.N] = "mailto:hub%2Bqk7m2x4c9v1p8s3tdz5w@example.com?subject=Re%3A%20%5BQ-7F3K2M%5D&body=" + o.Value
	}
	for _, f := range f {
		f(m)
	}
	return m
}

func edit(f func(*hub.Card)) *hub.Card {
	c := mailCard()
	f(c)
	return c
}

func mailEnded(d hub.Decision) *hub.Card {
	return edit(func(c *hub.Card) {
		c.Status, c.Decision, c.MayAnswer = d.Resolution, &d, false
	})
}

func kind(k templates.MailKind) func(*templates.Mail) {
	return func(m *templates.Mail) { m.Kind = k }
}

func mailForm(c *hub.Card) {
	c.Mode, c.Options, c.OnExpire, c.Context, c.Body = ma2h.Input, nil, "", nil, ""
	c.Title = "What goes into the release note?"
	c.OnExpireValues = []hub.NamedValue{{Name: "note", Title: "Release note", Text: "Fixes."}, {Name: "notify", Title: "Notify users", Text: "no"}}
	c.Fields = []hub.Field{
		{Name: "note", Title: "Release note", Description: "One paragraph.", Type: hub.FieldString, Required: true, MinLength: 3, MaxLength: 2000, Default: "Fixes.", HasDefault: true},
		{Name: "notify", Title: "Notify users", Type: hub.FieldBoolean, Required: true},
		{Name: "level", Title: "level", Type: hub.FieldString, Enum: []string{"minor", "major"}},
		{Name: "share", Title: "Share of users", Type: hub.FieldNumber, Minimum: "0.5", Maximum: "100"},
	}
}

func formReply(m *templates.Mail) {
	m.Reply = templates.MailReply{Decline: true, Takes: []string{"text", "yes or no", "minor, major", "a number"}}
}

func mailTask(c *hub.Card) {
	c.Type, c.Mode, c.Options, c.Context, c.Body, c.OnExpire, c.ExpiresAt = ma2h.Task, "", nil, nil, "", "", time.Time{}
	c.Title, c.AgentID, c.Project, c.Priority, c.Tags = "Rotate API_SIGNING_KEY in the prod vault", "keybot", "platform", ma2h.Normal, nil
	c.Instructions = "The key is **90 days** old.\n\n1. Make a new one\n2. Store it:\n\n   ```sh\n   vault kv put prod/api key=@new.pem\n   ```\n3. Restart\n   - web\n   - worker"
	c.Checklist = []ma2h.ChecklistItem{{Text: "Generate a new key in the secret manager", Done: true}, {Text: "Update prod secret"}}
	c.Verification = "webhook test event returns 200 with a valid signature."
}

func mailNote(c *hub.Card) {
	c.Type, c.Status, c.Mode, c.Options, c.ExpiresAt, c.OnExpire, c.AskedOf = ma2h.Notify, ma2h.Delivered, "", nil, time.Time{}, "", nil
	c.Title, c.CanAnswer, c.CanDecline, c.MayAnswer = "Nightly backup is done", false, false, false
	c.Body = "# Backup\n\n> It took *longer* than usual.\n\n| table | rows |\n|---|---|\n| orders | 812 |\n| users | 14 |\n\nSee [the log](https://ci.example.com/log), ![graph](https://ci.example.com/g.png), https://ci.example.com/x and ~~this~~.\n\n---\n\n<b>not bold</b> &amp; \\*not italic\\*"
	c.Context = []hub.CardPart{{File: &ma2h.File{URI: "javascript:alert(1)", Name: "evil"}}, {Text: strings.Repeat("a long log line\n", 100)}}
}

func mailHidden(c *hub.Card) {
	c.Hidden, c.PageOnly = true, true
	c.Body, c.Context, c.Options, c.Tags, c.OnExpire = "", nil, nil, nil, ""
}

// mails are every mail that a person can get, by the name of its golden files.
func mails() map[string]*templates.Mail {
	at := mailDay(7, 52)
	byAlice := hub.Decision{Resolution: ma2h.Answered, Actor: "human:alice", ActorName: "Alice Ng", At: at, Via: "email", Choice: "Hold for review", Option: 2, Comment: "Let's get a human eye on the migration first.\nThen ship."}
	byBob := byAlice
	byBob.Actor, byBob.ActorName, byBob.Via = "human:bob", "Bob Roy", "slack"
	elsewhere := byAlice
	elsewhere.Via, elsewhere.Comment = "web", ""
	form := hub.Decision{
		Resolution: ma2h.Answered, Actor: "human:alice", ActorName: "Alice Ng", At: at, Via: "email",
		Values: []hub.NamedValue{{Name: "note", Title: "Release note", Text: "Fixes two bugs.\nAdds one."}, {Name: "notify", Title: "Notify users", Text: "yes"}},
	}
	declined := hub.Decision{Resolution: ma2h.Declined, Actor: "human:alice", ActorName: "Alice Ng", At: at, Via: "email", Comment: "Not my call."}
	expired := hub.Decision{Resolution: ma2h.Expired, Actor: "system:expiry", At: mailDay(10, 0), Via: "clock"}
	defaulted := hub.Decision{Resolution: ma2h.Expired, Actor: "system:default_on_expire", At: mailDay(10, 0), Via: "clock", Choice: "Hold for review", Option: 2, Defaulted: true}
	withdrawn := hub.Decision{Resolution: ma2h.Cancelled, Actor: "agent:deploybot/dev-team", ActorName: "deploybot/dev-team", At: mailDay(7, 40), Via: "api"}
	task := edit(mailTask)
	task.Status, task.Decision = ma2h.Completed, &hub.Decision{Resolution: ma2h.Completed, Actor: "human:bob", ActorName: "Bob Roy", At: at, Via: "web", Checklist: task.Checklist}
	late := func(k hub.OutcomeKind, r hub.Reason, f func(*hub.Outcome)) func(*templates.Mail) {
		return func(m *templates.Mail) {
			m.Kind, m.Outcome = templates.MailOutcome, &hub.Outcome{Kind: k, Reason: r, Status: m.Card.Status, Decision: m.Card.Decision}
			if f != nil {
				f(m.Outcome)
			}
		}
	}
	only := func(o *hub.Outcome) { o.May, o.MayTeam = []string{"Alice Ng", "Bob Roy"}, "oncall" }
	invalid := func(o *hub.Outcome) { o.Fields = []hub.FieldError{{Field: "share", Msg: "must be at least 0.5"}} }
	return map[string]*templates.Mail{
		"ask-select": askMail(mailCard()),
		"ask-confirm": askMail(edit(func(c *hub.Card) {
			c.Mode, c.Context, c.Body, c.OnExpire, c.ExpiresAt = ma2h.Confirm, nil, "", "", mailDay(10, 0).AddDate(1, 0, 0)
			c.Options = []hub.CardOption{{N: 1, Value: "approve", Label: "Approve"}, {N: 2, Value: "deny", Label: "Deny"}}
		}), func(m *templates.Mail) {
			m.Reply.Numbers, m.Reply.YesNo = "1 or 2", true
		}),
		"ask-many": askMail(edit(func(c *hub.Card) { c.Options, c.Context = manyOptions(60), nil }), func(m *templates.Mail) { m.Reply.Numbers, m.Reply.Words = "1 to 60", "" }),
		"ask-numberless": askMail(mailCard(), func(m *templates.Mail) {
			m.Reply.Numbers, m.Reply.Words, m.Write = "", "", nil
		}),
		"ask-input":  askMail(edit(mailForm), formReply),
		"ask-number": askMail(edit(func(c *hub.Card) { mailForm(c); c.Fields = c.Fields[3:]; c.OnExpireValues = nil }), func(m *templates.Mail) { m.Reply.Takes = []string{"a number"} }),
		"ask-text":   askMail(edit(func(c *hub.Card) { mailForm(c); c.Fields = c.Fields[:1]; c.OnExpireValues = nil })),
		"ask-secret": askMail(edit(func(c *hub.Card) { mailForm(c); c.PageOnly, c.Fields[0].Sensitive = true, true }), formReply),
		"ask-decline-only": askMail(edit(func(c *hub.Card) {
			c.CanAnswer, c.Context = false, nil
		})),
		"ask-not-yours": askMail(edit(func(c *hub.Card) { c.MayAnswer, c.AskedOf, c.AskedTeam = false, []string{"Bob Roy"}, "" })),
		"ask-masked":    askMail(edit(func(c *hub.Card) { c.Body, c.Masked, c.Context = "The token is ••••.", 2, nil })),
		"ask-hebrew": askMail(edit(func(c *hub.Card) {
			c.Title, c.Body, c.Context = "לפרוס את גרסה 2.3?", "כל הבדיקות עברו.\n\n- מסד הנתונים\n- השרת", nil
			c.Options = []hub.CardOption{{N: 1, Value: "ship", Label: "לפרוס עכשיו", Description: "מיד."}, {N: 2, Value: "hold", Label: "להמתין", Description: "לבדיקה של אדם.", Default: true}}
			c.OnExpire, c.AskedOf, c.AskedTeam = "להמתין", []string{"אליס", "Bob Roy"}, ""
		}), func(m *templates.Mail) { m.Reply.Numbers = "1 or 2" }),
		"task":             askMail(edit(mailTask)),
		"notify":           askMail(edit(mailNote)),
		"sensitive":        askMail(edit(mailHidden)),
		"sensitive-notify": askMail(edit(func(c *hub.Card) { mailNote(c); mailHidden(c) })),
		"remind":           askMail(mailCard(), kind(templates.MailRemind)),
		"remind-task":      askMail(edit(mailTask), kind(templates.MailRemind)),
		"recorded":         askMail(mailEnded(byAlice), kind(templates.MailEnded)),
		"recorded-form":    askMail(mailEnded(form), kind(templates.MailEnded)),
		"recorded-decline": askMail(mailEnded(declined), kind(templates.MailEnded)),
		"answered":         askMail(mailEnded(byBob), kind(templates.MailEnded)),
		"answered-by-you":  askMail(mailEnded(elsewhere), kind(templates.MailEnded)),
		"expired":          askMail(mailEnded(expired), kind(templates.MailEnded)),
		"defaulted":        askMail(mailEnded(defaulted), kind(templates.MailEnded)),
		"withdrawn":        askMail(mailEnded(withdrawn), kind(templates.MailEnded)),
		"completed":        askMail(task, kind(templates.MailEnded)),
		"late":             askMail(mailEnded(byBob), late(hub.AlreadyResolved, "", nil)),
		"late-expired":     askMail(mailEnded(defaulted), kind(templates.MailLate)),
		"not-allowed":      askMail(mailCard(), late(hub.Refused, hub.ReasonNotAllowed, only)),
		"counted":          askMail(mailCard(), late(hub.Counted, "", nil)),
		"held":             askMail(mailCard(), late(hub.Held, "", nil)),
		"invalid":          askMail(edit(mailForm), formReply, late(hub.Unclear, hub.ReasonInvalid, invalid)),
		"unclear": askMail(mailCard(), kind(templates.MailUnclear), func(m *templates.Mail) {
			m.Help = "I couldn't read that as one of the choices. Reply with 1, 2 or 3 (or ship, hold, abort) on the first line; anything after it becomes your comment. Nothing has been recorded."
		}),
		"unclear-late": askMail(mailEnded(byBob), kind(templates.MailUnclear), func(m *templates.Mail) { m.Help = "I couldn't read that." }),
		"unreadable":   askMail(mailCard(), kind(templates.MailUnreadable)),
		"doubt":        askMail(mailCard(), kind(templates.MailDoubt), func(m *templates.Mail) { m.From = "eve.ng@gmail.com" }),
		"unproved":     askMail(mailCard(), kind(templates.MailDoubt)),
		"link":         {Kind: templates.MailLink, Link: "https://beckon.example.com/l/AbCd", Expires: mailDay(8, 5), Reader: mailAlice()},
		"test":         {Kind: templates.MailTest},
	}
}

func manyOptions(n int) []hub.CardOption {
	var out []hub.CardOption
	for i := 1; i <= n; i++ {
		out = append(out, hub.CardOption{N: i, Value: "v", Label: "Cluster " + strings.Repeat("x", i)})
	}
	return out
}

func newMail(t testing.TB) *templates.MailSet {
	t.Helper()
	set, err := templates.NewMail("")
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func render(t testing.TB, set *templates.MailSet, m *templates.Mail) templates.MailText {
	t.Helper()
	out, err := set.Render(m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestMailGolden(t *testing.T) {
	if *update {
		if err := os.MkdirAll("testdata/email", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	onDay(t, func(t *testing.T) {
		set, all := newMail(t), mails()
		for _, name := range slices.Sorted(maps.Keys(all)) {
			out := render(t, set, all[name])
			golden(t, "email/"+name+".txt", "Subject: "+out.Subject+"\n\n"+out.Text)
			golden(t, "email/"+name+".html", out.HTML)
			checkMail(t, name, all[name], out)
		}
	})
	files, err := filepath.Glob("testdata/email/*")
	if err != nil || len(files) != 2*len(mails()) {
		t.Errorf("%d golden files for %d mails (%v): an old one may be left", len(files), len(mails()), err)
	}
}

// checkMail holds what is true of every mail.
func checkMail(t *testing.T, name string, m *templates.Mail, out templates.MailText) {
	t.Helper()
	if len(out.HTML) > templates.MaxMailHTML {
		t.Errorf("%s: %d bytes of HTML", name, len(out.HTML))
	}
	if strings.ContainsAny(out.Subject, "\r\n") || strings.ContainsAny(out.Text+out.HTML, "\u202A\u202B\u202C\u202D\u202E\u2066\u2067\u2068\u2069\x00\r") {
		t.Errorf("%s: a control character", name)
	}
	hrefs, elements := anchors(t, out.HTML)
	want := map[string]int{}
	page := m.Page
	if m.Kind == templates.MailLink {
		page = m.Link
	}
	if page != "" {
		want[page] = 1
		if strings.Count(out.Text, page) != 1 {
			t.Errorf("%s: the text has the page's link %d times, want once\n%s", name, strings.Count(out.Text, page), out.Text)
		}
	}
	for _, h := range hrefs {
		if strings.HasPrefix(h, "mailto:") {
			if !slices.Contains(slices.Collect(maps.Values(m.Write)), h) {
				t.Errorf("%s: a mailto link of nobody's: %s", name, h)
			}
			continue
		}
		want[h]--
	}
	for h, n := range want {
		if n != 0 {
			t.Errorf("%s: the link %s is there %d times", name, h, 1-n)
		}
	}
	for _, e := range elements {
		if !slices.Contains(mailElements, e) {
			t.Errorf("%s: an element <%s>", name, e)
		}
	}
	if m.Kind != templates.MailAsk && m.Card != nil && !strings.HasPrefix(out.Subject, "Re: ["+m.Tag+"] ") {
		t.Errorf("%s: the subject is %q", name, out.Subject)
	}
}

// mailElements are all that a mail is made of.
var mailElements = []string{
	"html", "head", "meta", "title", "style", "body", "div", "table", "tbody", "tr", "td", "h1", "p", "span", "a", "b", "i", "s", "code", "pre", "bdi", "br",
}

// anchors returns the targets of all links, and the name of every element. An
// attribute that could fetch, run or send something is an error.
func anchors(t *testing.T, doc string) (hrefs, elements []string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		elements = append(elements, n.Data)
		for _, a := range n.Attr {
			switch {
			case a.Key == "href" && n.Data == "a":
				hrefs = append(hrefs, a.Val)
			case a.Key == "href" || a.Key == "src" || a.Key == "srcset" || a.Key == "background" || a.Key == "action" || strings.HasPrefix(a.Key, "on"):
				t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
			case strings.Contains(strings.ToLower(a.Val), "url("):
				t.Errorf("<%s> fetches something: %s", n.Data, a.Val)
			}
		}
	}
	return hrefs, elements
}

func TestMailClock(t *testing.T) {
	onDay(t, func(t *testing.T) {
		zone := func(name string) *time.Location {
			loc, err := time.LoadLocation(name)
			if err != nil {
				t.Skipf("no zone %s here: %v", name, err)
			}
			return loc
		}
		for _, tt := range []struct {
			loc  *time.Location
			want string
		}{
			{time.UTC, "Answer by Tue 1 Dec, 10:00 UTC."},
			{zone("Asia/Singapore"), "Answer by Tue 1 Dec, 18:00 Singapore time."},
			{zone("America/Argentina/Buenos_Aires"), "Answer by Tue 1 Dec, 07:00 Buenos Aires time."},
			{zone("Pacific/Kiritimati"), "Answer by Wed 2 Dec, 00:00 Kiritimati time."},
			{zone("Etc/GMT+5"), "Answer by Tue 1 Dec, 05:00 UTC-05."},
			{zone("CET"), "Answer by Tue 1 Dec, 11:00 CET."},
			{nil, "Answer by Tue 1 Dec, 10:00 UTC."},
		} {
			c := mailCard()
			c.Reader.Location = tt.loc
			if out := render(t, newMail(t), askMail(c)); !strings.Contains(out.Text, tt.want) {
				t.Errorf("%v: want %q in\n%s", tt.loc, tt.want, out.Text)
			}
		}
	})
}

func TestMailOverride(t *testing.T) {
	t.Parallel()
	write := func(name, text string) string {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "email"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "email", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	set, err := templates.NewMail(write("mail.txt", "ours: {{.Title}}"))
	if err != nil {
		t.Fatal(err)
	}
	if out := render(t, set, askMail(mailCard())); out.Text != "ours: Ship web-app 2.3 to production?\n" || !strings.Contains(out.HTML, "<h1") {
		t.Errorf("got %q", out.Text)
	}
	for _, tt := range []struct{ dir, want string }{
		{write("mail.txt", "line\n{{.Tytle}}"), "mail.txt:2"},
		{write("mail.html", "<p>\n\n{{if}}"), "mail.html:3"},
		{write("mail.html", "<a href={{.Nope}}>"), "mail.html:1"},
		{filepath.Join(t.TempDir(), "none"), "no such file"},
	} {
		if _, err := templates.NewMail(tt.dir); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want an error with %q", err, tt.want)
		}
	}
}

func TestMailNeedsCard(t *testing.T) {
	t.Parallel()
	if _, err := newMail(t).Render(&templates.Mail{Kind: templates.MailAsk}); err == nil {
		t.Error("a mail about nothing is rendered")
	}
}
