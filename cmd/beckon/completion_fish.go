package main

import (
	"fmt"
	"strings"
)

// fishScript gives each word a line of its own, with the command it follows.
func fishScript(nodes []completed) string {
	var b strings.Builder
	b.WriteString(`# Completion of beckon for fish. Put it where fish looks for such files:
#
#     beckon completion fish > ~/.config/fish/completions/beckon.fish

function __beckon_path --description "The command that the line names so far"
    set -l path
    set -l tokens (commandline -opc)
    for token in $tokens[2..-1]
        set -l longer (string join -- " " $path $token)
        if contains -- $longer`)
	for _, n := range nodes {
		if n.path != "" {
			b.WriteString(" \\\n            " + fishQuote(n.path))
		}
	}
	b.WriteString(`
            set path $longer
        end
    end
    echo $path
end

function __beckon_at
    set -l path (__beckon_path)
    test "$path" = "$argv[1]"
end

complete -c beckon -f
`)
	for _, n := range nodes {
		at := "complete -c beckon -n " + fishQuote("__beckon_at "+fishQuote(n.path))
		b.WriteByte('\n')
		for _, s := range n.subs {
			fmt.Fprintf(&b, "%s -a %s -d %s\n", at, s.name, fishQuote(s.help))
		}
		for _, f := range n.flags {
			fmt.Fprintf(&b, "%s -l %s", at, strings.TrimPrefix(f.name, "--"))
			switch {
			case f.takes != "" && f.file:
				b.WriteString(" -r" + fishValue(f.completedValue))
			case f.takes != "":
				b.WriteString(" -x" + fishValue(f.completedValue)) // no files
			}
			fmt.Fprintf(&b, " -d %s\n", fishQuote(f.help))
		}
		if v := fishValue(n.args); v != "" {
			b.WriteString(at + v + "\n")
		}
	}
	return b.String()
}

func fishValue(v completedValue) string {
	switch {
	case v.words != nil:
		return " -a " + fishQuote(strings.Join(v.words, " "))
	case v.file:
		return " -F"
	case v.dir:
		return " -a " + fishQuote("(__fish_complete_directories)")
	}
	return ""
}

func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}
