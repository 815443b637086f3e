//go:build unix

package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/mail"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"beckon/channels/email/mailtest"
)

// killedOffice is an office whose hub is a process that is killed again and again.
type killedOffice struct {
	office
	hub  *hubProcess
	seed *rand.Rand
}

// TestKilledBetweenMails kills the hub at random moments while answers are on
// their way by mail, and stops or freezes the mail server in some rounds. Every
// reply is recorded once, and nobody gets two different mails about the same thing.
func TestKilledBetweenMails(t *testing.T) {
	o := &killedOffice{seed: rand.New(rand.NewPCG(1, 2))}
	o.dovecot = mailtest.StartDovecot(t, mailtest.DovecotOptions{})
	o.exim = mailtest.StartExim(t, mailtest.EximOptions{LMTP: o.dovecot.LMTPAddr})
	smtpHost, smtpPort, _ := net.SplitHostPort(o.exim.Addr)
	imapHost, imapPort, _ := net.SplitHostPort(o.dovecot.IMAPAddr)
	o.yaml = fmt.Sprintf(mailYAML, filepath.Join(t.TempDir(), "beckon.db"), smtpHost, smtpPort, imapHost, imapPort)
	o.process = &process{t: t}
	o.restart()
	t.Cleanup(func() { o.hub.kill() })
	for round := range rounds(2) {
		o.round(round)
	}
}

func (o *killedOffice) restart() {
	if o.hub != nil {
		o.hub.kill()
	}
	o.hub = startChild(o.t, o.yaml, nil)
	o.url = "http://" + o.hub.addr
}

// mayhem lets some time pass and kills the hub, or the mail server.
func (o *killedOffice) mayhem() {
	<-time.After(time.Duration(o.seed.IntN(400)) * time.Millisecond)
	switch o.seed.IntN(6) {
	case 0:
		o.dovecot.Restart()
	case 1:
		o.dovecot.Freeze()
		<-time.After(time.Duration(o.seed.IntN(300)) * time.Millisecond)
		o.dovecot.Thaw()
	default:
		o.restart()
	}
}

// about waits for n different mails about a message in alice's INBOX.
func (o *killedOffice) about(id string, n int) map[string]*mail.Message {
	o.t.Helper()
	found := map[string]*mail.Message{}
	err := mailtest.Eventually(func() error {
		clear(found)
		for _, m := range o.dovecot.Mails("alice", "INBOX") {
			parsed, err := mail.ReadMessage(bytes.NewReader(m.Raw))
			if err != nil {
				return err
			}
			if parsed.Header.Get("X-Beckon-Message") == id {
				found[parsed.Header.Get("Message-ID")] = parsed
			}
		}
		if len(found) < n {
			return fmt.Errorf("%d mails about %s, want %d", len(found), id, n)
		}
		return nil
	})
	if err != nil {
		o.t.Fatalf("%v\nexim:\n%s\ndovecot:\n%s", err, o.exim.Log(), o.dovecot.Log())
	}
	return found
}

func (o *killedOffice) round(round int) {
	const asks = 4
	var ids []string
	for i := range asks {
		ids = append(ids, o.submit(envelope(fmt.Sprintf("r%d-%d", round, i), nil)))
	}
	o.mayhem()
	for i, id := range ids {
		for _, m := range o.about(id, 1) {
			o.reply("alice@example.test", m, []string{"1\n", "hold\n"}[i%2]+"\nround\n")
		}
		if i%2 == 1 {
			o.mayhem()
		}
	}
	o.mayhem()
	for i, id := range ids {
		want := []string{"ship", "hold"}[i%2]
		resolution, value, comment := o.answered(id)
		if resolution != "answered by human:alice" || value != want || comment != "round" {
			o.t.Errorf("round %d, %s: %s %q %q, want %s", round, id, resolution, value, comment, want)
		}
		mails := o.about(id, 2)
		confirmed := 0
		for _, m := range mails {
			if strings.HasPrefix(plain(o.t, m), "Recorded: ") {
				confirmed++
			}
		}
		if len(mails) != 2 || confirmed != 1 {
			o.t.Errorf("round %d, %s: %d different mails, %d confirmations", round, id, len(mails), confirmed)
		}
	}
}

// answered waits for an answer through whatever happens to the hub.
func (o *killedOffice) answered(id string) (resolution, value, comment string) {
	o.t.Helper()
	err := mailtest.Eventually(func() error {
		status, b := o.do("GET", "/v1/messages/"+id+"?wait=5", botToken, "")
		var m struct{ Status string }
		if status != http.StatusOK || json.Unmarshal(b, &m) != nil || m.Status == "open" {
			return fmt.Errorf("%d %s", status, b)
		}
		return nil
	})
	if err != nil {
		o.t.Fatalf("%v\n%s", err, o.dovecot.Log())
	}
	return o.response(id)
}
