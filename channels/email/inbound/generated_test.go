package inbound

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// rounds is BECKON_ROUNDS, or n.
func rounds(t *testing.T, n int) int {
	t.Helper()
	s := os.Getenv("BECKON_ROUNDS")
	if s == "" {
		return n
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("BECKON_ROUNDS is %q", s)
	}
	return n
}

// Replies as clients make them: never a wrong answer, and nearly all that plainly
// name a choice are recorded.
func TestGeneratedReplies(t *testing.T) {
	t.Parallel()
	const seed, least = 20261130, 0.97
	n := rounds(t, 5000)
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 0))}
	plain, recorded, wrong := 0, 0, 0
	for range n {
		g := m.reply()
		w := newWorld()
		for _, q := range w.questions() {
			q.Card, q.Sent = g.card, []string{g.sent}
		}
		v, err := hubReader(Normal).Judge(t.Context(), Parse(g.raw), Envelope{}, w)
		if err != nil {
			t.Fatal(err)
		}
		if g.plain {
			plain++
		}
		switch {
		case v.Records() && (v.Reading.Option != g.want || !g.plain):
			wrong++
			t.Errorf("%s: recorded %d, want %d; text %q\n%s", g.what, v.Reading.Option, g.want, v.Text, g.raw)
		case v.Records():
			recorded++
		case g.plain:
			t.Logf("%s: not recorded: %s, %s, %q; %q", g.what, v.Kind, v.Reading.Why, v.Text, v.Reasons)
		}
	}
	share := float64(recorded) / float64(plain)
	t.Logf("%d replies: %d resolved wrongly; of %d that plainly name a choice %d recorded, %.2f %%", n, wrong, plain, recorded, 100*share)
	if share < least {
		t.Errorf("%.2f %% of the plain answers are recorded, want %.0f %%", 100*share, 100*least)
	}
}
