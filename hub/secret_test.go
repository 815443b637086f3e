package hub_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	json2 "github.com/go-json-experiment/json"

	"beckon/hub"
)

func TestSecretIsNeverPrinted(t *testing.T) {
	t.Parallel()
	const value = "correct horse battery staple"
	s := hub.NewSecret(value)
	type config struct {
		Token  hub.Secret
		hidden hub.Secret
		Many   []hub.Secret
	}
	c := config{s, s, []hub.Secret{s}}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t"} {
		for _, v := range []any{s, &s, c, &c, []any{c}, map[string]any{"c": c}} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
	}
	for _, v := range []any{s, &s, c, map[string]hub.Secret{"x": s}} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(b)
		if b, err = json2.Marshal(v); err != nil {
			t.Fatal(err)
		}
		out.Write(b)
	}
	log := slog.New(slog.NewTextHandler(&out, nil))
	log.Info("x", "secret", s, "config", c)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "secret", s, "config", c)

	for _, leak := range []string{value, fmt.Sprintf("%x", value), fmt.Sprintf("%X", value)} {
		if strings.Contains(out.String(), leak) {
			t.Errorf("the secret is in the output:\n%s", out.String())
		}
	}
	if s.Reveal() != value || c.hidden.Reveal() != value {
		t.Error("Reveal does not return the secret")
	}
}

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
			s, err := hub.ReadSecret(tt.ref, env)
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

func TestSecretEqual(t *testing.T) {
	t.Parallel()
	a, b := hub.NewSecret("a"), hub.NewSecret("b")
	if !a.Equal(hub.NewSecret("a")) || a.Equal(b) || a.Equal(hub.Secret{}) || !(hub.Secret{}).Equal(hub.NewSecret("")) {
		t.Error("Equal is wrong")
	}
}

func TestSecretUnmarshalText(t *testing.T) {
	t.Setenv("BECKON_TEST_SECRET", "s3cr3t")
	var c struct{ Token hub.Secret }
	if err := json.Unmarshal([]byte(`{"Token":"env:BECKON_TEST_SECRET"}`), &c); err != nil || c.Token.Reveal() != "s3cr3t" {
		t.Errorf("%q, %v", c.Token.Reveal(), err)
	}
	if err := json.Unmarshal([]byte(`{"Token":"s3cr3t"}`), &c); err == nil || strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("err = %v", err)
	}
}
