package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"beckon/hub/ma2h"
)

// post is a hub that hands out directives, as spec §8.7 has it, for commands
// that are run one after the other.
type post struct {
	key       ma2h.SigningKey
	waiting   []string // directives
	acked     []string // bodies
	discovery string
	change    func(string) string // what becomes of a directive on its way
}

func (p *post) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	switch r.Method + " " + r.URL.Path {
	case "GET /.well-known/ma2h":
		_, _ = io.WriteString(w, p.discovery)
	case "GET /v1/inbox":
		var out []string
		for i, d := range p.waiting {
			if r.FormValue("max") != "" && r.FormValue("max") == fmt.Sprint(i) {
				break
			}
			sig, err := ma2h.SignDirective(p.key, []byte(d), time.Now(), ma2h.NewJTI())
			if err != nil {
				panic(err)
			}
			if p.change != nil {
				d = p.change(d)
			}
			out = append(out, fmt.Sprintf(`{"directive":%s,"signature":%q}`, d, sig))
		}
		fmt.Fprintf(w, `{"messages":[%s]}`, strings.Join(out, ","))
	case "POST /v1/inbox/ack":
		p.acked = append(p.acked, string(body))
		fmt.Fprintf(w, `{"acked":%d}`, strings.Count(string(body), "dir_"))
	case "POST /v1/messages/msg_1/ack":
		p.acked = append(p.acked, string(body))
		_, _ = io.WriteString(w, `{"ma2h_version":"0.5","type":"ack","in_reply_to":"msg_1","by":"agent:deploybot/dev-team",`+
			`"acked_at":"2026-12-01T10:00:00Z","note":"The first\u001b[2J note."}`)
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":{"code":"not_found","message":"no message \"msg_2\""}}`)
	}
}

func newPost(t *testing.T) *post {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &post{key: ma2h.SigningKey{Ed25519: private}}
	p.discovery = fmt.Sprintf(`{"ma2h_version":"0.5","inbound":{"enabled":true,"signature_algs":["ed25519"]},`+
		`"jwks":{"keys":[{"kty":"OKP","crv":"Ed25519","x":%q}]}}`, base64.RawURLEncoding.EncodeToString(public))
	for i, title := range []string{`Pause\tdeploys \u001b[2J`, "Go on"} {
		p.waiting = append(p.waiting, fmt.Sprintf(`{"ma2h_version":"0.5","type":"directive","id":"dir_%d","from":"human:alice",`+
			`"to":"agent:deploybot/dev-team","created_at":"2026-12-01T10:00:0%[1]dZ","title":"%s","body":"Until\nI say\u0000 <go>.\t","x":1}`, i+1, title))
	}
	return p
}

// command runs a command against a hub, with a credential.
func (p *post) command(t *testing.T, args ...string) (code int, out, said string) {
	t.Helper()
	srv := httptest.NewServer(p)
	defer srv.Close()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(testToken), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	sh := &shell{in: strings.NewReader(""), out: &stdout, err: &stderr}
	code = run(sh, append(args, "--url", srv.URL, "--token-file", token, "--agent", "deploybot/dev-team"))
	return code, stdout.String(), stderr.String()
}

func TestInbox(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("shared secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("another secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	hmac := func(p *post) {
		p.key = ma2h.SigningKey{Secret: []byte("shared secret")}
		p.discovery = `{"ma2h_version":"0.5","inbound":{"enabled":true,"signature_algs":["hmac-sha256"]}}`
	}
	const (
		lines = "dir_1\thuman:alice\t2026-12-01T10:00:01Z\tPause deploys [2J\ndir_2\thuman:alice\t2026-12-01T10:00:02Z\tGo on\n"
		one   = "dir_1\thuman:alice\t2026-12-01T10:00:01Z\tPause deploys [2J\n"
		both  = `{"ids":["dir_1","dir_2"]}`
	)
	tests := []struct {
		name  string
		setup func(*post)
		args  []string
		code  int
		out   string
		acked string
		says  string
	}{
		{"lines", nil, nil, 0, lines, "", ""},
		{"one", nil, []string{"--max", "1"}, 0, one, "", ""},
		{"acked", nil, []string{"--ack"}, 0, lines, both, ""},
		{"acked with a note", nil, []string{"--ack", "--note", "On it."}, 0, lines, `{"ids":["dir_1","dir_2"],"note":"On it."}`, ""},
		{"json", nil, []string{"--json", "--max", "1"}, 0, `{"ma2h_version":"0.5","type":"directive","id":"dir_1","from":"human:alice",` +
			`"to":"agent:deploybot/dev-team","created_at":"2026-12-01T10:00:01Z","title":"Pause\tdeploys \u001b[2J","body":"Until\nI say\u0000 <go>.\t"}` + "\n", "", ""},
		{"null", nil, []string{"-0", "--wait", "1m"}, 0, "dir_1\thuman:alice\t2026-12-01T10:00:01Z\tPause deploys [2J\tUntil\nI say <go>.\t\x00" +
			"dir_2\thuman:alice\t2026-12-01T10:00:02Z\tGo on\tUntil\nI say <go>.\t\x00", "", ""},
		{"a secret", hmac, []string{"--secret-file", secret}, 0, lines, "", ""},

		{"empty", func(p *post) { p.waiting = nil }, []string{"--ack"}, 0, "", "", "the inbox is empty"},
		{"waited for nothing", func(p *post) { p.waiting = nil }, []string{"--wait", "200ms"}, 6, "", "", "nobody wrote in that time"},
		{"one was changed", func(p *post) {
			p.change = func(d string) string { return strings.Replace(d, "Go on", "Go off", 1) }
		}, []string{"--ack"}, 1, one, `{"ids":["dir_1"]}`, `directive "dir_2" is not to be trusted: signature mismatch`},
		{"all were changed", func(p *post) {
			p.change = func(d string) string { return strings.Replace(d, "human:alice", "human:bob", 1) }
		}, []string{"--ack"}, 1, "", "", `directive "dir_1" is not to be trusted`},
		{"another agent's", func(p *post) {
			p.waiting = []string{strings.Replace(p.waiting[0], "deploybot", "boss", 1)}
		}, nil, 1, "", "", "addressed to somebody else"},
		{"no secret", hmac, nil, 2, "", "", "set BECKON_SECRET, or use --secret-file"},
		{"another secret", hmac, []string{"--secret-file", other}, 1, "", "", "signature mismatch"},
		{"a secret that is not needed", nil, []string{"--secret-file", secret}, 0, lines, "", ""},
		{"no such secret", hmac, []string{"--secret-file", secret + "2"}, 2, "", "", "no such file"},
		{"an empty secret", hmac, []string{"--secret-file", "/dev/null"}, 2, "", "", "is empty"},
		{"a note alone", nil, []string{"--note", "x"}, 2, "", "", "--note goes with --ack"},
		{"two forms", nil, []string{"--json", "--null"}, 2, "", "", "can't be used together"},
		{"a hub without", func(p *post) { p.discovery = `{"ma2h_version":"0.5"}` }, nil, 7, "", "", "this hub has no inbox for agents"},
		{"no hub", func(p *post) { p.discovery = `<html>` }, nil, 1, "", "", "is the URL right"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPost(t)
			if tt.setup != nil {
				tt.setup(p)
			}
			code, out, said := p.command(t, append([]string{"inbox"}, tt.args...)...)
			if code != tt.code || out != tt.out || strings.Join(p.acked, " ") != tt.acked {
				t.Errorf("exit code %d, want %d; acked %s\n%q\nwant\n%q\n%s", code, tt.code, p.acked, out, tt.out, said)
			}
			if !strings.Contains(said, tt.says) || tt.says == "" && said != "" || strings.Contains(said, testToken) {
				t.Errorf("it says %q", said)
			}
		})
	}
}

func TestAck(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		args  []string
		code  int
		acked string
		says  string
	}{
		{"an answer", []string{"msg_1"}, 0, `{}`, "msg_1 is acknowledged: “The first[2J note.”\n"},
		{"with a note", []string{"msg_1", "--note", "x"}, 0, `{"note":"x"}`, "msg_1 is acknowledged: “The first[2J note.”\n"},
		{"directives", []string{"dir_1", "dir_2"}, 0, `{"ids":["dir_1","dir_2"]}`, "2 directives acknowledged\n"},
		{"both", []string{"dir_1", "msg_1", "--note", "x"}, 0, `{"note":"x"} {"ids":["dir_1"],"note":"x"}`, "1 directive acknowledged\n"},
		{"unknown", []string{"msg_2", "msg_1"}, 7, `{}`, `beckon: ack: no message "msg_2" (not_found)`},
		{"none", nil, 2, "", "beckon ack --help"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPost(t)
			code, out, said := p.command(t, append([]string{"ack"}, tt.args...)...)
			if code != tt.code || out != "" || strings.Join(p.acked, " ") != tt.acked || !strings.Contains(said, tt.says) {
				t.Errorf("exit code %d, acked %s, %q\n%s", code, p.acked, out, said)
			}
		})
	}
}
