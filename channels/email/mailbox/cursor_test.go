package mailbox

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestCursorText(t *testing.T) {
	t.Parallel()
	for text, c := range map[string]cursor{
		"1 7 0 0 - - 0 0":                       {validity: 7},
		"1 4294967295 2 10 12,14-16 16 0 0":     {validity: math.MaxUint32, epoch: 2, base: 10, done: uids{12, 14, 15, 16}, unfiled: uids{16}},
		"1 7 0 0 - - 120 20700":                 {validity: 7, until: 120, since: 20700},
		"1 7 0 9 4294967294-4294967295 1,3 0 0": {validity: 7, base: 9, done: uids{math.MaxUint32 - 1, math.MaxUint32}, unfiled: uids{1, 3}},
	} {
		if got := c.String(); got != text {
			t.Errorf("written %q, want %q", got, text)
		}
		got, err := parseCursor(text)
		if err != nil || got.String() != text {
			t.Errorf("%q read as %+v, %v", text, got, err)
		}
	}
	for _, bad := range []string{
		"", "x", "2 7 0 0 - - 0 0", "1 7 0 0 - - 0", "1 -7 0 0 - - 0 0", "1 7 0 0 3-1 - 0 0", "1 7 0 0 1,1 - 0 0",
		"1 7 0 0 0 - 0 0", "1 7 0 0 1-4294967295 - 0 0", "1 7 0 0 a - 0 0", "1 7 0 4294967296 - - 0 0",
	} {
		if c, err := parseCursor(bad); err == nil {
			t.Errorf("%q read as %+v", bad, c)
		}
	}
}

func FuzzCursor(f *testing.F) {
	f.Add("1 7 0 10 12,14-16 16 120 20700")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCursor(text)
		if err != nil {
			return
		}
		again, err := parseCursor(c.String())
		if err != nil || again.String() != c.String() {
			t.Errorf("%q is %q is %q, %v", text, c, again, err)
		}
	})
}

// Mails are done in any order, some late, some never: none is lost, none is
// done that was not, and the cursor stays small.
func TestCursorLosesNothing(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		c := anew(7, 0, 1, time.Time{})
		var pending, done uids
		for uid := uint32(1); uid < 400; uid++ {
			pending = pending.with(uid)
			for len(pending) > 0 && r.IntN(3) > 0 {
				pick := pending[r.IntN(min(len(pending), 5))]
				pending = pending.without(pick)
				lowest := uint32(0)
				if len(pending) > 0 {
					lowest = pending[0]
				}
				c = c.with(pick, lowest)
				done = done.with(pick)
			}
			for _, p := range pending {
				if c.isDone(p) {
					t.Fatalf("%d is lost: %s", p, c)
				}
			}
			for _, d := range done {
				if !c.isDone(d) {
					t.Fatalf("%d is not known: %s", d, c)
				}
			}
		}
		if len(pending) == 0 && len(c.done) > window {
			t.Fatalf("the cursor grows: %s", c)
		}
		if len(c.unfiled) > window {
			t.Fatalf("%d mails are unfiled", len(c.unfiled))
		}
	}
}

func TestUIDs(t *testing.T) {
	t.Parallel()
	var s uids
	for _, uid := range []uint32{5, 3, 4, 3, 9} {
		s = s.with(uid)
	}
	if want := (uids{3, 4, 5, 9}); !slices.Equal(s, want) || s.String() != "3-5,9" {
		t.Errorf("%v, %s", []uint32(s), s)
	}
	if less := s.without(4).without(7); less.String() != "3,5,9" || s.String() != "3-5,9" {
		t.Errorf("%s of %s", less, s)
	}
}
