package mailbox_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"beckon/channels/email/mailbox"
)

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
