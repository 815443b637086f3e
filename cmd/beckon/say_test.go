package main

import (
	"bytes"
	"errors"
	"testing"
)

// Nothing that is said commands the terminal, whoever it quotes.
func TestSay(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"plain", "beckon: no such message (not_found)", "beckon: no such message (not_found)"},
		{"several lines", "one\n\ttwo", "one\n\ttwo"},
		{"colour", "a\x1b[31mb", "a [31mb"},
		{"title of the window", "\x1b]0;pwn\a", " ]0;pwn "},
		{"one byte that begins a command", "a\u009b2Jb", "a 2Jb"},
		{"back to the start", "evil\rgood", "evil good"},
		{"order of letters", "a\u202eb", "a\uFFFDb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var said, failed bytes.Buffer
			(&shell{err: &said}).say("%s", tt.in)
			fail(&shell{err: &failed}, errors.New(tt.in))
			if said.String() != tt.want+"\n" || failed.String() != "beckon: "+tt.want+"\n" {
				t.Errorf("said %q and %q, want %q", said.String(), failed.String(), tt.want)
			}
		})
	}
}
