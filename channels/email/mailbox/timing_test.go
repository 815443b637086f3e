package mailbox_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"beckon/channels/email/mailbox"
)

// bubble runs a reader of a fake in its own time; a test's sleeps there cost
// nothing.
func bubble(t *testing.T, f *fake, conf mailbox.Config, h func(*hub), test func(t *testing.T, r *mailbox.Reader, h *hub)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		hub := newHub()
		if h != nil {
			h(hub)
		}
		r := f.reader(t, conf, hub)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = r.Run(ctx)
		}()
		synctest.Wait()
		test(t, r, hub)
		cancel()
		<-ended
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, c := range f.conns {
			c.Close()
		}
	})
}

// Whatever a server does wrong, a mail that arrives is handled within some
// time, once.
func TestServersThatAreNotQuiteRight(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault  func(f *fake)
		within time.Duration
	}{
		"a good one":     {func(*fake) {}, 0},
		"no IDLE":        {func(f *fake) { f.caps = "IMAP4rev1 AUTH=PLAIN" }, time.Minute},
		"BAD to IDLE":    {func(f *fake) { f.say = answers("IDLE", "BAD what") }, time.Minute},
		"NO after IDLE":  {func(f *fake) { f.say = answers("DONE", "NO what") }, 7 * time.Minute},
		"IDLE is silent": {func(f *fake) { f.say = silentIdle }, 5 * time.Minute},
		"BYE in IDLE, and the line stays": {func(f *fake) {
			f.say = once("IDLE", func(c *fakeConn) []string {
				c.send("+ idling", "* BYE I am tired")
				c.deaf = true
				return nil
			})
		}, 5*time.Minute + 40*time.Second},
		"IDLE is never acknowledged": {func(f *fake) {
			f.say = once("IDLE", func(*fakeConn) []string { return nil })
		}, 40 * time.Second},
		"the line is dead in IDLE": {func(f *fake) {
			f.say = once("IDLE", func(c *fakeConn) []string {
				c.send("+ idling")
				c.deaf = true
				return nil
			})
		}, 5*time.Minute + 40*time.Second},
		"garbage in IDLE": {func(f *fake) {
			f.say = once("IDLE", func(c *fakeConn) []string { return []string{"+ idling", "!?$ \x00\xff (("} })
		}, 10 * time.Second},
		"FETCH and EXPUNGE in IDLE": {func(f *fake) {
			f.say = func(c *fakeConn, tag, command string) ([]string, bool) {
				if command == "IDLE" {
					return []string{"* OK still here", `* 1 FETCH (FLAGS (\Seen))`, "* 3 RECENT"}, false
				}
				return nil, false
			}
		}, 0},
		"UIDs after the mail": {func(f *fake) { f.item = lateUID }, 0},
		"UIDs after the mail, places move": {func(f *fake) {
			f.item = func(seq int, m fakeMail, body bool) string {
				return strings.Replace(lateUID(seq, m, body), "* ", "* 99 EXPUNGE\r\n* ", 1)
			}
		}, 0},
		"no UIDNEXT":  {func(f *fake) { f.noNext = true }, 0},
		"no flags":    {func(f *fake) { f.flags = "" }, 0},
		"no MOVE":     {func(f *fake) { f.caps = "IMAP4rev1 IDLE AUTH=PLAIN" }, 0},
		"NO to MOVE":  {func(f *fake) { f.say = answers("UID MOVE", "NO not here") }, 0},
		"NO to STORE": {func(f *fake) { f.say = answers("UID STORE", "NO read-only") }, 0},
		"NO to CREATE": {func(f *fake) {
			f.say = func(c *fakeConn, tag, command string) ([]string, bool) {
				switch word, _, _ := strings.Cut(command, " "); word {
				case "CREATE":
					return []string{tag + " NO not yours"}, true
				case "LIST":
					return []string{tag + " OK nothing"}, true
				}
				return nil, false
			}
			f.say = noFolders(f.say)
		}, 0},
		"the first answer never comes": {func(f *fake) {
			f.say = once("UID SEARCH", func(*fakeConn) []string { return nil })
		}, 40 * time.Second},
		"a mail comes by halves": {func(f *fake) {
			f.say = once("UID FETCH .*BODY", func(c *fakeConn) []string {
				c.send("* 1 FETCH (UID 1 BODY[] {1000}\r\nhalf of it")
				c.deaf = true
				return nil
			})
		}, 80 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			tc.fault(f)
			bubble(t, f, f.config(), nil, func(t *testing.T, r *mailbox.Reader, h *hub) {
				f.deliver("one")
				time.Sleep(tc.within + time.Second)
				synctest.Wait()
				if got := h.bodies(t); !slices.Equal(got, []string{"one"}) {
					_, problem := r.Alive()
					t.Errorf("after %s: %q, problem %q, after %q", tc.within, got, problem, f.said(""))
				}
				f.deliver("two", "three")
				time.Sleep(max(tc.within, 30*time.Second) + time.Second)
				synctest.Wait()
				if got := h.bodies(t); !slices.Equal(got, []string{"one", "two", "three"}) {
					t.Errorf("then %q", got)
				}
				if last, _ := r.Alive(); time.Since(last) > 6*time.Minute {
					t.Errorf("last caught up %s ago", time.Since(last))
				}
			})
			if bad := f.said(`ENVELOPE|BODYSTRUCTURE|EXPUNGE|\\Deleted|COPY|UNSEEN|BODY\[`); len(bad) > 0 {
				t.Errorf("said %q", bad)
			}
		})
	}
}

// answers refuses every command of a kind.
func answers(command, result string) func(*fakeConn, string, string) ([]string, bool) {
	return func(c *fakeConn, tag, got string) ([]string, bool) {
		if !strings.HasPrefix(got, command) {
			return nil, false
		}
		if got == "DONE" {
			tag = c.tag
		}
		return []string{tag + " " + result}, true
	}
}

// once does something at the first command that matches.
func once(pattern string, do func(*fakeConn) []string) func(*fakeConn, string, string) ([]string, bool) {
	done := false
	return func(c *fakeConn, _, command string) ([]string, bool) {
		words, last, _ := strings.Cut(pattern, " .*")
		if done || !strings.HasPrefix(command, words) || !strings.Contains(command, last) {
			return nil, false
		}
		done = true
		return do(c), true
	}
}

// silentIdle never says that mail came.
func silentIdle(c *fakeConn, tag, command string) ([]string, bool) {
	if command != "IDLE" {
		return nil, false
	}
	c.tag = tag
	return []string{"+ idling"}, true
}

// noFolders says that there is INBOX and nothing else.
func noFolders(say func(*fakeConn, string, string) ([]string, bool)) func(*fakeConn, string, string) ([]string, bool) {
	return func(c *fakeConn, tag, command string) ([]string, bool) {
		if strings.HasPrefix(command, "LIST") && strings.HasSuffix(command, "INBOX") {
			return nil, false
		}
		return say(c, tag, command)
	}
}

// lateUID sends the UID after the mail.
func lateUID(seq int, m fakeMail, body bool) string {
	if !body {
		return item(seq, m, false)
	}
	return fmt.Sprintf("* %d FETCH (BODY[] {%d}\r\n%s UID %d)", seq, len(m.raw), m.raw, m.uid)
}

// A mail that the server can't give out, or that ends the connection, is set
// aside after some tries, and stops nobody.
func TestMailThatCantBeFetched(t *testing.T) {
	t.Parallel()
	for name, say := range map[string]func(*fake, *fakeConn, string, string) ([]string, bool){
		"nothing": func(_ *fake, _ *fakeConn, tag, _ string) ([]string, bool) { return []string{tag + " OK done"}, true },
		"NIL": func(_ *fake, _ *fakeConn, tag, _ string) ([]string, bool) {
			return []string{"* 1 FETCH (UID 1 BODY[] NIL)", tag + " OK done"}, true
		},
		"NO": func(_ *fake, _ *fakeConn, tag, _ string) ([]string, bool) {
			return []string{tag + " NO can't read it"}, true
		},
		"the connection ends": func(_ *fake, c *fakeConn, _, _ string) ([]string, bool) {
			c.Close()
			return nil, true
		},
		"another mail": func(f *fake, _ *fakeConn, tag, _ string) ([]string, bool) {
			return []string{"* 1 FETCH (BODY[] {2}\r\nhi UID 77)", tag + " OK done"}, true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.say = func(c *fakeConn, tag, command string) ([]string, bool) {
				if strings.HasPrefix(command, "UID FETCH 1 ") && strings.Contains(command, "BODY") || strings.HasPrefix(command, "FETCH 1 ") {
					return say(f, c, tag, command)
				}
				return nil, false
			}
			bubble(t, f, f.config(), nil, func(t *testing.T, r *mailbox.Reader, h *hub) {
				f.deliver("bad", "two", "three")
				time.Sleep(3 * time.Minute)
				synctest.Wait()
				if got := h.bodies(t); !slices.Equal(got, []string{"two", "three"}) {
					t.Errorf("the others: %q", got)
				}
				if len(h.asides()) != 0 {
					t.Errorf("set aside too soon: %v", h.asides())
				}
				time.Sleep(3 * time.Hour)
				synctest.Wait()
				if err := h.asides()["INBOX/7/1"]; err == nil || len(h.asides()) != 1 || h.called("INBOX/7/1") != 0 {
					t.Errorf("set aside: %v", h.asides())
				}
				if n := len(f.said("UID MOVE 1 ")); n != 1 {
					t.Errorf("it was moved %d times", n)
				}
			})
		})
	}
}

// A size that the server gets wrong does no harm.
func TestSizeIsALie(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.item = func(seq int, m fakeMail, body bool) string {
		if body {
			m.raw = "Subject: x\r\n\r\n" + strings.Repeat("x", 3<<20)
			return item(seq, m, true)
		}
		return strings.Replace(item(seq, m, false), "RFC822.SIZE ", "RFC822.SIZE 1", 1)
	}
	conf := f.config()
	conf.MaxSize = 2 << 20
	bubble(t, f, conf, nil, func(t *testing.T, r *mailbox.Reader, h *hub) {
		f.deliver("one")
		synctest.Wait()
		if len(h.took()) != 1 || !h.took()[0].Truncated || len(h.took()[0].Raw) != 1<<20 {
			t.Errorf("%d mails", len(h.took()))
		}
	})
}

// A server that was restored from a backup gives UIDs out twice, under the same
// UIDVALIDITY. The new mail has another key.
func TestUIDsAreUsedAgain(t *testing.T) {
	t.Parallel()
	f := newFake()
	conf := f.config()
	conf.Processed = ""
	bubble(t, f, conf, nil, func(t *testing.T, r *mailbox.Reader, h *hub) {
		f.deliver("one", "two", "three")
		synctest.Wait()
		f.mu.Lock()
		f.mails, f.next = f.mails[:1], 2
		f.mu.Unlock()
		f.deliver("four")
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		if got := h.bodies(t); !slices.Equal(got, []string{"one", "two", "three", "one", "four"}) {
			t.Errorf("mails %q", got)
		}
		if key := h.took()[4].Key; key != "INBOX/7.1/2" || h.took()[1].Key != "INBOX/7/2" {
			t.Errorf("the keys are %s and %s", h.took()[1].Key, key)
		}
		f.deliver("five")
		time.Sleep(time.Second)
		if got := h.bodies(t); got[len(got)-1] != "five" || len(got) != 6 {
			t.Errorf("mails %q", got)
		}
	})
}

// UIDs may arrive out of order when a server has several front ends.
func TestUIDsOutOfOrder(t *testing.T) {
	t.Parallel()
	f := newFake()
	conf := f.config()
	conf.Processed = ""
	bubble(t, f, conf, nil, func(t *testing.T, r *mailbox.Reader, h *hub) {
		f.mu.Lock()
		f.next = 100
		f.mu.Unlock()
		f.deliver("hundred")
		synctest.Wait()
		f.mu.Lock()
		f.mails = append([]fakeMail{{60, "\r\nsixty", time.Now()}}, f.mails...)
		f.mu.Unlock()
		f.deliver("hundred and one")
		synctest.Wait()
		if got := h.bodies(t); !slices.Equal(got, []string{"hundred", "sixty", "hundred and one"}) {
			t.Errorf("mails %q", got)
		}
	})
}

// How often a server is asked that says no. A refused password is tried seldom:
// servers lock accounts.
func TestBackoff(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		result  string
		min     int // logins in six hours
		max     int
		first   time.Duration // until the second
		problem string
	}{
		"wrong password": {"NO [AUTHENTICATIONFAILED] wrong", 8, 12, 5 * time.Minute, "are the user name and the password right?"},
		"locked":         {"NO too many failed attempts, account locked", 8, 12, 5 * time.Minute, "too many failed attempts"},
		"app password":   {"NO [ALERT] Application-specific password required: https://support.google.com/accounts/answer/185833", 8, 12, 5 * time.Minute, "Application-specific password required"},
		"connections":    {"NO [ALERT] Too many simultaneous connections. (Failure)", 70, 100, 5 * time.Minute, "too much to do: Too many simultaneous connections"},
		"unavailable":    {"NO [UNAVAILABLE] Temporary authentication failure", 70, 100, 5 * time.Minute, "too much to do"},
		"not understood": {"BAD syntax", 8, 12, 5 * time.Minute, "does not take PLAIN"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.say = answers("AUTHENTICATE", tc.result)
			bubble(t, f, f.config(), nil, func(t *testing.T, r *mailbox.Reader, h *hub) {
				time.Sleep(6 * time.Hour)
				synctest.Wait()
				if n := len(f.logins); n < tc.min || n > tc.max {
					t.Errorf("%d logins in six hours, want %d to %d", n, tc.min, tc.max)
				}
				if wait := f.logins[1].Sub(f.logins[0]); wait > tc.first || wait < tc.first*3/4 {
					t.Errorf("the second login came after %s, want %s", wait, tc.first)
				}
				last, problem := r.Alive()
				if !last.IsZero() || !strings.Contains(problem, tc.problem) || strings.Contains(problem, "secret") {
					t.Errorf("last %v, problem %q", last, problem)
				}
				f.mu.Lock()
				f.say = nil
				f.mu.Unlock()
				time.Sleep(time.Hour)
				synctest.Wait()
				if last, problem := r.Alive(); last.IsZero() || problem != "" {
					t.Errorf("mended: last %v, problem %q", last, problem)
				}
			})
		})
	}
}

func TestBackoffOfTheNetwork(t *testing.T) {
	t.Parallel()
	f := newFake()
	var dials []time.Time
	synctest.Test(t, func(t *testing.T) {
		r := f.reader(t, f.config(), newHub())
		r.SetDialer(func(context.Context, string) (net.Conn, error) {
			dials = append(dials, time.Now())
			return nil, errors.New("no route to host")
		})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
		defer cancel()
		if err := r.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
	wait := time.Second
	for i := range len(dials) - 1 {
		if got := dials[i+1].Sub(dials[i]); got > wait || got < wait*3/4 {
			t.Errorf("wait %d is %s, want about %s", i, got, wait)
		}
		wait = min(2*wait, 5*time.Minute)
	}
	if len(dials) < 30 || len(dials) > 45 {
		t.Errorf("%d dials in two hours", len(dials))
	}
}

// A server to which the line is open and that says nothing at all.
func TestNoGreeting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		r := f.reader(t, f.config(), newHub())
		var ends []net.Conn
		r.SetDialer(func(context.Context, string) (net.Conn, error) {
			client, server := net.Pipe()
			ends = append(ends, server)
			return client, nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		_ = r.Run(ctx)
		if _, problem := r.Alive(); !strings.Contains(problem, "connect to imap.example.com:143: the server has not answered for 30s") {
			t.Errorf("the problem is %q", problem)
		}
		if len(ends) < 5 || len(ends) > 15 {
			t.Errorf("%d connections in ten minutes", len(ends))
		}
	})
}

// One IDLE lasts nine minutes at most, however seldom the mailbox is looked at.
func TestIdleIsCutShort(t *testing.T) {
	t.Parallel()
	f := newFake()
	conf := f.config()
	conf.Timing.CatchUp = 24 * time.Hour
	bubble(t, f, conf, nil, func(t *testing.T, r *mailbox.Reader, h *hub) {
		time.Sleep(90*time.Minute + time.Second)
		synctest.Wait()
		if n := len(f.said("^IDLE")); n != 11 {
			t.Errorf("%d times IDLE in 90 minutes, want 11", n)
		}
	})
}

// A handler that hangs is given up, whatever it says of it, and its mail set
// aside in the end; the next ones wait for it no longer than that.
func TestHandlerHangs(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(error) error{
		"plainly": func(err error) error { return err }, "as if the hub were away": mailbox.Temporary,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			bubble(t, f, f.config(), func(h *hub) {
				h.decide = func(ctx context.Context, m mailbox.Mail) (mailbox.Disposition, error) {
					if body(m.Raw) == "hangs" {
						<-ctx.Done()
						return "", wrap(ctx.Err())
					}
					return mailbox.Processed, nil
				}
			}, func(t *testing.T, r *mailbox.Reader, h *hub) {
				f.deliver("hangs", "two")
				time.Sleep(2*time.Minute + time.Second)
				synctest.Wait()
				if got := h.bodies(t); !slices.Equal(got, []string{"two"}) {
					t.Errorf("mails %q", got)
				}
				time.Sleep(2 * time.Hour)
				synctest.Wait()
				if err := h.asides()["INBOX/7/1"]; !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("set aside: %v", h.asides())
				}
				if n := h.called("INBOX/7/1"); n != 5 {
					t.Errorf("it was tried %d times, want 5", n)
				}
			})
		})
	}
}

// A list of folders with a name in it that is badly encoded ends the connection;
// the reader then does without the list.
func TestBadFolderName(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.say = func(c *fakeConn, tag, command string) ([]string, bool) {
		if command == `LIST "" "*"` {
			return []string{`* LIST () "/" "&bad"`, tag + " OK done"}, true
		}
		return nil, false
	}
	conf := f.config()
	conf.Folders = []string{"INBOX", `\Junk`}
	bubble(t, f, conf, nil, func(t *testing.T, r *mailbox.Reader, h *hub) {
		time.Sleep(10 * time.Second)
		f.deliver("one")
		time.Sleep(time.Second)
		synctest.Wait()
		if got := h.bodies(t); !slices.Equal(got, []string{"one"}) {
			t.Errorf("mails %q", got)
		}
		if last, problem := r.Alive(); last.IsZero() || !strings.Contains(problem, "name the folder instead of its role") {
			t.Errorf("problem %q", problem)
		}
	})
}
