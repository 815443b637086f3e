package slack

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"beckon/channels/slack/fakeslack"
)

// boltModules is where `npm ci` puts Slack's own types.
const boltModules = "fakeslack/testdata/bolt"

// TestTypes compiles every golden message, modal and Home tab against Slack's
// own types.
func TestTypes(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed; it runs the compiler of Slack's types")
	}
	if _, err := os.Stat(filepath.Join(boltModules, "node_modules")); err != nil {
		t.Skip("run npm ci in " + boltModules + ": node_modules is not there")
	}
	docs := []fakeslack.Typed{{Name: "a wrong one", Type: "KnownBlock[]", JSON: []byte(`[{"type": "header", "text": {"type": "mrkdwn", "text": "no"}}]`)}}
	offsets := 0
	for name, doc := range goldens(t) {
		typ, part := "KnownBlock[]", doc["blocks"]
		switch doc["type"] {
		case "modal":
			typ, part = "ModalView", doc
		case "home":
			typ, part = "HomeView", doc
		}
		offsets += dropOffsets(part)
		docs = append(docs, fakeslack.Typed{Name: name, Type: typ, JSON: marshal(t, part)})
	}
	lines, err := fakeslack.TypeCheck(t.Context(), boltModules, docs)
	if err != nil {
		t.Fatal(err)
	}
	refused := false
	for _, line := range lines {
		if strings.HasPrefix(line, "a wrong one at column") {
			refused = true
			continue
		}
		t.Error(line)
	}
	if !refused {
		t.Error("the compiler took a header with mrkdwn")
	}
	if offsets == 0 {
		t.Error("no golden list goes on from another: dropOffsets is of no use any more")
	}
}

// goldens are the golden files of messages, notes, modals and Home tabs by name.
func goldens(t *testing.T) map[string]map[string]any {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d golden files, %v", len(files), err)
	}
	out := map[string]map[string]any{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var doc map[string]any
		if err := json.Unmarshal(b, &doc); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out[filepath.Base(file)] = doc
	}
	return out
}

// dropOffsets removes "offset" from the lists in v and says from how many.
// Slack documents it, how many numbers an ordered list skips, which a list needs
// that code has interrupted
// (https://docs.slack.dev/reference/block-kit/blocks/rich-text-block), and
// @slack/types 3.2.0 does not know it.
func dropOffsets(v any) int {
	n := 0
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n += dropOffsets(e)
		}
	case map[string]any:
		if _, ok := v["offset"]; ok && v["type"] == "rich_text_list" {
			delete(v, "offset")
			n++
		}
		for _, e := range v {
			n += dropOffsets(e)
		}
	}
	return n
}
