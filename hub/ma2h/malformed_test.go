package ma2h_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"beckon/hub/ma2h"
)

// malformed is one case of testdata/malformed.json, which the HTTP API's tests
// read too. Envelope is the text as sent, or Base64 where that is no text.
type malformed struct {
	Name     string    `json:"name"`
	Envelope string    `json:"envelope"`
	Base64   string    `json:"base64"`
	Code     ma2h.Code `json:"code"`
	Field    string    `json:"field"`
}

func (m malformed) bytes(t *testing.T) []byte {
	t.Helper()
	if m.Base64 == "" {
		return []byte(m.Envelope)
	}
	raw, err := base64.StdEncoding.DecodeString(m.Base64)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func readMalformed(t *testing.T) (cases []malformed) {
	t.Helper()
	raw, err := os.ReadFile("testdata/malformed.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// judge is what a hub does to an envelope as far as this package goes.
func judge(raw []byte) (*ma2h.Envelope, error) {
	e, err := ma2h.Parse(raw)
	if err != nil {
		return nil, err
	}
	return e, e.Validate()
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	cases := readMalformed(t)
	if len(cases) < 80 {
		t.Fatalf("only %d cases", len(cases))
	}
	names := make(map[string]bool)
	for _, m := range cases {
		if names[m.Name] {
			t.Errorf("two cases named %q", m.Name)
		}
		names[m.Name] = true
		t.Run(m.Name, func(t *testing.T) {
			_, err := judge(m.bytes(t))
			e, ok := errors.AsType[*ma2h.Error](err)
			if !ok {
				t.Fatalf("got %v, want a %s of %q", err, m.Code, m.Field)
			}
			if e.Code != m.Code || e.Field != m.Field {
				t.Errorf("got %s of %q (%v), want %s of %q", e.Code, e.Field, e, m.Code, m.Field)
			}
			if !strings.HasPrefix(e.Error(), m.Field) || e.Msg == "" {
				t.Errorf("message %q does not name %q", e, m.Field)
			}
		})
	}
	t.Logf("%d malformed envelopes", len(cases))
}
