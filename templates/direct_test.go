package templates_test

import (
	"strings"
	"testing"
	"time"

	"beckon/hub"
	"beckon/templates"
)

func TestDirect(t *testing.T) {
	t.Parallel()
	const agent = "deploybot/dev-team"
	for name, tt := range map[string]struct {
		o    hub.DirectOutcome
		want string
	}{
		"passed on":   {hub.DirectOutcome{Kind: hub.Accepted, AgentID: agent}, "Passed on to deploybot/dev-team. It gets this when it next looks into its inbox."},
		"empty":       {hub.DirectOutcome{Kind: hub.Unclear, AgentID: agent}, "There is nothing in it to pass on."},
		"too long":    {hub.DirectOutcome{Kind: hub.Unclear, Fields: []hub.FieldError{{Field: "body", Msg: "has 9 bytes, the limit is 8"}}}, "This can't be passed on: body has 9 bytes, the limit is 8."},
		"not allowed": {hub.DirectOutcome{Kind: hub.Refused, Reason: hub.ReasonNotAllowed, AgentID: agent}, "You may not write to deploybot/dev-team; whoever runs the hub can allow it. Nothing was passed on."},
		"full":        {hub.DirectOutcome{Kind: hub.Refused, Reason: hub.ReasonInboxFull, AgentID: agent}, "deploybot/dev-team takes nothing out of its inbox at the moment, and it is full. Try again later. Nothing was passed on."},
		"gone":        {hub.DirectOutcome{Kind: hub.Refused, Reason: hub.ReasonNotFound}, "What this is about is not there (any more). Nothing was passed on."},
	} {
		if got := templates.Direct(&tt.o); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// The pieces say what the sentence says, and nothing before the agent has the
// answer: a copy is updated when it has.
func TestTrackPieces(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		track *hub.Track
		want  []string
	}{
		{nil, nil},
		{&hub.Track{}, nil},
		{&hub.Track{State: hub.TrackDelivered, DeliveredAt: at}, []string{"The agent got it ", "."}},
		{&hub.Track{State: hub.TrackAcked, AckedAt: at}, []string{"The agent has it, and said so ", "."}},
		{&hub.Track{State: hub.TrackAcked, AckedAt: at, AckNote: "on\nit"}, []string{"The agent has it, and said so ", ": “on it”"}},
		{&hub.Track{State: hub.TrackExpired, ExpiredAt: at}, []string{"The agent never picked it up."}},
	} {
		c := &hub.Card{Track: tt.track}
		pieces, sentence := templates.TrackPieces(c), templates.Track(c)
		var texts []string
		for _, p := range pieces {
			if p.Text == "" && !p.At.Equal(at) {
				t.Errorf("%+v: the time is %s", tt.track, p.At)
			} else if p.Text != "" {
				texts = append(texts, p.Text)
			}
		}
		if strings.Join(texts, "|") != strings.Join(tt.want, "|") {
			t.Errorf("%+v: %q, want %q", tt.track, texts, tt.want)
		}
		for _, s := range texts {
			if !strings.Contains(sentence, s) {
				t.Errorf("the sentence %q lacks %q", sentence, s)
			}
		}
	}
}

func TestLastSeen(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	for want, at := range map[string]time.Time{
		"not seen yet": {}, "seen just now": now.Add(-59 * time.Second), "last seen 2 min ago": now.Add(-2 * time.Minute),
	} {
		if got := templates.LastSeen(at, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
