package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadSecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return "file:" + path
	}
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"SET": "s3cr3t", "SPACES": " s3cr3t\n", "EMPTY": ""}[name]
		return v, ok
	}
	tests := []struct{ name, ref, want, err string }{
		{"environment", "env:SET", "s3cr3t", ""},
		{"environment, trimmed", "env:SPACES", "s3cr3t", ""},
		{"file", file("a", "s3cr3t\r\n"), "s3cr3t", ""},
		{"empty variable", "env:EMPTY", "", "env:EMPTY is empty"},
		{"no variable", "env:NONE", "", "environment variable NONE is not set"},
		{"no name", "env:", "", "must be env:NAME or file:/path"},
		{"empty file", file("b", " \n"), "", "is empty"},
		{"large file", file("c", strings.Repeat("x", 64<<10+1)), "", "more than 65536 bytes"},
		{"folder", "file:" + dir, "", "is a directory"},
		{"no file", "file:" + dir + "/none", "", "no such file"},
		{"relative", "file:key", "", "takes an absolute path"},
		{"literal", "s3cr3t", "", "must be env:NAME or file:/path, not the secret itself"},
		{"literal that looks like a reference", "ENV:s3cr3t", "", "not the secret itself"},
		{"nothing", "", "", "must be env:NAME"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := readSecret(tt.ref, env)
			switch {
			case tt.err == "" && err != nil:
				t.Fatal(err)
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Fatalf("err = %v, want %s", err, tt.err)
			case err != nil && strings.Contains(err.Error(), "s3cr3t"):
				t.Errorf("the secret is in the error: %v", err)
			}
			if s.Reveal() != tt.want || s.IsZero() != (tt.want == "") {
				t.Errorf("secret is %q", s.Reveal())
			}
		})
	}
}
