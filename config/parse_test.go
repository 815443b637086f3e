package config_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"beckon/config"
)

// Bytes that a golden file can't hold.
func TestBytes(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"CRLF", "listen: 127.0.0.1:8420\r\nroutes:\r\n  - {}\r\n", ""},
		{"CRLF and an error", "listen: 127.0.0.1:8420\r\nroutes:\r\n  - {askk: x}\r\n", `beckon.yaml:3:6: routes[0].askk: unknown key (did you mean "ask"?)`},
		{"BOM", "\ufefflisten: 127.0.0.1:8420\nroutes: [{}]\n", ""},
		{"BOM and an error", "\ufefflissen: x\nroutes: [{}]\n", `beckon.yaml:1:1: lissen: unknown key (did you mean "listen"?)`},
		{"letters before an error count as one", "people: {é: {}, 人: {x: 1}}\nroutes: [{}]\n", "beckon.yaml:1:10: people[\"\\u00e9\"]: a name must be of a-z, 0-9, dot, _ and -, at most 64\n" +
			"beckon.yaml:1:17: people[\"\\u4eba\"]: a name must be of a-z, 0-9, dot, _ and -, at most 64\n" +
			"beckon.yaml:1:21: people[\"\\u4eba\"].x: unknown key"},
		{"no UTF-8", "listen: 127.0.0.1:8420\npublic_url: é\xff\n", "beckon.yaml:2:14: is not UTF-8 text"},
		{"UTF-16", "\xff\xfel\x00i\x00", "beckon.yaml:1:1: is not UTF-8 text"},
		{"NUL", "listen: \x00\n", "beckon.yaml:1:9: has a control character"},
		{"escape", "listen: \x1b[31m\n", "beckon.yaml:1:9: has a control character"},
		{"nothing", "", "beckon.yaml: is empty; examples/ has files to begin with"},
		{"white space", " \n\n", "beckon.yaml: is empty; examples/ has files to begin with"},
		{"too large", strings.Repeat("# x\n", config.MaxBytes/4) + "#", "beckon.yaml: is larger than 1048576 bytes"},
		{"deep", "a: " + strings.Repeat("[", 60) + strings.Repeat("]", 60), "nests deeper than 50"},
		{"very deep", "a: " + strings.Repeat("[", 100_000), "beckon.yaml:"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := load("beckon.yaml", tt.text)
			switch {
			case tt.want == "" && err != nil:
				t.Fatal(err)
			case tt.want != "" && err == nil:
				t.Fatalf("no error, want %s", tt.want)
			case err != nil && !strings.Contains(err.Error(), tt.want):
				t.Errorf("got  %s\nwant %s", err, tt.want)
			}
		})
	}
}

// A file with more errors than anybody reads must not take long either.
func TestManyErrors(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("routes: [{}]\npeople:\n")
	for i := range 20_000 {
		fmt.Fprintf(&b, "  P%d: {emial: x}\n", i)
	}
	begin := time.Now()
	_, _, err := load("beckon.yaml", b.String())
	if err == nil || strings.Count(err.Error(), "\n") != 200 || !strings.HasSuffix(err.Error(), "beckon.yaml: there are more errors; mend these first") {
		t.Errorf("%d lines", strings.Count(fmt.Sprint(err), "\n")+1)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
}

// Files that would take long, or much memory, if everything was compared with
// everything, or written out.
func TestLargeFiles(t *testing.T) {
	t.Parallel()
	repeat := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	tests := []struct{ name, text, want string }{
		{"many routes", "people: {alice: {}}\nroutes:\n" + repeat(8_000, "  - {match: {project: p%d}, ask: alice}\n") + "  - {}\n", ""},
		{"a large team", "people:\n" + repeat(8_000, "  p%d:\n") + "teams:\n  all: [" + repeat(8_000, "p%d, ") + "]\nroutes: [{ask: all}]\n", ""},
		{
			"a large team on many routes", "people:\n" + repeat(4_000, "  p%d:\n") + "teams:\n  all: [" + repeat(4_000, "p%d, ") + "]\nroutes:\n" +
				repeat(4_000, "  - {name: r%d, match: {type: ask}, ask: all, post: [{web: all}]}\n") + "  - {}\n",
			"routes name more than 100000 people in all",
		},
		{"many unknown names", "people:\n" + repeat(8_000, "  person%d:\n") + "teams:\n  all: [" + repeat(8_000, "persom%d, ") + "]\nroutes: [{}]\n", "did you mean"},
		{"many agents and patterns", "agents:\n" + repeat(2_000, "  a%d: {token_sha256: \"%064[1]d\"}\n") + "routes:\n" + repeat(2_000, "  - match: {agent: b%d*}\n") + "  - {}\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			begin := time.Now()
			_, _, err := load("beckon.yaml", tt.text)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%.500s, want %q", fmt.Sprint(err), tt.want)
			}
			if took := time.Since(begin); took > 30*time.Second {
				t.Errorf("took %s", took)
			} else {
				t.Logf("%d bytes took %s", len(tt.text), took)
			}
		})
	}
}

// No text makes Parse panic, tell a secret, or accept a file that has no
// catch-all route.
func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte("routes: [{}]"))
	f.Add([]byte("a: &a [*a]\n? [x]\n: y\n<<: {}\n"))
	f.Add([]byte("agents:\n  bot: {token: hunter2, token_sha256: [1, x]}\nroutes:\n- match: {agent: [a, '[']}\n- {}"))
	position := regexp.MustCompile(`^fuzz\.yaml(:[1-9][0-9]*:[1-9][0-9]*)?: `)
	f.Fuzz(func(t *testing.T, data []byte) {
		c, _, err := load("fuzz.yaml", string(data))
		if err == nil {
			if n := len(c.Directory.Routes); n == 0 || c.Directory.Routes[n-1].Match != nil {
				t.Fatal("accepted without a last route for everything")
			}
			return
		}
		if !config.IsErrors(err) {
			t.Fatalf("the error is a %T", err)
		}
		for _, line := range strings.Split(err.Error(), "\n") {
			if !position.MatchString(line) && !strings.Contains(err.Error(), "regexp") {
				t.Errorf("no position: %q", line)
			}
		}
	})
}
