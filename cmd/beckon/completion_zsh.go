package main

import (
	"fmt"
	"strings"
)

// zshScript gives each command a function, so that _arguments does the rest.
func zshScript(nodes []completed) string {
	var b strings.Builder
	b.WriteString(`#compdef beckon
# Completion of beckon for zsh. Put it where zsh looks for such files:
#
#     beckon completion zsh > "${fpath[1]}/_beckon"
#
# or load it in ~/.zshrc, after compinit:
#
#     source <(beckon completion zsh)

`)
	for _, n := range nodes {
		fmt.Fprintf(&b, "%s() {\n", zshFunction(n.path))
		specs := zshFlags(n.flags)
		if n.subs == nil {
			if action := zshAction(n.args); action != "" {
				specs = append(specs, shellQuote("*: :"+action))
			}
			fmt.Fprintf(&b, "\t_arguments \\\n\t\t%s\n}\n\n", strings.Join(specs, " \\\n\t\t"))
			continue
		}
		specs = append(specs, shellQuote("1: :->command"), shellQuote("*:: :->rest"))
		fmt.Fprintf(&b, "\tlocal curcontext=$curcontext state line\n\ttypeset -A opt_args\n\t_arguments -C \\\n\t\t%s\n", strings.Join(specs, " \\\n\t\t"))
		b.WriteString("\tcase $state in\n\tcommand)\n\t\tlocal -a commands\n\t\tcommands=(\n")
		for _, s := range n.subs {
			fmt.Fprintf(&b, "\t\t\t%s\n", shellQuote(s.name+":"+s.help))
		}
		b.WriteString("\t\t)\n\t\t_describe command commands ;;\n\trest)\n\t\tcase $words[1] in\n")
		for _, s := range n.subs {
			fmt.Fprintf(&b, "\t\t%s) %s ;;\n", s.name, zshFunction(strings.TrimSpace(n.path+" "+s.name)))
		}
		b.WriteString("\t\tesac ;;\n\tesac\n}\n\n")
	}
	b.WriteString(`if [[ $funcstack[1] == _beckon ]]; then
	_beckon "$@"
else
	compdef _beckon beckon
fi
`)
	return b.String()
}

func zshFunction(path string) string {
	if path == "" {
		return "_beckon"
	}
	return "_beckon_" + strings.ReplaceAll(path, " ", "_")
}

func zshFlags(flags []completedFlag) (specs []string) {
	help := strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, ":", `\:`)
	for _, f := range flags {
		spec := f.name
		if f.many {
			spec = "*" + spec
		}
		if f.takes != "" {
			spec += "="
		}
		spec += "[" + help.Replace(f.help) + "]"
		if f.takes != "" {
			spec += ":" + help.Replace(f.takes) + ":" + zshAction(f.completedValue)
		}
		specs = append(specs, shellQuote(spec))
	}
	return specs
}

func zshAction(v completedValue) string {
	switch {
	case v.words != nil:
		return "(" + strings.Join(v.words, " ") + ")"
	case v.file:
		return "_files"
	case v.dir:
		return "_files -/"
	}
	return ""
}
