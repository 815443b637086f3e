package mailbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"beckon/channels/email/mailbox"
	"beckon/channels/email/mailtest"
)

// waiter makes a reader that is only asked to wait.
func waiter(t *testing.T, conf mailbox.Config) *mailbox.Reader {
	t.Helper()
	r, err := mailbox.New(conf, newHub().hooks(t))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// named is the header of a mail that [text] makes.
func named(s string) mailbox.Header {
	return mailbox.Header{Name: "Message-ID", Value: strings.ReplaceAll(s, " ", ".") + "@client.test"}
}

// A mail is found in whichever folder it lies, whether it was there before or
// arrives later.
func TestAwait(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	for _, folder := range []string{"Hub/Processed", "Hub/Rejected", "Hub/Unmatched", "Other"} {
		d.Create("hub", folder)
	}
	for name, tc := range map[string]struct {
		change func(*mailbox.Config)
		lies   string // where the mail is put; "" has it delivered
		header []mailbox.Header
		folder string
		astray string
	}{
		"arrives":               {folder: "INBOX"},
		"was read already":      {lies: "Hub/Processed", folder: "Hub/Processed"},
		"was rejected":          {lies: "Hub/Rejected", folder: "Hub/Rejected"},
		"was unmatched":         {lies: "Hub/Unmatched", folder: "Hub/Unmatched"},
		"is taken for spam":     {lies: "Junk", astray: "Junk"},
		"spam is read":          {lies: "Junk", change: func(c *mailbox.Config) { c.Folders = []string{"INBOX", `\Junk`} }, folder: "Junk"},
		"lies in another":       {lies: "Other", change: func(c *mailbox.Config) { c.Folders = []string{"INBOX", "Other"} }, folder: "Other"},
		"was named anew":        {header: []mailbox.Header{{Name: "Message-ID", Value: "nobody@client.test"}, {Name: "X-Second", Value: "was named anew"}}, folder: "INBOX"},
		"no folders to move to": {change: func(c *mailbox.Config) { c.Processed, c.Rejected, c.Unmatched, c.Failed = "", "", "", "" }, folder: "INBOX"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conf := config(d)
			if tc.change != nil {
				tc.change(&conf)
			}
			if tc.header == nil {
				tc.header = []mailbox.Header{named(name)}
			}
			raw := append([]byte("X-Second: "+name+"\r\n"), text(name)...)
			if tc.lies != "" {
				d.Append("hub", tc.lies, time.Time{}, raw)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			type result struct {
				folder string
				err    error
			}
			got := make(chan result, 1)
			go func() {
				folder, err := waiter(t, conf).Await(ctx, tc.header...)
				got <- result{folder, err}
			}()
			if tc.lies == "" {
				d.Deliver("hub@example.test", raw, "hub+qtoken@example.test")
			}
			r := <-got
			var astray *mailbox.Astray
			switch {
			case tc.astray != "":
				if !errors.As(r.err, &astray) || astray.Folder != tc.astray {
					t.Errorf("got %q, %v; want it to lie in %s", r.folder, r.err, tc.astray)
				}
			case r.folder != tc.folder || r.err != nil:
				t.Errorf("got %q, %v; want %s", r.folder, r.err, tc.folder)
			}
		})
	}
}

// A hub that reads the mailbox meanwhile takes the mail away.
func TestAwaitBesideAReader(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	h := newHub()
	r := run(t, config(d), h.hooks(t))
	r.caughtUp(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := make(chan string, 1)
	go func() {
		folder, err := waiter(t, config(d)).Await(ctx, named("beside"))
		if err != nil {
			t.Error(err)
		}
		got <- folder
	}()
	d.Deliver("hub@example.test", text("beside"), "hub@example.test")
	if folder := <-got; folder != "INBOX" && folder != "Hub/Processed" {
		t.Errorf("it lies in %q", folder)
	}
	h.expect(t, "beside")
	lies(t, d, "Hub/Processed", "beside")
	if folder, err := waiter(t, config(d)).Await(ctx, named("beside")); folder != "Hub/Processed" || err != nil {
		t.Errorf("got %q, %v", folder, err)
	}
}

func TestAwaitEnds(t *testing.T) {
	t.Parallel()
	d := mailtest.StartDovecot(t, mailtest.DovecotOptions{TLS: true})
	gone := mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	gone.Kill()
	for name, tc := range map[string]struct {
		change func(*mailbox.Config)
		want   []string
	}{
		"wrong password":      {change: func(c *mailbox.Config) { c.Password = "wrong" }, want: []string{"Authentication failed"}},
		"nobody there":        {change: func(c *mailbox.Config) { c.Addr = gone.IMAPAddr }, want: []string{"connect to " + gone.IMAPAddr, "refused"}},
		"foreign certificate": {change: func(c *mailbox.Config) { c.Security = mailbox.StartTLS }, want: []string{"signed by nobody whom this machine trusts"}},
		"no such folder":      {change: func(c *mailbox.Config) { c.Folders = []string{"Answers"} }, want: []string{"there is no folder Answers in the mailbox; make it"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conf := config(d)
			if tc.change != nil {
				tc.change(&conf)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			folder, err := waiter(t, conf).Await(ctx, named(name))
			if folder != "" || err == nil {
				t.Fatalf("found in %q, %v", folder, err)
			}
			for _, s := range tc.want {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("want %q in %q", s, err)
				}
			}
			if strings.Contains(err.Error(), "wrong") {
				t.Errorf("it shows the password: %v", err)
			}
		})
	}
}

// A server that falls silent, breaks off or does not search as it should is given
// up in time, and nothing is said of it that is not true.
func TestAwaitAtAPoorServer(t *testing.T) {
	t.Parallel()
	nothing := func(tag string) []string { return []string{"* SEARCH", tag + " OK done"} }
	found := func(tag string) []string { return []string{"* SEARCH 7", tag + " OK done"} }
	no := func(tag, text string) []string { return []string{tag + " NO " + text} }
	for name, tc := range map[string]struct {
		// search answers the n-th search; nil is no answer.
		search func(n int, c *fakeConn, tag string) []string
		list   string // what stands in the answer to LIST *, "" for no folder
		folder string
		want   string
	}{
		"nothing comes": {
			search: func(_ int, _ *fakeConn, tag string) []string { return nothing(tag) },
			want:   "it is not in INBOX, Done, Failed",
		},
		"falls silent": {
			search: func(n int, _ *fakeConn, tag string) []string {
				if n == 1 {
					return nothing(tag)
				}
				return nil
			},
			want: "the server has not answered for 30s",
		},
		"breaks off": {
			search: func(n int, c *fakeConn, tag string) []string {
				if n < 5 {
					c.Close()
				}
				return found(tag)
			},
			folder: "INBOX",
		},
		"names a folder badly": {
			search: func(n int, _ *fakeConn, tag string) []string {
				if n < 5 {
					return nothing(tag)
				}
				return found(tag)
			},
			list:   "*",
			folder: "Failed",
		},
		"searches for no headers": {
			search: func(_ int, _ *fakeConn, tag string) []string { return no(tag, "[CANNOT] no such search") },
			want:   "it is not in INBOX, Done, Failed; last, look into folder Failed: the server says: no such search [CANNOT]",
		},
		"searches for some": {
			search: func(n int, _ *fakeConn, tag string) []string {
				if n%2 == 1 {
					return no(tag, "[CANNOT] no such search")
				}
				return found(tag)
			},
			folder: "INBOX",
		},
		"has too much to do": {
			search: func(n int, _ *fakeConn, tag string) []string {
				if n < 4 {
					return no(tag, "[UNAVAILABLE] later")
				}
				return found(tag)
			},
			folder: "Done",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, n := newFake(), 0
				f.say = func(c *fakeConn, tag, command string) ([]string, bool) {
					switch {
					case strings.HasPrefix(command, "UID SEARCH"):
						n++
						return tc.search(n, c, tag), true
					case strings.HasPrefix(command, `LIST "" "*"`), strings.HasPrefix(command, `LIST "" *`):
						lines := []string{tag + " OK done"}
						if tc.list != "" {
							lines = append([]string{`* LIST () "/" ` + tc.list}, lines...)
						}
						return lines, true
					}
					return nil, false
				}
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				began := time.Now()
				folder, err := f.reader(t, f.config(), newHub()).Await(ctx, named("one"), mailbox.Header{Name: "X-Second", Value: "two"})
				if folder != tc.folder || (err == nil) != (tc.folder != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
					t.Errorf("got %q, %v; want %q, %s", folder, err, tc.folder, tc.want)
				}
				if err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("it ended before its time: %v", err)
				}
				if took := time.Since(began); took > 2*time.Minute+time.Second {
					t.Errorf("it took %s", took)
				}
				if len(f.said(`^SELECT`)) > 0 {
					t.Error("a folder was opened to be changed")
				}
				for _, c := range f.conns {
					c.Close()
				}
			})
		})
	}
}
