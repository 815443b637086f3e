package inbound_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"beckon/channels/email/inbound"
)

// index is the answer to a set of mails: what each is, from whom, and what it
// chooses.
type index struct {
	Kinds   []inbound.Kind
	Samples []struct {
		File   string
		Kind   inbound.Kind
		Who    *string
		Choice *string
		Why    string
	}
}

// Every sample is right in kind, person and choice.
func TestSamples(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("BECKON_SHARED")
	if shared == "" {
		t.Skip("BECKON_SHARED does not name the folder of shared data")
	}
	dir := filepath.Join(shared, "data", "email-samples")
	data, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want index
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	c, err := inbound.ReadContext(data)
	if err != nil {
		t.Fatal(err)
	}
	e := inbound.NewExplainer(c)
	right := 0
	for _, s := range want.Samples {
		raw, err := os.ReadFile(filepath.Join(dir, s.File))
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.Explain(t.Context(), raw)
		if err != nil {
			t.Fatal(err)
		}
		if got.Kind != s.Kind || word(got.Who) != word(s.Who) || word(got.Choice) != word(s.Choice) {
			t.Errorf("%s (%s):\n got %s, %s, %s: %q\nwant %s, %s, %s\nreasons: %q", s.File, s.Why, got.Kind, word(got.Who), word(got.Choice), got.Text, s.Kind, word(s.Who), word(s.Choice), got.Reasons)
			continue
		}
		right++
	}
	t.Logf("%d of %d samples are right in kind, person and choice", right, len(want.Samples))
}

func word(s *string) string {
	if s == nil {
		return "nobody or nothing"
	}
	return *s
}
