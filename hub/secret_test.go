package hub_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
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

func TestSecretEqual(t *testing.T) {
	t.Parallel()
	a, b := hub.NewSecret("a"), hub.NewSecret("b")
	if !a.Equal(hub.NewSecret("a")) || a.Equal(b) || a.Equal(hub.Secret{}) || !(hub.Secret{}).Equal(hub.NewSecret("")) {
		t.Error("Equal is wrong")
	}
}
