package config_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"beckon/config"
	"beckon/hub"
)

var update = flag.Bool("update", false, "write the golden files anew")

// literal is in every secret that a test file wrongly holds; no error may.
const literal = "hunter2"

// key is 32 bytes in base64.
const key = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

func env(name string) (string, bool) {
	v, ok := map[string]string{
		"TOKEN_A": "token-of-a-0123456789", "TOKEN_B": "token-of-b-0123456789", "TOKEN_C": "token-of-c-0123456789",
		"SHORT": "abc", "EMPTY": "", "BLANK": " \n",
		"KEY": key, "KEY_2": strings.ToLower(key[:8]) + key[8:], "SHORT_KEY": "MDEyMzQ1Njc4OWFiY2RlZg==",
		"SLACK_APP": "xapp-1-secret", "SLACK_BOT": "xoxb-1-secret", "SMTP": "smtp-secret",
	}[name]
	return v, ok
}

// slackSection and emailSection are what a channel's config looks like.
type slackSection struct {
	AppToken hub.Secret `yaml:"app_token"`
	BotToken hub.Secret `yaml:"bot_token"`
}

type emailSection struct {
	From string `yaml:"from"`
	SMTP struct {
		Host     string     `yaml:"host"`
		Port     uint16     `yaml:"port"`
		Password hub.Secret `yaml:"password"`
		StartTLS bool       `yaml:"starttls"`
	} `yaml:"smtp"`
	Poll     time.Duration `yaml:"poll"`
	Domains  []string      `yaml:"domains"`
	Rate     float64       `yaml:"rate"`
	Retries  *uint         `yaml:"retries"`
	Accounts []struct {
		User string `yaml:"user"`
	} `yaml:"accounts"`
}

// built holds what the factories made of their sections.
type built struct {
	slack *slackSection
	email *emailSection
	web   bool
}

// factories are channels of every kind; they report what the real ones would.
func factories(b *built) []hub.Factory {
	return []hub.Factory{
		{Name: "slack", People: true, Places: []string{"#", "C"}, New: func(s hub.Section, _ hub.Desk) hub.Channel {
			b.slack = new(slackSection)
			if s.Decode(b.slack) && b.slack.BotToken.IsZero() {
				s.Errorf("bot_token", "is missing")
			}
			return nil
		}},
		{Name: "email", People: true, New: func(s hub.Section, _ hub.Desk) hub.Channel {
			b.email = new(emailSection)
			s.Decode(b.email)
			if b.email.From == "" {
				s.Errorf("from", "is missing")
			}
			if b.email.SMTP.Host != "" && b.email.SMTP.Port == 0 {
				s.Errorf("smtp.port", "must not be 0")
			}
			for i, a := range b.email.Accounts {
				if a.User == "" {
					s.Errorf(fmt.Sprintf("accounts[%d].user", i), "is empty")
					s.Errorf(fmt.Sprintf("accounts[%d].password", i), "is missing")
				}
			}
			return nil
		}},
		{Name: "web", People: true, Implicit: true, New: func(s hub.Section, _ hub.Desk) hub.Channel {
			b.web = true
			return nil
		}},
		{Name: "hook", Places: []string{"https://"}, New: func(s hub.Section, _ hub.Desk) hub.Channel { return nil }},
	}
}

// load does what a program does: parse, build the channels, ask for errors.
func load(name, text string) (*config.Config, *built, error) {
	b := new(built)
	fs := factories(b)
	c, err := config.Parse(name, []byte(text), fs, env)
	if c == nil {
		return nil, b, err
	}
	for _, f := range fs {
		if s, ok := c.Sections[f.Name]; ok {
			f.New(s, nil)
		}
	}
	return c, b, c.Err()
}

// TestGolden reads every file of testdata/*.txtar: NAME.yaml, and after it what
// is said about it: NAME.errors.
func TestGolden(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	bad := 0
	for _, name := range archives {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want := make(map[string]string)
		for _, f := range a.Files {
			if base, ok := strings.CutSuffix(f.Name, ".errors"); ok {
				want[base] = string(f.Data)
			}
		}
		out := &txtar.Archive{Comment: a.Comment}
		for _, f := range a.Files {
			base, ok := strings.CutSuffix(f.Name, ".yaml")
			if !ok {
				continue
			}
			bad++
			got := ""
			t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar")+"/"+base, func(t *testing.T) {
				_, _, err := load("beckon.yaml", string(f.Data))
				if err == nil {
					t.Fatalf("no error for\n%s", f.Data)
				}
				if _, ok := errors.AsType[config.Errors](err); !ok {
					t.Errorf("the error is a %T", err)
				}
				got = err.Error() + "\n"
				if strings.Contains(got, literal) {
					t.Errorf("the secret is in the error:\n%s", got)
				}
				if diff := cmp.Diff(want[base], got); diff != "" && !*update {
					t.Errorf("%s (-want +got):\n%s", f.Data, diff)
				}
			})
			out.Files = append(out.Files, f, txtar.File{Name: base + ".errors", Data: []byte(got)})
		}
		if *update {
			if err := os.WriteFile(name, txtar.Format(out), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if bad < 200 {
		t.Errorf("only %d bad configs", bad)
	}
}
