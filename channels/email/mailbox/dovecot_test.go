package mailbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"beckon/channels/email/mailbox"
	"beckon/channels/email/mailtest"
)

// A mail that arrives is handled at once, then flagged and moved; what lay there
// before the first connection is not touched.
func TestMailIsHandledAsItArrives(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	d.Deliver("alice@example.test", text("old"), "hub@example.test")
	h := newHub()
	h.decide = func(_ context.Context, m mailbox.Mail) (mailbox.Disposition, error) {
		return mailbox.Disposition(body(m.Raw)), nil
	}
	r := run(t, config(d), h.hooks(t))
	r.caughtUp(t)
	for _, s := range []string{"processed", "rejected", "unmatched", "failed", "leave"} {
		d.Deliver("alice@example.test", text(s), "hub+q.token@example.test")
	}
	h.expect(t, "processed", "rejected", "unmatched", "failed", "leave")

	for folder, want := range map[string][]string{
		"Hub/Processed": {"$BeckonDone", `\Seen`}, "Hub/Rejected": {"$BeckonDone", `\Seen`},
		"Hub/Unmatched": {"$BeckonDone"}, "Hub/Failed": {"$BeckonDone"},
	} {
		kept := lies(t, d, folder, strings.ToLower(strings.TrimPrefix(folder, "Hub/")))
		flags := slices.DeleteFunc(kept[0].Flags, func(f string) bool { return f == `\Recent` })
		if !slices.Equal(flags, want) {
			t.Errorf("flags in %s: %q, want %q", folder, flags, want)
		}
	}
	inbox := lies(t, d, "INBOX", "old", "leave")
	for _, m := range inbox {
		if slices.Contains(m.Flags, `\Seen`) || slices.Contains(m.Flags, "$BeckonDone") {
			t.Errorf("a mail that is left alone has the flags %q", m.Flags)
		}
	}

	m := h.took()[0]
	if m.Folder != "INBOX" || m.UID != 2 || m.UIDValidity != d.UIDValidity("hub", "INBOX") ||
		m.Key != fmt.Sprintf("INBOX/%d/2", m.UIDValidity) || m.Size != int64(len(m.Raw)) || time.Since(m.Date).Abs() > time.Hour ||
		!strings.Contains(string(m.Raw), "Delivered-To: hub+q.token@example.test") {
		t.Errorf("the mail as handled: %+v", m)
	}
	if _, problem := r.Alive(); problem != "" {
		t.Errorf("a problem: %s", problem)
	}

	// The next reader begins where the last one ended.
	h.until(t, "cursor without mails to be moved", func() bool { return strings.HasSuffix(h.cursors["INBOX"], " - 0 0") })
	r.stop()
	d.Deliver("alice@example.test", text("processed"), "hub@example.test")
	run(t, config(d), h.hooks(t))
	h.expect(t, "processed", "rejected", "unmatched", "failed", "leave", "processed")
	for key, n := range h.allCalls() {
		if n != 1 {
			t.Errorf("%s was handled %d times", key, n)
		}
	}
}

func TestBackfill(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	now := time.Now()
	for days, s := range map[int]string{20: "twenty days", 3: "three days"} {
		d.Append("hub", "INBOX", now.AddDate(0, 0, -days), text(s))
	}
	d.Append("hub", "INBOX", now, text("today"))
	h, conf := newHub(), config(d)
	conf.Backfill = 7 * 24 * time.Hour
	r := run(t, conf, h.hooks(t))
	h.expect(t, "three days", "today")
	r.caughtUp(t)
	r.stop()
	// The old one was passed over for good.
	run(t, conf, h.hooks(t)).caughtUp(t)
	h.expect(t, "three days", "today")
	lies(t, d, "INBOX", "twenty days")
}

// Somebody reads, flags and moves mail in the same folder.
func TestOthersInTheMailbox(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	h := newHub()
	r := run(t, config(d), h.hooks(t))
	r.caughtUp(t)
	r.stop()
	d.Append("hub", "INBOX", time.Time{}, text("read"), text("gone"), text("kept"))
	d.Flag("hub", "INBOX", `\Seen`, 1)
	d.Doveadm("expunge", "-u", "hub@example.test", "mailbox", "INBOX", "uid", "2")
	run(t, config(d), h.hooks(t))
	h.expect(t, "read", "kept")
}

func TestFiveHundredMails(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	h := newHub()
	r := run(t, config(d), h.hooks(t))
	r.caughtUp(t)
	r.stop()
	var raws [][]byte
	var want []string
	for i := range 500 {
		want = append(want, fmt.Sprint("mail ", i))
		raws = append(raws, text(want[i]))
	}
	d.Append("hub", "INBOX", time.Time{}, raws...)
	run(t, config(d), h.hooks(t))
	h.expect(t, want...)
	lies(t, d, "INBOX")
	lies(t, d, "Hub/Processed", want...)
	if cursor := h.cursor("INBOX"); len(cursor) > 200 {
		t.Errorf("the cursor grows: %s", cursor)
	}
}

// A mail whose handler fails or panics is tried three times and set aside; the
// others go on.
func TestPoison(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	h := newHub()
	h.decide = func(_ context.Context, m mailbox.Mail) (mailbox.Disposition, error) {
		switch body(m.Raw) {
		case "fails":
			return "", errors.New("can't read this")
		case "panics":
			panic("index out of range")
		case "twice":
			if h.called(m.Key) < 3 {
				return "", errors.New("not yet")
			}
		}
		return mailbox.Processed, nil
	}
	r := run(t, config(d), h.hooks(t))
	r.caughtUp(t)
	d.Append("hub", "INBOX", time.Time{}, text("fails"), text("panics"), text("twice"), text("fine"))
	h.until(t, "end", func() bool { return len(h.aside) == 2 && len(h.mails) == 2 })
	lies(t, d, "Hub/Failed", "fails", "panics")
	lies(t, d, "INBOX")
	both := func() {
		t.Helper()
		got := h.bodies(t)
		slices.Sort(got) // the one that is tried again may come first or last
		if !slices.Equal(got, []string{"fine", "twice"}) {
			t.Errorf("mails %q took effect", got)
		}
	}
	both()
	v := d.UIDValidity("hub", "INBOX")
	for uid, want := range map[int]string{1: "can't read this", 2: "panic: index out of range\ngoroutine"} {
		key := fmt.Sprintf("INBOX/%d/%d", v, uid)
		if err := h.asides()[key]; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s was set aside for %v, want %s", key, err, want)
		}
		if h.called(key) != 3 {
			t.Errorf("%s was tried %d times, want 3", key, h.called(key))
		}
	}
	r.stop()
	run(t, config(d), h.hooks(t)).caughtUp(t)
	both()
}

// When the hub's database is away nothing is tried in vain, set aside or lost.
func TestHubIsAway(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	h := newHub()
	r := run(t, config(d), h.hooks(t))
	r.caughtUp(t)
	h.mu.Lock()
	h.down = errors.New("database is closed")
	h.mu.Unlock()
	d.Append("hub", "INBOX", time.Time{}, text("one"), text("two"))
	r.problem(t, "the hub can't say how far folder INBOX was read: database is closed")
	h.mu.Lock()
	h.down = nil
	h.mu.Unlock()
	h.expect(t, "one", "two")
	r.caughtUp(t)
	r.problem(t)
	if len(h.asides()) != 0 {
		t.Errorf("set aside: %v", h.asides())
	}
}

// A commit whose end the reader doesn't learn is not done again.
func TestUnknownEnd(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	h := newHub()
	h.outcome = func(m mailbox.Mail) error {
		if h.called(m.Key) == 1 {
			return mailbox.Temporary(errors.New("connection lost after commit"))
		}
		return nil
	}
	run(t, config(d), h.hooks(t)).caughtUp(t)
	d.Append("hub", "INBOX", time.Time{}, text("one"), text("two"))
	lies(t, d, "Hub/Processed", "one", "two")
	h.expect(t, "one", "two")
}

// Several folders with names that are not plain, at a server that separates
// names its own way and puts a prefix before them.
func TestFolderNames(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]mailtest.DovecotOptions{
		"slash": {}, "dot": {Separator: "."}, "prefix": {Separator: ".", Prefix: "INBOX."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := mailtest.StartDovecot(t, o)
			local := func(s string) string {
				if o.Separator != "" {
					s = strings.ReplaceAll(s, "/", o.Separator)
				}
				return o.Prefix + s
			}
			d.Create("hub", local("Anträge & Prüfung"))
			d.Create("hub", local("日本/ü 1"))
			h, conf := newHub(), config(d)
			conf.Folders = []string{"inbox", `\Junk`, "Anträge & Prüfung", "日本/ü 1", "nowhere"}
			conf.Processed = "Hub erledigt/Grüße"
			h.decide = func(_ context.Context, m mailbox.Mail) (mailbox.Disposition, error) {
				if strings.HasPrefix(body(m.Raw), "spam") {
					return mailbox.Unmatched, nil
				}
				return mailbox.Processed, nil
			}
			conf.Timing.CatchUp = 100 * time.Millisecond
			r := run(t, conf, h.hooks(t))
			r.caughtUp(t)
			r.problem(t, "there is no folder nowhere")
			d.Append("hub", local("Anträge & Prüfung"), time.Time{}, text("a"))
			d.Append("hub", local("日本/ü 1"), time.Time{}, text("b"))
			d.Append("hub", local("Junk"), time.Time{}, text("c"), text("spam"))
			d.Append("hub", "INBOX", time.Time{}, text("d"), text("spam in the open"))
			h.until(t, "six mails", func() bool { return len(h.mails) == 6 })
			folders := make(map[string]bool)
			for _, m := range h.took() {
				folders[m.Folder] = true
			}
			for _, want := range []string{"INBOX", local("Junk"), local("Anträge & Prüfung"), local("日本/ü 1")} {
				if !folders[want] {
					t.Errorf("no mail from %q: %v", want, folders)
				}
			}
			err := mailtest.Eventually(func() error {
				if n := len(d.Mails("hub", local("Hub erledigt/Grüße"))); n != 4 {
					return fmt.Errorf("%d mails were moved to %s; there are %q", n, local("Hub erledigt/Grüße"), d.Folders("hub"))
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			// A junk folder's mail belongs to whoever empties it.
			junk := lies(t, d, local("Junk"), "spam")
			if slices.Contains(junk[0].Flags, "$BeckonDone") {
				t.Errorf("junk is flagged %q", junk[0].Flags)
			}
			lies(t, d, local("Hub/Unmatched"), "spam in the open")
			if findings := r.Check(t.Context()); len(findings) != 13 {
				t.Errorf("findings: %+v", findings)
			}
		})
	}
}

// A folder that mails go to is deleted, and comes again.
func TestFolderIsDeleted(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	h := newHub()
	r := run(t, config(d), h.hooks(t))
	r.caughtUp(t)
	d.Doveadm("mailbox", "delete", "-u", "hub@example.test", "Hub/Processed")
	d.Deliver("", text("one"), "hub@example.test")
	h.expect(t, "one")
	lies(t, d, "Hub/Processed", "one")
}

func TestTooBig(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	h, conf := newHub(), config(d)
	conf.MaxSize = 3 << 20
	run(t, conf, h.hooks(t)).caughtUp(t)
	big := func(n int) []byte {
		return mailtest.Text(strings.Repeat(strings.Repeat("x", 98)+"\r\n", n/100)+"end", "From: alice@example.test")
	}
	d.Append("hub", "INBOX", time.Time{}, big(2<<20), big(5<<20))
	h.until(t, "two mails", func() bool { return len(h.mails) == 2 })
	if m := h.took()[0]; m.Truncated || int64(len(m.Raw)) != m.Size || body(m.Raw) != "end" {
		t.Errorf("a big mail: %d of %d bytes, truncated %v", len(m.Raw), m.Size, m.Truncated)
	}
	if m := h.took()[1]; !m.Truncated || len(m.Raw) != 1<<20 || m.Size < 5_000_000 || !strings.HasPrefix(string(m.Raw), "From: alice") {
		t.Errorf("a mail that is too big: %d of %d bytes, truncated %v", len(m.Raw), m.Size, m.Truncated)
	}
	lies(t, d, "Hub/Processed", "end", "end")
}

// Every UID is void: the mails come again under another key, which the handler
// knows by what they are; new ones are not lost.
func TestUIDValidityChanges(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	h, conf := newHub(), config(d)
	conf.Processed = ""
	r := run(t, conf, h.hooks(t))
	r.caughtUp(t)
	d.Append("hub", "INBOX", time.Now().AddDate(0, 0, -20), text("long ago"))
	d.Append("hub", "INBOX", time.Time{}, text("one"))
	h.expect(t, "long ago", "one")
	before := d.UIDValidity("hub", "INBOX")
	d.Renumber("hub", "INBOX", before+7)
	d.Append("hub", "INBOX", time.Time{}, text("two"))
	d.Kick("hub")
	h.expect(t, "long ago", "one", "one", "two")
	if m := h.took()[2]; m.Key != fmt.Sprintf("INBOX/%d/2", before+7) {
		t.Errorf("the key is %s", m.Key)
	}
	r.caughtUp(t)
	r.stop()
	run(t, conf, h.hooks(t)).caughtUp(t)
	h.expect(t, "long ago", "one", "one", "two")
}

// The cursor is lost or damaged.
func TestCursorIsLost(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	h, conf := newHub(), config(d)
	conf.Processed = ""
	r := run(t, conf, h.hooks(t))
	r.caughtUp(t)
	d.Append("hub", "INBOX", time.Time{}, text("one"))
	h.expect(t, "one")
	r.stop()

	h.cursors["INBOX"] = "1 rubbish"
	d.Append("hub", "INBOX", time.Time{}, text("two"))
	r = run(t, conf, h.hooks(t))
	h.expect(t, "one", "two")
	if h.called(h.took()[0].Key) != 2 {
		t.Error("a damaged cursor did not make it read the last days again")
	}
	r.caughtUp(t)
	r.stop()

	// No cursor at all is a mailbox that was never read.
	delete(h.cursors, "INBOX")
	d.Append("hub", "INBOX", time.Time{}, text("three"))
	r = run(t, conf, h.hooks(t))
	r.caughtUp(t)
	d.Append("hub", "INBOX", time.Time{}, text("four"))
	h.expect(t, "one", "two", "four")
}
