package extract

import (
	"bufio"
	"encoding/json"
	"html"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shared returns a file of the data that lies outside the project.
func shared(t *testing.T, path ...string) *os.File {
	t.Helper()
	dir := os.Getenv("BECKON_SHARED")
	if dir == "" {
		t.Skip("BECKON_SHARED is not set: no replies to read")
	}
	f, err := os.Open(filepath.Join(append([]string{dir}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

type corpusRow struct {
	ID, Src, Format, Input, Want, Signature string
}

func corpus(t *testing.T) []corpusRow {
	t.Helper()
	lines := bufio.NewScanner(shared(t, "data", "reply-corpus.jsonl"))
	lines.Buffer(nil, 4<<20)
	var rows []corpusRow
	for lines.Scan() {
		var row corpusRow
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	if err := lines.Err(); err != nil || len(rows) < 150 {
		t.Fatalf("read %d rows: %v", len(rows), err)
	}
	return rows
}

func (row corpusRow) read() Result {
	if row.Format == "html" {
		return HTML(row.Input)
	}
	return Text(row.Input)
}

var tagRE = regexp.MustCompile(`<[^>]*>`)

// folded brings text into the form in which the corpus is compared: white space
// as single spaces; for HTML, whose wanted text is HTML too or has no spaces at
// all, without any, without tags and without quote marks.
func (row corpusRow) folded(s string) string {
	if row.Format != "html" || strings.HasPrefix(row.ID, "talon/htmlfix") {
		return strings.Join(strings.Fields(s), " ")
	}
	s = tagRE.ReplaceAllString(s, "")
	s = strings.ReplaceAll(html.UnescapeString(s), ">", "")
	return strings.Join(strings.Fields(s), "")
}

func (row corpusRow) wanted() string {
	if row.Format == "html" {
		return strings.TrimSpace(tagRE.ReplaceAllString(row.Want, "\n"))
	}
	return strings.TrimSpace(row.Want)
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(s)
}

// What other projects hold to be the text of a reply. They differ on purpose
// about signatures, so not all can be met.
func TestCorpus(t *testing.T) {
	t.Parallel()
	type tally struct{ rows, exact, first, empty int }
	by := make(map[string]*tally)
	var all tally
	for _, row := range corpus(t) {
		repo, _, _ := strings.Cut(row.Src, ":")
		if by[repo] == nil {
			by[repo] = new(tally)
		}
		r := row.read()
		got, want := row.folded(r.Text), row.folded(row.wanted())
		exact := got == want
		first := row.folded(firstLine(r.Text)) == row.folded(firstLine(row.wanted())) || row.Format == "html" && exact
		for _, n := range []*tally{by[repo], &all} {
			n.rows++
			if exact {
				n.exact++
			}
			if first {
				n.first++
			}
			if got == "" && want != "" {
				n.empty++
			}
		}
		if !exact || !first {
			t.Logf("%s: exact %v, first line %v, cut %q", row.ID, exact, first, r.Cut)
		}
	}
	for _, repo := range slices.Sorted(maps.Keys(by)) {
		n := by[repo]
		t.Logf("%-36s %3d rows, exact %3d, first line %3d, empty %d", repo, n.rows, n.exact, n.first, n.empty)
	}
	t.Logf("all: %d rows, exact %.1f %%, first line %.1f %%, empty %d", all.rows, percent(all.exact, all.rows), percent(all.first, all.rows), all.empty)
	// The issue asks for 85 % and 99 %.
	if percent(all.exact, all.rows) < 97 || percent(all.first, all.rows) < 99 || all.empty > 0 {
		t.Error("fewer replies are read right than were")
	}
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(of) }
