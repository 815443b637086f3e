package reply

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// shared returns a file of the data that lies outside the project.
func shared(t *testing.T, path ...string) *os.File {
	t.Helper()
	dir := os.Getenv("BECKON_SHARED")
	if dir == "" {
		t.Skip("BECKON_SHARED is not set: no mail samples to read")
	}
	f, err := os.Open(filepath.Join(append([]string{dir}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// What people wrote in the mail samples reads as the samples say.
func TestMailSamples(t *testing.T) {
	t.Parallel()
	var index struct {
		Context struct{ Options []string }
		Samples []struct {
			File   string
			Answer *string
			Choice *string
		}
	}
	if err := json.NewDecoder(shared(t, "data", "email-samples", "index.json")).Decode(&index); err != nil {
		t.Fatal(err)
	}
	var pairs []string
	for _, o := range index.Context.Options {
		pairs = append(pairs, o, o)
	}
	c := selectOf(pairs...)
	read := 0
	for _, s := range index.Samples {
		if s.Answer == nil {
			continue
		}
		read++
		// Sample 63 takes an earlier answer back in a sentence; the mail channel
		// knows that it is late before anything is read.
		got := ""
		r := Read(c, *s.Answer)
		if r.Option > 0 {
			got = c.Options[r.Option-1].Value
		}
		want := ""
		if s.Choice != nil {
			want = *s.Choice
		}
		if got != want {
			t.Errorf("%s: %q reads as %q (%s), want %q", s.File, *s.Answer, got, r.Why, want)
		}
	}
	if read < 30 {
		t.Errorf("only %d samples have text", read)
	}
}

// Prose that people wrote about other things never answers, and as a comment it
// never changes the choice before it.
func TestReplyCorpus(t *testing.T) {
	t.Parallel()
	f := shared(t, "data", "reply-corpus.jsonl")
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	n, clear := 0, 0
	for lines.Scan() {
		var row struct{ ID, Input, Want string }
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		n++
		for _, text := range []string{row.Want, row.Input} {
			for i, c := range cards() {
				if r := Read(c, text); r.Why == "" && i < 5 && text != ":+1:" {
					t.Errorf("%s on card %d reads as %+v", row.ID, i, r)
				}
			}
		}
		r := Read(shipCard(), "Hold for review\n\n"+row.Want)
		switch {
		case r.Option == 2:
			clear++
		case r.Why != WhyHedged && r.Why != WhyAmbiguous:
			t.Errorf("%s as a comment reads as %+v", row.ID, r)
		}
	}
	if err := lines.Err(); err != nil || n < 100 {
		t.Fatalf("read %d rows: %v", n, err)
	}
	// A comment is rarely in doubt: people should not be asked again for nothing.
	if clear < n*95/100 {
		t.Errorf("%d of %d comments are clear", clear, n)
	}
	t.Logf("%d of %d comments are clear", clear, n)
}
