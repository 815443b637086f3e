package email

import (
	"context"
	"strings"
	"testing"

	"beckon/channels/channeltest"
	"beckon/hub"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	c := writer(t, func(s *section) { s.From = strings.Repeat("h", maxLocal-tokenChars-2) + "@example.com" })
	seen := map[string]string{}
	for _, message := range []string{"msg_a", "msg_b", ""} {
		for _, person := range []string{"alice", "bob"} {
			for generation := range 3 {
				token := c.replyToken(message, person, generation)
				addr := c.tokenAddress(tokenReply, token)
				local, _, _ := strings.Cut(addr, "@")
				if len(local) > maxLocal || !isToken(token) || seen[token] != "" {
					t.Errorf("the token %s in %s, of %d octets: used before by %q", token, addr, len(local), seen[token])
				}
				seen[token] = message + person
				if again := c.replyToken(message, person, generation); again != token {
					t.Errorf("the token is %s, then %s", token, again)
				}
				for _, spelled := range []string{addr, strings.ToUpper(addr), "<" + addr + ">", local + "@forwarder.example"} {
					if kind, got, ours := c.parseAddress(spelled); kind != tokenReply || got != token || !ours {
						t.Errorf("%s is read as %c %q, ours: %v", spelled, kind, got, ours)
					}
				}
			}
		}
	}
	// Two lists of parts never make the same token.
	if c.replyToken("msg_a1", "b", 0) == c.replyToken("msg_a", "1b", 0) {
		t.Error("parts run into each other")
	}
	if c.replyToken("m", "p", 0) == c.verpToken("m") {
		t.Error("a token for answers is one for bounces")
	}
}

func TestParseAddress(t *testing.T) {
	t.Parallel()
	c := writer(t)
	const token = "k7m2x4c5v6p7q2s3tdz5"
	for addr, want := range map[string]struct {
		token string
		ours  bool
	}{
		"hub+q" + token + "@example.com":                  {token, true},
		"hub+b" + token + "@example.com":                  {token, true},
		"HUB+Q" + strings.ToUpper(token) + "@EXAMPLE.COM": {token, true},
		"hub+x" + token + "@example.com":                  {"", false},
		"hub+q" + token + "a@example.com":                 {"", true},
		"hub+q" + token[1:] + "@example.com":              {"", true},
		"hub+q" + token[1:] + "1@example.com":             {"", true}, // 1 is no letter of the alphabet
		"hub+q" + token[1:] + "1@example.net":             {"", false},
		"hub+q@example.com":                               {"", true},
		"hub+@example.com":                                {"", false},
		"hub@example.com":                                 {"", false},
		"alice@example.com":                               {"", false},
		"xhub+q" + token + "@example.com":                 {"", false},
		"hub+q" + token:                                   {"", false},
		"@":                                               {"", false},
		"":                                                {"", false},
	} {
		if _, got, ours := c.parseAddress(addr); got != want.token || ours != want.ours {
			t.Errorf("%q is read as %q, ours: %v; want %q, %v", addr, got, ours, want.token, want.ours)
		}
	}
	off := writer(t, func(s *section) { s.Plus = plusOff })
	if _, got, ours := off.parseAddress("hub+q" + token + "@example.com"); got != "" || ours {
		t.Errorf("without plus addresses one is read as %q", got)
	}
	if a := off.tokenAddress(tokenReply, token); a != "hub@example.com" {
		t.Errorf("without plus addresses answers go to %s", a)
	}
	elsewhere := writer(t, func(s *section) {
		s.Listen, s.Plus = &listenSection{Address: "127.0.0.1:2424", Domain: "Answers.example.com"}, "="
	})
	if a := elsewhere.tokenAddress(tokenReply, token); a != "hub=q"+token+"@answers.example.com" {
		t.Errorf("answers go to %s", a)
	}
}

func TestParseMessageID(t *testing.T) {
	t.Parallel()
	c := writer(t)
	id := c.messageID("dlv_a-1", 0)
	if id != c.messageID("dlv_a-1", 0) || id == c.messageID("dlv_a-2", 0) || id == c.messageID("dlv_a-1", 1) {
		t.Error("a Message-ID is that of one delivery and generation")
	}
	if !isMessageID(id) {
		t.Errorf("%q is no Message-ID", id)
	}
	for in, want := range map[string]bool{
		id: true, "<" + strings.ToUpper(id) + ">": true, "x" + id: false, id + "x": false, "beckon.@example.com": false,
		strings.Replace(id, "@example.com", "@example.net", 1): false, "": false, "a@example.com": false,
	} {
		if folded, got := c.parseMessageID(in); got != want || got && folded != id {
			t.Errorf("%q is ours: %v (%q), want %v", in, got, folded, want)
		}
	}
}

// otherKeys is a desk whose first key is another.
type otherKeys struct{ *channeltest.Desk }

func (o otherKeys) Keys(purpose string) [][]byte {
	return append(hub.KeyRing{[]byte("ffffffffffffffffffffffffffffffff")}.Derive(purpose), o.Desk.Keys(purpose)...)
}

// TestKeysAreReplaced holds that answers to mails from before still find their way,
// and that their tokens can't be made any more.
func TestKeysAreReplaced(t *testing.T) {
	t.Parallel()
	w := startWorld(t, nil, peerOptions{tls: tlsNone})
	p := w.mustPost(channeltest.Ask("msg_a"))
	m := w.peer.only()
	replyTo := parsed(t, m.raw).Header.Get("Reply-To")
	conf := w.ch.conf
	w.ch = build(sectionOf(t, conf), otherKeys{w.desk})
	for what, addr := range map[string]string{"the Reply-To": replyTo, "the envelope": m.from} {
		got, _, ours, err := w.ch.findAddress(t.Context(), addr)
		if err != nil || got == nil || got.Message != "msg_a" || got.Person != "alice" || !ours {
			t.Errorf("%s leads to %+v: %v", what, got, err)
		}
	}
	if got, _, err := w.ch.findMessageID(t.Context(), p.Ref); err != nil || got == nil || got.Root != p.Ref {
		t.Errorf("the Message-ID leads to %+v: %v", got, err)
	}
	if w.ch.tokenAddress(tokenReply, w.ch.replyToken("msg_a", "alice", 0)) == strings.Trim(replyTo, "<>") {
		t.Error("the new key makes the old token")
	}
}

// TestFind holds what leads from an answer to its question.
func TestFind(t *testing.T) {
	t.Parallel()
	w := startWorld(t, nil, peerOptions{tls: tlsNone})
	ctx := t.Context()
	card := channeltest.Ask("msg_a")
	p := w.mustPost(card)
	if err := w.update(p, card, true); err != nil {
		t.Fatal(err)
	}
	first, second := w.peer.got()[0], w.peer.got()[1]
	a, b := parsed(t, first.raw).Header, parsed(t, second.raw).Header
	if a.Get("Reply-To") != b.Get("Reply-To") {
		t.Errorf("the reminder comes from %s, the first mail from %s", b.Get("Reply-To"), a.Get("Reply-To"))
	}
	if first.from == second.from {
		t.Error("two mails have one envelope address, so that a bounce does not say which")
	}
	for _, m := range []received{first, second} {
		got, kind, _, err := w.ch.findAddress(ctx, m.from)
		if err != nil || got == nil || kind != tokenVERP || got.Message != "msg_a" || got.Root != p.Ref || "<"+got.Ref+">" != parsed(t, m.raw).Header.Get("Message-ID") {
			t.Errorf("the envelope leads to %+v (%c): %v", got, kind, err)
		}
		got, ours, err := w.ch.findMessageID(ctx, strings.ToUpper(strings.Trim(parsed(t, m.raw).Header.Get("Message-ID"), "<>")))
		if err != nil || !ours || got == nil || got.Message != "msg_a" || got.State != stateSent {
			t.Errorf("the Message-ID leads to %+v: %v", got, err)
		}
	}
	tag, _, _ := strings.Cut(strings.TrimPrefix(a.Get("Subject"), "["), "]")
	if got, err := w.ch.findTag(ctx, "["+strings.ToLower(tag)+"]"); err != nil || got == nil || got.Message != "msg_a" || got.Person != "alice" {
		t.Errorf("the tag %s leads to %+v: %v", tag, got, err)
	}
	for _, unknown := range []string{"hub+q" + strings.Repeat("a", tokenChars) + "@example.com", "hub+b" + strings.Repeat("a", tokenChars) + "@example.com"} {
		if got, _, ours, err := w.ch.findAddress(ctx, unknown); got != nil || !ours || err != nil {
			t.Errorf("%s leads to %+v, ours: %v, %v", unknown, got, ours, err)
		}
	}
	if got, ours, err := w.ch.findMessageID(ctx, idPrefix+strings.Repeat("a", tokenChars)+"@example.com"); got != nil || !ours || err != nil {
		t.Errorf("an unknown id of ours leads to %+v, ours: %v, %v", got, ours, err)
	}
	for _, tag := range []string{"Q-000000", "", "Q", "[Q-ZZZZZZZZZZZZZZZZZZZZ]", "../x"} {
		if got, err := w.ch.findTag(ctx, tag); got != nil || err != nil {
			t.Errorf("the tag %q leads to %+v: %v", tag, got, err)
		}
	}
	// What did not go out answers nothing.
	w.peer.fault(func(p *peer) { p.onData = nil })
	w.peer.fault(func(p *peer) { p.onRcpt = func(string) error { return refuse(550, 5, 1, 1, "no") } })
	q, err := w.post(channeltest.Ask("msg_b"))
	if err == nil {
		t.Fatal("it went out")
	}
	if got, ours, err := w.ch.findMessageID(ctx, q.Ref); got != nil || !ours || err != nil {
		t.Errorf("a mail that did not go out leads to %+v: %v", got, err)
	}
}

// TestTagsAreOnesOwn holds that two threads never share a tag.
func TestTagsAreOnesOwn(t *testing.T) {
	t.Parallel()
	c := writer(t)
	ctx := t.Context()
	short := c.tags("msg_a", "alice")[0]
	if err := c.putRow(ctx, keyTag+short, &sentMail{Message: "msg_z", Person: "alice"}); err != nil {
		t.Fatal(err)
	}
	tag, err := c.tagOf(ctx, "msg_a", "alice", 0)
	if err != nil || tag != c.tags("msg_a", "alice")[1] || len(tag) != len("Q-")+8 {
		t.Errorf("got %s: %v", tag, err)
	}
	if again, err := c.tagOf(ctx, "msg_a", "alice", 1); err != nil || again != tag {
		t.Errorf("then %s: %v", again, err)
	}
	if m, err := c.findTag(ctx, short); err != nil || m.Message != "msg_z" {
		t.Errorf("the other's tag leads to %+v: %v", m, err)
	}
	if m, err := c.findTag(ctx, tag); err != nil || m.Message != "msg_a" || m.Generation != 1 {
		t.Errorf("ours leads to %+v: %v", m, err)
	}
	for range 200 {
		s := c.tags(strings.Repeat("x", len(tag)), "p")[0]
		if strings.ContainsAny(s[2:], "ILOU") {
			t.Fatalf("%s has letters that look like others", s)
		}
	}
}

// TestSecretsAreHashed holds that the database gives away no token.
func TestSecretsAreHashed(t *testing.T) {
	t.Parallel()
	w := startWorld(t, nil, peerOptions{tls: tlsNone})
	s := &writtenState{StateStore: w.desk.State()}
	w.again(s)
	p := w.mustPost(channeltest.Ask("msg_a"))
	m := w.peer.only()
	reply := w.ch.replyToken("msg_a", "alice", 0)
	if !strings.Contains(parsed(t, m.raw).Header.Get("Reply-To"), reply) {
		t.Fatal("the token is not in the Reply-To")
	}
	for _, secret := range []string{reply, w.ch.verpToken(p.Ref)} {
		if strings.Contains(s.all, secret) {
			t.Errorf("the database has a token:\n%s", s.all)
		}
	}
	for _, id := range s.messages {
		if id != "msg_a" {
			t.Errorf("a row is not purged with its message but with %q", id)
		}
	}
}

// writtenState remembers what was put.
type writtenState struct {
	hub.StateStore
	all      string
	messages []string
	fail     error
}

func (s *writtenState) PutStateFor(ctx context.Context, messageID, channel, key, value string) error {
	if s.fail != nil {
		return s.fail
	}
	s.all += key + " " + value + "\n"
	s.messages = append(s.messages, messageID)
	return s.StateStore.PutStateFor(ctx, messageID, channel, key, value)
}

func (s *writtenState) PutState(ctx context.Context, channel, key, value string) error {
	s.all += key + " " + value + "\n"
	s.messages = append(s.messages, "")
	return s.StateStore.PutState(ctx, channel, key, value)
}

func TestAliases(t *testing.T) {
	t.Parallel()
	const ours, ses = "beckon.a@example.com", "0102018f3c2b1a00-1b2c3d4e-5f60-7182-93a4-b5c6d7e8f901-000000"
	for name, tt := range map[string]struct{ host, said, want string }{
		"ses":               {"email-smtp.eu-west-1.amazonaws.com", "Ok " + ses, ses + "@eu-west-1.amazonses.com"},
		"ses, first region": {"email-smtp.us-east-1.amazonaws.com", "Ok " + ses, ses + "@email.amazonses.com"},
		"ses, FIPS":         {"email-smtp-fips.us-west-2.amazonaws.com", "Ok " + ses, ses + "@us-west-2.amazonses.com"},
		"not ses":           {"smtp.example.com", "Ok " + ses, ""},
		"says ours":         {"smtp.office365.com", "2.6.0 <Beckon.A@example.com> [InternalId=1] Queued", ""},
		"says another":      {"smtp.office365.com", "2.6.0 <AM0PR01@eurprd01.prod.exchangelabs.com> [InternalId=1] Queued", "AM0PR01@eurprd01.prod.exchangelabs.com"},
		"postfix":           {"smtp.example.com", "2.0.0 Ok: queued as 4F1A2B", ""},
		"nothing":           {"smtp.example.com", "", ""},
	} {
		if got := strings.Join(aliases(tt.host, tt.said, ours), " "); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
	w := startWorld(t, nil, peerOptions{tls: tlsNone})
	w.ch.conf.SMTP.Host = "email-smtp.eu-west-1.amazonaws.com"
	w.peer.fault(func(p *peer) { p.onData = saying("Ok " + ses) })
	p := w.mustPost(channeltest.Ask("msg_a"))
	if got, _, err := w.ch.findMessageID(t.Context(), ses+"@eu-west-1.amazonses.com"); err != nil || got == nil || got.Message != "msg_a" || got.Ref != p.Ref {
		t.Errorf("the relay's name leads to %+v: %v", got, err)
	}
}
