package main

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"beckon/channels"
	"beckon/config"
)

// TestFirstTime does what a first-time user does: init, and then exactly what
// it says, each block pasted into a shell. It logs the time from nothing to an
// answered ask.
func TestFirstTime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "first time") // a folder that a shell would split
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"BECKON_TOKEN=", "BECKON_AGENT=", "BECKON_URL=", "BECKON_CONFIG=", "HOME=" + t.TempDir()}
	begin := time.Now()
	lap := func(what string) { t.Logf("%6d ms  %s", time.Since(begin).Milliseconds(), what) }

	p := start(t, t.TempDir(), env, "exec beckon init --listen 127.0.0.1:"+port+" "+shellWord(dir))
	p.wait(t)
	lap("the config and the key are written")
	steps := pasteable(p.text())
	if len(steps) != 3 {
		t.Fatalf("%d steps:\n%s", len(steps), p.text())
	}

	hub := start(t, t.TempDir(), env, steps[0])
	hub.await(t, "msg=serving")
	lap("the hub serves")
	l := start(t, t.TempDir(), env, steps[1])
	l.wait(t)
	link := l.await(t, `http://\S+/l/\S+`)
	lap("there is a link to sign in by")
	ask := start(t, t.TempDir(), env, steps[2])
	if err := browse(link, "Does it work?", "answer", url.Values{"option": {"1"}}); err != nil {
		t.Fatal(err)
	}
	ask.wait(t)
	ask.await(t, `(?m)^yes$`)
	lap("the ask is answered")
	hub.interrupt(t)

	info, err := os.Stat(filepath.Join(dir, "beckon.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file: %v, %v", info.Mode(), err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "beckon.yaml"))
	token := regexp.MustCompile(`bkn_[a-z2-7]{32}`).FindString(p.text())
	if err != nil || token == "" || strings.Contains(string(text), token) {
		t.Errorf("the token %q is not shown, or is in the file: %v", token, err)
	}
}

// pasteable returns the indented blocks of a text.
func pasteable(text string) (blocks []string) {
	for block := range strings.SplitSeq(text, "\n\n") {
		if strings.HasPrefix(block, "    ") {
			blocks = append(blocks, strings.ReplaceAll("\n"+block, "\n    ", "\n"))
		}
	}
	return blocks
}

// What is commented out in the starter is right too.
func TestStarterComments(t *testing.T) {
	t.Parallel()
	s := &starting{
		Listen: "127.0.0.1:8420", Store: "/x/beckon.db", Person: "me", Name: "Me", Agent: "my-agent",
		Hash: strings.Repeat("0f", 32), Config: "/x/beckon.yaml",
	}
	text, err := s.config()
	if err != nil {
		t.Fatal(err)
	}
	// Settings that are off: "# key:" at the top, "#  " inside a mapping.
	on := regexp.MustCompile(`(?m)^# ((?:public_url|behind_proxy|teams|operators|retention):|  (?:oncall|ops):)`).ReplaceAllString(string(text), "$1")
	on = regexp.MustCompile(`(?m)^#(  +\S)`).ReplaceAllString(on, " $1")
	on = strings.NewReplacer("   bob", "  bob", "   - match", "  - match", "     ask", "    ask", "     post", "    post", "       - ", "      - ",
		"token_sha256: …", "token_sha256: "+strings.Repeat("0e", 32)).Replace(on)
	for _, key := range []string{"public_url:", "behind_proxy:", "teams:", "operators:", "retention:", "  bob:", "  - match:"} {
		if !strings.Contains(on, "\n"+key) {
			t.Errorf("%s is still off", key)
		}
	}
	c, err := config.Parse("beckon.yaml", []byte(on), channels.All(), os.LookupEnv)
	if err != nil {
		t.Fatalf("%v\n%s", err, on)
	}
	if len(c.Directory.Routes) != 2 || len(c.Directory.Teams) != 1 || len(c.Directory.Operators) != 1 {
		t.Errorf("%d routes, %d teams, %d operators", len(c.Directory.Routes), len(c.Directory.Teams), len(c.Directory.Operators))
	}
}
