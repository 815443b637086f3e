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

// A mail that waits to be tried again, far below the newest, is not forgotten
// when the hub begins again with mails that are still to be moved.
func TestRestartForgetsNothing(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.say = answers("UID MOVE", "NO not now")
	conf := f.config()
	conf.Timing.Retry = time.Hour
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		h.decide = func(_ context.Context, m mailbox.Mail) (mailbox.Disposition, error) {
			if body(m.Raw) == "bad" {
				return "", errors.New("can't read this")
			}
			return mailbox.Processed, nil
		}
		for life := range 4 {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			r := f.reader(t, conf, h)
			go func() {
				time.Sleep(time.Minute)
				if life == 0 {
					f.deliver("bad")
					for i := range 120 {
						f.deliver(fmt.Sprint("mail ", i))
					}
				}
			}()
			_ = r.Run(ctx)
			cancel()
		}
		if n := h.called("INBOX/7/1"); n != 4 {
			t.Errorf("the mail that waits was tried %d times in four lives, want 4", n)
		}
		if got := h.bodies(t); len(got) != 120 {
			t.Errorf("%d mails took effect, want 120", len(got))
		}
		for _, c := range f.conns {
			c.Close()
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
