package client_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"beckon/hub/client"
	"beckon/hub/ma2h"
)

var (
	oldSecret = []byte("old secret of deploybot")
	newSecret = []byte("new secret of deploybot")
)

func stateKeys(secrets ...[]byte) client.StateKeys {
	return client.StateKeys{Secrets: secrets, AgentID: deploybot}
}

func seal(t *testing.T, k client.StateKeys, ref, text string) []byte {
	t.Helper()
	state, err := client.SealState(k, ref, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func TestState(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{}", `{"step":3,"branch":"release/2.3"}`, strings.Repeat("\x00<>&\u2028", 1000)} {
		state := seal(t, stateKeys(newSecret), "job-7", text)
		if strings.Contains(string(state), "branch") {
			t.Errorf("readable: %s", state)
		}
		// It is what an envelope's state may be, and comes back as it is.
		if e, err := ma2h.Parse([]byte(strings.Replace(string(ask("k")), `{"a<b":1}`, string(state), 1))); err != nil || !bytes.Equal(e.State, state) {
			t.Errorf("an envelope does not take it: %v", err)
		}
		ref, got, err := client.OpenState(stateKeys(newSecret), state)
		if err != nil || ref != "job-7" || string(got) != text {
			t.Errorf("%q, %q, %v", ref, got, err)
		}
	}
	if bytes.Equal(seal(t, stateKeys(newSecret), "", "x"), seal(t, stateKeys(newSecret), "", "x")) {
		t.Error("the same text looks the same twice")
	}
}

// TestStateRotates: the first secret seals, and all open.
func TestStateRotates(t *testing.T) {
	t.Parallel()
	before := seal(t, stateKeys(oldSecret), "", "x")
	after := seal(t, stateKeys(newSecret, oldSecret), "", "x")
	tests := []struct {
		name  string
		keys  client.StateKeys
		state []byte
		ok    bool
	}{
		{"sealed before, both", stateKeys(newSecret, oldSecret), before, true},
		{"sealed after, both", stateKeys(newSecret, oldSecret), after, true},
		{"sealed after, new alone", stateKeys(newSecret), after, true},
		{"sealed before, new alone", stateKeys(newSecret), before, false},
		{"sealed after, old alone", stateKeys(oldSecret), after, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, got, err := client.OpenState(tt.keys, tt.state)
			if tt.ok && (err != nil || string(got) != "x") || !tt.ok && (!errors.Is(err, client.ErrState) || got != nil) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// TestStateIsBound: whatever of it is changed, and whoever else opens it, it is
// refused, and nothing of it is handed out.
func TestStateIsBound(t *testing.T) {
	t.Parallel()
	state := seal(t, stateKeys(newSecret), "job-7", "deploy")
	refused := func(what string, k client.StateKeys, state []byte) {
		t.Helper()
		if ref, got, err := client.OpenState(k, state); !errors.Is(err, client.ErrState) || ref != "" || got != nil {
			t.Errorf("%s: %q, %q, %v", what, ref, got, err)
		}
	}
	for i := range state {
		for _, with := range []byte{state[i] ^ 1, state[i] ^ 0x20, 'A', '\n'} {
			if with != state[i] {
				changed := bytes.Clone(state)
				changed[i] = with
				refused("byte "+string(state[:i])+"…", stateKeys(newSecret), changed)
			}
		}
		refused("cut", stateKeys(newSecret), state[:i])
	}
	change := func(old, with string) []byte {
		t.Helper()
		if !strings.Contains(string(state), old) {
			t.Fatalf("no %s in %s", old, state)
		}
		return []byte(strings.Replace(string(state), old, with, 1))
	}
	refused("another job", stateKeys(newSecret), change("job-7", "job-8"))
	refused("no job", stateKeys(newSecret), change(`,"client_ref":"job-7"`, ""))
	refused("more beside it", stateKeys(newSecret), change(`{`, `{"step":1,`))
	refused("another form", stateKeys(newSecret), change("beckon1.", "beckon2."))
	refused("padded", stateKeys(newSecret), change(`","client`, `=","client`))
	refused("a line break in it", stateKeys(newSecret), change("beckon1.", `beckon1.\n`))
	refused("twice", stateKeys(newSecret), change(`{`, `{"sealed":"beckon1.AAAA",`))
	for _, other := range []string{"deploybot", "deploybot/dev-team2", "Deploybot/dev-team"} {
		refused(other, client.StateKeys{Secrets: [][]byte{newSecret}, AgentID: other}, state)
	}
	for _, none := range []string{"", "null", "{}", `"x"`, `{"sealed":1}`, `{"sealed":""}`, `{"sealed":"beckon1."}`, `{"sealed":"v1.demo.MOCK"}`} {
		refused(none, stateKeys(newSecret), []byte(none))
	}
	// The boundary between agent and job does not move.
	moved := client.StateKeys{Secrets: [][]byte{newSecret}, AgentID: deploybot + "j"}
	refused("moved boundary", moved, change("job-7", "ob-7"))
}

func TestStateKeys(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		keys client.StateKeys
		says string
	}{
		{"no agent", client.StateKeys{Secrets: [][]byte{newSecret}}, "agent's id"},
		{"no secret", client.StateKeys{AgentID: deploybot}, "secret of the agent's own"},
		{"short secret", stateKeys([]byte("hunter2")), "16 bytes"},
		{"short old secret", stateKeys(newSecret, []byte("hunter2")), "16 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := client.SealState(tt.keys, "", nil)
			_, _, openErr := client.OpenState(tt.keys, []byte("{}"))
			for _, err := range []error{err, openErr} {
				if client.ExitCode(err) != client.ExitUsage || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "hunter2") {
					t.Errorf("%v", err)
				}
			}
		})
	}
	if _, err := client.SealState(stateKeys(newSecret), "\xff", nil); client.ExitCode(err) != client.ExitUsage {
		t.Errorf("a client_ref that is no text: %v", err)
	}
}
