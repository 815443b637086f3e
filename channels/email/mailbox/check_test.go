package mailbox_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"beckon/channels/email/mailbox"
	"beckon/channels/email/mailtest"
)

// say writes findings as an operator reads them.
func say(findings []mailbox.Finding) []string {
	var all []string
	for _, f := range findings {
		word := "ok"
		if !f.OK {
			word = "no"
		}
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s: %s", word, f.What, f.Msg)))
	}
	return all
}

func TestCheck(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	d.Append("hub", "INBOX", time.Time{}, text("one"))
	conf := config(d)
	conf.Folders = []string{"INBOX", `\Junk`}
	conf.Rejected, conf.Unmatched = "", ""
	r, err := mailbox.New(conf, newHub().hooks(t))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"ok imap connection:",
		"ok imap login: as hub@example.test",
		"ok imap IDLE: mail is noticed at once",
		"ok imap MOVE: mails that are done are moved",
		"ok imap folder INBOX: 1 mails",
		"ok imap folder Junk: 0 mails",
		"ok imap folder Hub/Processed: for processed mails",
		"ok imap folder Hub/Failed: for failed mails",
	}
	if got := say(r.Check(t.Context())); !slices.Equal(got, want) {
		t.Errorf("findings:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	lies(t, d, "INBOX", "one")
}

func TestCheckOfAPoorServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.caps = "IMAP4rev1"
		f.say = noFolders(func(c *fakeConn, tag, command string) ([]string, bool) {
			switch word, _, _ := strings.Cut(command, " "); word {
			case "CREATE":
				return []string{tag + " NO [NOPERM] not yours"}, true
			case "LIST":
				return []string{tag + " OK nothing"}, true
			}
			return nil, false
		})
		conf := f.config()
		conf.Folders = []string{"INBOX", "Anträge"}
		want := []string{
			"ok imap connection:",
			"ok imap login: as hub",
			"ok imap IDLE: the server has no IDLE, so mail is noticed after 1m0s at most",
			"ok imap MOVE: the server has no MOVE, so mails that are done are only flagged",
			"ok imap folder INBOX: 0 mails",
			"no imap folders: folder Done can't be made: not yours [NOPERM]; folder Failed can't be made: not yours [NOPERM]; there is no folder Anträge in the mailbox",
		}
		r := f.reader(t, conf, newHub())
		if got := say(r.Check(t.Context())); !slices.Equal(got, want) {
			t.Errorf("findings:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		f.say = noFolders(func(c *fakeConn, tag, command string) ([]string, bool) {
			if strings.HasPrefix(command, "LIST") {
				return []string{tag + " OK nothing"}, true
			}
			return nil, false
		})
		conf.Folders = []string{"Anträge"}
		got := say(f.reader(t, conf, newHub()).Check(t.Context()))
		if last := got[len(got)-1]; last != "no imap folders: there is no folder Anträge in the mailbox; make it, or change the folders in the config" {
			t.Errorf("findings: %q", got)
		}
		for _, c := range f.conns {
			c.Close()
		}
	})
}
