package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

var update = flag.Bool("update", false, "write the golden files")

// TestCompletionScripts holds the scripts of all shells, for a small command
// line with everything that there can be.
func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	var cmds struct {
		Colour string `name:"color" enum:"auto,always,never" default:"auto" help:"Use colour: when?"`
		Do     struct {
			What   string   `arg:"" enum:"this,that" help:"What."`
			File   string   `placeholder:"FILE" help:"It's a [file]."`
			Dir    string   `placeholder:"DIR" help:"A folder."`
			Word   string   `complete:"x,y" help:"A word."`
			Many   []string `help:"Again and again."`
			Secret string   `hidden:"" help:"Not shown."`
			On     bool     `help:"On."`
		} `cmd:"" help:"Do \"it\"."`
		List struct {
			All struct {
				Long bool `help:"All of it."`
			} `cmd:"" default:"withargs" help:"List all."`
			One struct {
				Name string `arg:"" placeholder:"FILE"`
			} `cmd:"" help:"List one."`
		} `cmd:"" help:"List."`
		Ghost struct{} `cmd:"" hidden:"" help:"Not shown."`
	}
	k, err := kong.New(&cmds, kong.Name("beckon"))
	if err != nil {
		t.Fatal(err)
	}
	nodes := completions(k.Model.Node, "")
	for shell, write := range map[string]func([]completed) string{"bash": bashScript, "zsh": zshScript, "fish": fishScript} {
		golden(t, filepath.Join("testdata", "completion", shell), write(nodes))
	}
}

// golden compares a text with a file, or writes the file.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is another (-update writes it):\n%s", file, got)
	}
}

// TestEveryCommandHasExamples holds that the help of every command shows how it
// is called, by a line that the command line takes.
func TestEveryCommandHasExamples(t *testing.T) {
	t.Parallel()
	k, err := kong.New(&commands{}, kong.Name("beckon"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range k.Model.Leaves(true) {
		where := n
		if n.Parent != nil && n.Parent.DefaultCmd == n {
			where = n.Parent
		}
		_, examples, ok := strings.Cut(where.Detail, "Examples:\n")
		if !ok || !strings.Contains(examples, "beckon "+where.Path()) {
			t.Errorf("beckon %s --help has no example", n.Path())
		}
		for line := range strings.Lines(examples) {
			if line = strings.TrimSpace(line); line != "" {
				takes(t, line)
			}
		}
	}
}

// takes fails unless the command line can read what a shell makes of an example.
func takes(t *testing.T, example string) {
	t.Helper()
	line, _, _ := strings.Cut(example, " > ") // nothing is written here
	c := exec.Command("bash", "-c", `exec 3>&1 >/dev/null 2>&1 </dev/null; beckon() { printf '%s\n' "$@" >&3; }; `+line)
	c.Dir = t.TempDir()
	out, err := c.Output()
	if len(out) == 0 {
		t.Errorf("%s: the shell calls nothing, %v", example, err)
		return
	}
	k, err := kong.New(&commands{}, kong.Name("beckon"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Parse(strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")); err != nil {
		t.Errorf("%s: %v", example, err)
	}
}
