//go:build ignore

// Command agent_signed writes what this hub signs, and checks what others sign,
// so that another implementation of MA2H can be held against this one.
// examples/agent_reference.mjs does that with the public reference.
//
//	go run examples/agent_signed.go sign   >ours.jsonl
//	go run examples/agent_signed.go verify <theirs.jsonl
//
// A line is {"kind", "name", "callback_url", "agent", "signature", "body"}: kind
// is response or directive, and body the text that was signed about. MA2H_SECRET
// is the key of all signatures. "verify" wants each line to be accepted, and to
// be refused after each change of one byte in anything that a signature covers;
// it ends with 1 if that is not so.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"beckon/hub/ma2h"
)

// signed is one thing that was signed.
type signed struct {
	Kind        string `json:"kind"`
	Name        string `json:"name"`
	CallbackURL string `json:"callback_url,omitempty"`
	Agent       string `json:"agent,omitempty"`
	Signature   string `json:"signature"`
	Body        string `json:"body"`
}

const (
	agent    = "deploybot/dev-team"
	callback = "https://agent.example.com/ma2h/resume?job=a%2Fb&x=%C3%BC"
)

func main() {
	key := []byte(os.Getenv("MA2H_SECRET"))
	var err error
	switch {
	case len(key) == 0:
		err = errors.New("set MA2H_SECRET")
	case len(os.Args) == 2 && os.Args[1] == "sign":
		err = sign(key)
	case len(os.Args) == 2 && os.Args[1] == "verify":
		err = verify(key)
	default:
		err = errors.New("say sign or verify")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent_signed:", err)
		os.Exit(1)
	}
}

// details are answers of every kind, with text and numbers that canonical forms
// differ on if they are wrong.
var details = []struct {
	name       string
	resolution ma2h.Status
	detail     ma2h.Detail
	defaulted  bool
}{
	{"answered", ma2h.Answered, ma2h.Detail{Value: []byte(`"hold"`), Actor: "human:alice", Comment: "Ünïcode <b>&\u2028 \U0001f680 \"quoted\" \\ \x1f\x7f"}, false},
	{"edited form", ma2h.Answered, ma2h.Detail{
		Value:  []byte(`{"z":1e21,"a":-0,"m":0.1,"t":1e-7,"big":9007199254740993,"é":"\u00e9\ud83d\ude80","yes":true,"list":[1,[2.50,{"k":"v"}]]}`),
		Edited: true, Actor: "human:bob.roy@example.com",
	}, false},
	{"by an agent", ma2h.Answered, ma2h.Detail{Value: []byte(`"ship"`), Actor: "agent:boss/dev-team"}, false},
	{"declined", ma2h.Declined, ma2h.Detail{Actor: "human:alice", Comment: "Not now."}, false},
	{"cancelled", ma2h.Cancelled, ma2h.Detail{Actor: "agent:" + agent}, false},
	{"expired", ma2h.Expired, ma2h.Detail{Actor: ma2h.ActorExpiry}, false},
	{"defaulted", ma2h.Expired, ma2h.Detail{Value: []byte(`"hold"`), Actor: ma2h.ActorDefault}, true},
	{"completed", ma2h.Completed, ma2h.Detail{Actor: "human:alice", Checklist: []ma2h.ChecklistItem{{Text: "Drain", Done: true}, {Text: "Böot"}}}, false},
	{"dismissed", ma2h.Dismissed, ma2h.Detail{Actor: "human:alice", Comment: "Can't."}, false},
}

var states = []struct {
	name  string
	state string
}{
	{"without state", ""},
	{"with an empty state", `{}`},
	{"with state", `{ "resume":{"step":3,"ratio":-0.001,"n":12345678901234567890}, "a<b": "<&>\u2028", "":null }`},
}

func sign(key []byte) error {
	out := json.NewEncoder(os.Stdout)
	k, now := ma2h.SigningKey{Secret: key}, time.Now()
	for _, version := range []string{"0.3", "0.4", "0.5"} {
		for i, d := range details {
			for _, s := range states {
				d.detail.ResolvedAt = ma2h.FormatTime(now)
				r := ma2h.Response{
					Version: version, InReplyTo: "msg_01J5SIGNED", ResolutionID: fmt.Sprintf("res_01J5SIGNED%d", i),
					Agent:      ma2h.ResponseAgent{ID: agent, RunID: "run_1"},
					Resolution: d.resolution, Response: &d.detail, Defaulted: d.defaulted,
				}
				if s.state != "" {
					r.State = []byte(s.state)
				}
				body, err := r.Marshal()
				if err != nil {
					return err
				}
				header, err := ma2h.SignResponse(k, callback, body, now, ma2h.NewJTI())
				if err != nil {
					return err
				}
				err = out.Encode(signed{
					Kind: "response", Name: version + " " + d.name + " " + s.name, CallbackURL: callback, Signature: header, Body: string(body),
				})
				if err != nil {
					return err
				}
			}
		}
	}
	return signDirectives(out, k, now)
}

// signDirectives writes directives with every set of the fields that are signed.
func signDirectives(out *json.Encoder, k ma2h.SigningKey, now time.Time) error {
	for _, version := range []string{"0.4", "0.5"} {
		for _, from := range []string{"human:alice", "system:ops"} {
			for fields := range 16 {
				d := fmt.Sprintf(`{"ma2h_version":%q,"type":"directive","id":"dir_01J5SIGNED","from":%q,"to":"agent:%s","created_at":%q,"title":"Päuse <deploys> \u2028\ud83d\ude80"`,
					version, from, agent, ma2h.FormatTime(now))
				for bit, field := range []string{
					`"body":"Until *I* say \"go\".\nThen & only then."`, `"priority":"urgent"`, `"tags":["incident","a<b",""]`,
					`"context":[{"kind":"text","text":"log"},{"kind":"data","data":{"n":1e21,"m":-0,"é":[0.1]},"metadata":{"k":1}},{"kind":"file","file":{"uri":"https://example.com/a?b=c"}}]`,
				} {
					if fields&(1<<bit) != 0 {
						d += "," + field
					}
				}
				d += "}"
				header, err := ma2h.SignDirective(k, []byte(d), now, ma2h.NewJTI())
				if err != nil {
					return err
				}
				err = out.Encode(signed{
					Kind: "directive", Name: fmt.Sprintf("%s from %s, fields %04b", version, from, fields), Agent: agent, Signature: header, Body: d,
				})
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// check is nil if what was signed is accepted.
func (s signed) check(key []byte) error {
	v := ma2h.Verifier{Secrets: [][]byte{key}, CallbackURL: s.CallbackURL}
	if s.Kind == "directive" {
		_, err := v.VerifyDirective(s.Signature, []byte(s.Body), s.Agent, time.Now())
		return err
	}
	_, value, _ := strings.Cut(s.Signature, ": ")
	if value == "" {
		value = s.Signature
	}
	_, err := v.Verify(value, []byte(s.Body), time.Now())
	return err
}

func verify(key []byte) error {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	lines, changes := map[string]int{}, 0
	var wrong []error
	for in.Scan() {
		var s signed
		if err := json.Unmarshal(in.Bytes(), &s); err != nil {
			return err
		}
		lines[s.Kind]++
		if err := s.check(key); err != nil {
			wrong = append(wrong, fmt.Errorf("%s %s is refused: %w", s.Kind, s.Name, err))
			continue
		}
		n, err := s.changes(key)
		changes += n
		wrong = append(wrong, err...)
	}
	if err := in.Err(); err != nil {
		return err
	}
	fmt.Printf("accepted %d responses and %d directives; refused %d changes of one byte\n", lines["response"], lines["directive"], changes-len(wrong))
	return errors.Join(wrong...)
}

// unsigned are the members of a body that no signature covers (spec §9.2, §9.7).
var unsigned = map[string]bool{"agent": true, "defaulted": true, "created_at": true, "expires_at": true, "sensitive": true, "type": true}

// changes changes one byte after the other, of the URL, the signature, and each
// member of the body that is signed.
func (s signed) changes(key []byte) (n int, wrong []error) {
	was := meaning(s.Body)
	try := func(what string, c signed) {
		if c.Body != s.Body && reflect.DeepEqual(meaning(c.Body), was) {
			return // digits behind the 16th, which no double has
		}
		n++
		if c.check(key) == nil {
			wrong = append(wrong, fmt.Errorf("%s %s is accepted with another %s", s.Kind, s.Name, what))
		}
	}
	each := func(what, text string, set func(string) signed) {
		for i := range len(text) {
			for _, b := range []byte{text[i] ^ 1, text[i] ^ 8} {
				try(fmt.Sprintf("%s (byte %d)", what, i), set(text[:i]+string([]byte{b})+text[i+1:]))
			}
		}
	}
	each("callback URL", s.CallbackURL, func(v string) signed { c := s; c.CallbackURL = v; return c })
	for _, part := range []string{"t=", "jti=", "v1="} {
		_, text, _ := strings.Cut(s.Signature, part)
		text, _, _ = strings.Cut(text, ",")
		if part == "v1=" { // the last two bits carry nothing (RFC 4648 §3.5)
			text = text[:len(text)-1]
		}
		each(part, text, func(v string) signed {
			c := s
			c.Signature = strings.Replace(s.Signature, part+text, part+v, 1)
			return c
		})
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(s.Body), &members); err != nil {
		return n, append(wrong, err)
	}
	for name, raw := range members {
		at := strings.Index(s.Body, string(raw))
		if unsigned[name] {
			continue
		}
		before, text, after := s.Body[:at], s.Body[at:at+len(raw)], s.Body[at+len(raw):]
		if strings.Count(s.Body, text) > 1 { // its own place is behind its name
			i := strings.Index(s.Body, `"`+name+`":`) + len(name) + 3
			before, after = s.Body[:i], s.Body[i+len(text):]
		}
		each(name, text, func(v string) signed { c := s; c.Body = before + v + after; return c })
	}
	return n, wrong
}

// meaning is what a body says, with numbers as they are signed: as doubles.
func meaning(body string) (v any) {
	if json.Unmarshal([]byte(body), &v) != nil {
		return nil
	}
	return v
}
