package fakeslack_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"beckon/channels/slack/fakeslack"
)

// boltDir is the folder of Slack's own library, if it is installed.
func boltDir(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed; it runs Slack's own library against the fake")
	}
	dir, err := filepath.Abs("testdata/bolt")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
		t.Skip("run npm ci in testdata/bolt: node_modules is not there")
	}
	return dir
}

// boltApp is a running app.js.
type boltApp struct {
	t     *testing.T
	lines chan string
	stdin io.WriteCloser
}

func startBolt(t *testing.T, s *fakeslack.Server, transport string) *boltApp {
	t.Helper()
	a := s.App()
	cmd := exec.Command("node", "app.js")
	cmd.Dir = boltDir(t)
	cmd.Env = append(os.Environ(), "SLACK_API_URL="+s.APIURL(), "BOT_TOKEN="+a.BotToken, "APP_TOKEN="+a.AppToken,
		"SIGNING_SECRET="+a.SigningSecret, "CHANNEL=C0APPROVE1", "TRANSPORT="+transport)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b := &boltApp{t: t, lines: make(chan string, 100), stdin: stdin}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for sc := bufio.NewScanner(stdout); sc.Scan(); {
			b.lines <- sc.Text()
		}
	}()
	t.Cleanup(func() {
		_ = stdin.Close()
		kill := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		<-done
		_ = cmd.Wait()
		kill.Stop()
	})
	return b
}

// expect reads on to a line that begins so, and gives the rest of it.
func (b *boltApp) expect(prefix string) string {
	b.t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		select {
		case line := <-b.lines:
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				return strings.TrimSpace(rest)
			}
			if strings.HasPrefix(line, "error") {
				b.t.Fatal(line)
			}
			b.t.Logf("app: %s", line)
		case <-timeout:
			b.t.Fatalf("the app never said %q", prefix)
		}
	}
}

// TestBolt: Slack's own library works against the fake on both transports, and
// accepts what it signs.
func TestBolt(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"socket", "http"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			s := start(t, fakeslack.Options{})
			b := startBolt(t, s, transport)
			at := b.expect("listening")
			ctx := within(t)
			if transport == "http" {
				if err := s.SetRequestURL(ctx, s.App().ID, "http://127.0.0.1:"+at+"/slack/events"); err != nil {
					t.Fatal(err)
				}
			}
			_, _ = io.WriteString(b.stdin, "post\n")
			const channel = "C0APPROVE1"
			ts := b.expect("posted")
			alice := s.Person("alice")
			if _, err := alice.Click(ctx, channel, ts, "answer"); err != nil {
				t.Fatal(err)
			}
			if got := b.expect("click"); got != alice.ID+" approve" {
				t.Errorf("the app read %q of the click", got)
			}
			v, err := alice.WaitModal(ctx, func(v fakeslack.View) bool { return v.CallbackID == "form" })
			if err != nil {
				t.Fatal(err)
			}
			sub, err := alice.SubmitView(ctx, v.ID, map[string]any{"why": "no"})
			if err != nil || sub.Errors["why"] != "Say more." {
				t.Fatalf("submission = %+v, %v", sub, err)
			}
			b.expect("objected")
			sub, err = alice.SubmitView(ctx, v.ID, map[string]any{"why": "Rollback is ready", "when": time.Unix(1796103000, 0)})
			if err != nil || sub.View != nil {
				t.Fatalf("submission = %+v, %v", sub, err)
			}
			if got := b.expect("submitted"); got != "Rollback is ready" {
				t.Errorf("the app read %q", got)
			}
			if _, err := s.WaitMessage(ctx, func(m fakeslack.Message) bool { return m.ThreadTS == ts && m.Text == "Recorded" }); err != nil {
				t.Fatal(err)
			}
			if m, _ := s.Message(channel, ts); m.Text != "Approved by <@"+alice.ID+">" || len(m.Blocks) != 1 {
				t.Errorf("updated message = %+v", m)
			}
			boltOthers(t, s, b, channel, ts)
			if p := s.Problems(); len(p) > 0 {
				t.Error(p)
			}
		})
	}
}

// boltOthers is what else the app does: replies, a command, the Home tab, a
// select menu with a response URL, and a form that is closed.
func boltOthers(t *testing.T, s *fakeslack.Server, b *boltApp, channel, ts string) {
	t.Helper()
	ctx := within(t)
	bob := s.Person("bob")
	must(t)(bob.Reply(channel, ts, "fine"))
	if got := b.expect("message"); got != "channel in-thread fine" {
		t.Errorf("the app read %q of the reply", got)
	}
	if _, err := bob.Slash(ctx, channel, "/beckon list all"); err != nil {
		t.Fatal(err)
	}
	if got := b.expect("command"); got != "list all" {
		t.Errorf("the app read %q of the command", got)
	}
	if _, err := bob.WaitMessage(ctx, func(m fakeslack.Message) bool { return m.EphemeralTo == bob.ID }); err != nil {
		t.Error(err)
	}
	bob.OpenHome()
	b.expect("home home")
	if v, ok := bob.Home(); !ok || len(v.Blocks) != 1 {
		t.Errorf("Home = %+v, %v", v, ok)
	}
	m := api(t, s, "chat.postMessage", obj{"channel": channel, "text": "More", "blocks": []any{
		obj{"type": "actions", "block_id": "act", "elements": []any{
			with(button(), "action_id", "answer"), with(selectOf("options", []any{obj{"text": plain("Blue"), "value": "blue"}}), "action_id", "pick"),
		}},
	}})
	if _, err := bob.Select(ctx, channel, m["ts"].(string), "pick", "blue"); err != nil {
		t.Fatal(err)
	}
	if got := b.expect("pick"); got != "blue blue" {
		t.Errorf("the app read %q of the choice", got)
	}
	if _, err := bob.WaitMessage(ctx, func(m fakeslack.Message) bool { return m.Text == "Blue it is." && m.EphemeralTo == bob.ID }); err != nil {
		t.Error(err)
	}
	if _, err := bob.Click(ctx, channel, m["ts"].(string), "answer"); err != nil {
		t.Fatal(err)
	}
	v, err := bob.WaitModal(ctx, func(fakeslack.View) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	if err := bob.CloseView(ctx, v.ID); err != nil {
		t.Fatal(err)
	}
	b.expect("closed")
}

// TestBoltRefuses: Slack's library turns away what is signed with another secret.
func TestBoltRefuses(t *testing.T) {
	t.Parallel()
	o := fakeslack.Example()
	s := start(t, o)
	b := startBolt(t, s, "http")
	port := b.expect("listening")
	o.Apps[0].SigningSecret = "another"
	other := start(t, o)
	if err := other.SetRequestURL(within(t), o.Apps[0].ID, "http://127.0.0.1:"+port+"/slack/events"); err == nil {
		t.Error("the app took a request that is signed with another secret")
	}
}
