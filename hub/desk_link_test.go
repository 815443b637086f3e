package hub_test

import (
	"testing"
	"time"

	"beckon/hub"
)

// TestPersonalLink: a channel gets a link for people of the directory only, and
// none where nothing takes it.
func TestPersonalLink(t *testing.T) {
	t.Parallel()
	d := &hub.Directory{People: map[string]*hub.Person{"alice": {ID: "alice"}}}
	var expires time.Time
	h := hub.New(hub.Options{Link: func(person, messageID string, at time.Time) string {
		expires = at
		return person + "/" + messageID
	}}, d)
	if got := h.Desk("slack").PersonalLink("alice", "msg_1", time.Hour); got != "alice/msg_1" {
		t.Errorf("got %q", got)
	}
	if left := time.Until(expires); left > time.Hour || left < 59*time.Minute {
		t.Errorf("it expires in %v", left)
	}
	if got := h.Desk("slack").PersonalLink("mallory", "msg_1", time.Hour); got != "" {
		t.Errorf("somebody unknown got %q", got)
	}
	if got := hub.New(hub.Options{}, d).Desk("slack").PersonalLink("alice", "", time.Hour); got != "" {
		t.Errorf("without a page: %q", got)
	}
}
