package main

import (
	"fmt"
	"strings"
)

// bashScript works with bash 3.2 and later, and needs no bash-completion.
func bashScript(nodes []completed) string {
	var b strings.Builder
	b.WriteString(`# Completion of beckon for bash. Load it in ~/.bashrc:
#
#     source <(beckon completion bash)

_beckon() {
	local cur=${COMP_WORDS[COMP_CWORD]} path='' flag='' word i
	COMPREPLY=()
	# Which command the line names so far, and which flag waits for its value.
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [[ -n $flag ]]; then
			[[ $word == = ]] || flag=''
			continue
		fi
		case "$path $word" in
`)
	var commands, takes []string
	for _, n := range nodes {
		for _, s := range n.subs {
			commands = append(commands, shellQuote(n.path+" "+s.name))
		}
		for _, f := range n.flags {
			if f.takes != "" {
				takes = append(takes, shellQuote(n.path+" "+f.name))
			}
		}
	}
	fmt.Fprintf(&b, "\t\t%s)\n\t\t\tpath=\"${path:+$path }$word\" ;;\n", strings.Join(commands, " | \\\n\t\t"))
	fmt.Fprintf(&b, "\t\t%s)\n\t\t\tflag=$word ;;\n", strings.Join(takes, " | \\\n\t\t"))
	b.WriteString(`		esac
	done
	[[ $cur == = ]] && cur=''
	if [[ -n $flag ]]; then
		case "$path $flag" in
`)
	for _, n := range nodes {
		for _, f := range n.flags {
			if line := bashValue(f.completedValue); line != "" {
				fmt.Fprintf(&b, "\t\t%s) %s ;;\n", shellQuote(n.path+" "+f.name), line)
			}
		}
	}
	b.WriteString(`		esac
		return
	fi
	case "$path" in
`)
	for _, n := range nodes {
		var flags []string
		for _, f := range n.flags {
			flags = append(flags, f.name)
		}
		rest := strings.Join(append(wordNames(n.subs), n.args.words...), " ")
		fmt.Fprintf(&b, "\t%s)\n\t\tif [[ $cur == -* ]]; then\n\t\t\t_beckon_words %s\n", shellQuote(n.path), shellQuote(strings.Join(flags, " ")))
		if rest != "" {
			fmt.Fprintf(&b, "\t\telse\n\t\t\t_beckon_words %s\n", shellQuote(rest))
		} else if line := bashValue(n.args); line != "" {
			fmt.Fprintf(&b, "\t\telse\n\t\t\t%s\n", line)
		}
		b.WriteString("\t\tfi ;;\n")
	}
	b.WriteString(`	esac
}

_beckon_words() {
	local IFS=$' \t\n'
	COMPREPLY=($(compgen -W "$1" -- "$cur"))
}

_beckon_files() {
	local IFS=$'\n'
	compopt -o filenames 2>/dev/null
	COMPREPLY=($(compgen "$1" -- "$cur"))
}

complete -F _beckon beckon
`)
	return b.String()
}

func bashValue(v completedValue) string {
	switch {
	case v.words != nil:
		return "_beckon_words " + shellQuote(strings.Join(v.words, " "))
	case v.file:
		return "_beckon_files -f"
	case v.dir:
		return "_beckon_files -d"
	}
	return ""
}
