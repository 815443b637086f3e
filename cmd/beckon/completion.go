package main

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// completionCmd prints a script that makes a shell complete commands, flags and
// those of their values that are known.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (c *completionCmd) Run(sh *shell, k *kong.Kong) error {
	nodes := completions(k.Model.Node, "")
	write := map[string]func([]completed) string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}[c.Shell]
	return sh.print(strings.TrimSuffix(write(nodes), "\n"))
}

// completed is what can follow a command.
type completed struct {
	path  string // "messages show"; "" is beckon itself
	subs  []completedWord
	flags []completedFlag
	args  completedValue
}

// completedWord is a word and what it means.
type completedWord struct{ name, help string }

// completedValue is what is known of a value.
type completedValue struct {
	words     []string
	file, dir bool
}

type completedFlag struct {
	completedWord
	takes string // what the value is called; "" for a flag without one
	many  bool   // it may be repeated
	completedValue
}

// completions walks the commands from n down, in the order of the help.
func completions(n *kong.Node, path string) []completed {
	c := completed{path: path}
	c.own(n)
	if n.DefaultCmd != nil {
		c.own(n.DefaultCmd) // its flags may follow n itself
	}
	for p := n.Parent; p != nil; p = p.Parent {
		c.addFlags(p.Flags)
	}
	out := []completed{c}
	for _, child := range n.Children {
		if child.Hidden {
			continue
		}
		out[0].subs = append(out[0].subs, completedWord{child.Name, child.Help})
		out = append(out, completions(child, strings.TrimSpace(path+" "+child.Name))...)
	}
	return out
}

func (c *completed) own(n *kong.Node) {
	c.addFlags(n.Flags)
	for _, p := range n.Positional {
		v := valueOf(p, p.Tag.PlaceHolder+" "+p.Name)
		c.args.words = append(c.args.words, v.words...)
		c.args.file, c.args.dir = c.args.file || v.file, c.args.dir || v.dir
	}
}

func (c *completed) addFlags(flags []*kong.Flag) {
	for _, f := range flags {
		if f.Hidden || slices.ContainsFunc(c.flags, func(x completedFlag) bool { return x.name == "--"+f.Name }) {
			continue
		}
		x := completedFlag{completedWord: completedWord{"--" + f.Name, f.Help}, many: f.IsCumulative()}
		if !f.IsBool() {
			x.takes = f.FormatPlaceHolder()
			x.completedValue = valueOf(f.Value, f.PlaceHolder)
		}
		c.flags = append(c.flags, x)
	}
}

// valueOf is what a value may be: its enum, the words of its tag "complete", or
// a file or a folder, if that is what it is called.
func valueOf(v *kong.Value, name string) completedValue {
	name = strings.ToUpper(name)
	out := completedValue{file: strings.Contains(name, "FILE"), dir: strings.Contains(name, "DIR")}
	switch {
	case v.Enum != "":
		out.words = v.EnumSlice()
	case v.Tag.Get("complete") != "":
		out.words = strings.Split(v.Tag.Get("complete"), ",")
	}
	return out
}

// shellQuote quotes for a POSIX shell and zsh.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func wordNames(words []completedWord) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.name
	}
	return out
}
