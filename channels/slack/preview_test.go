package slack

import (
	"encoding/json"
	"testing"

	"beckon/channels/slack/fakeslack"
)

func TestPreview(t *testing.T) {
	for name, c := range cards() {
		kind, body, err := Preview(c)
		if err != nil || kind != "application/json" {
			t.Fatalf("%s: %q, %v", name, kind, err)
		}
		var got map[string]json.RawMessage
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, p := range fakeslack.ValidateMessage(body) {
			t.Errorf("%s: %s", name, p)
		}
	}
}
