package main

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"

	"beckon/channels"
	"beckon/config"
	"beckon/hub"
	"beckon/hub/app"
)

// initCmd writes a config to begin with and a key, and says how to go on. It
// never writes over a file.
type initCmd struct {
	Dir    string `arg:"" optional:"" help:"The folder; this one if nothing is said." default:"." placeholder:"DIR"`
	Listen string `help:"Where the hub is to listen." default:"127.0.0.1:8420" placeholder:"HOST:PORT"`
	Person string `help:"The id of the first person." default:"me" placeholder:"ID"`
	Name   string `help:"What people call them; the id if nothing is said." placeholder:"NAME"`
	Agent  string `help:"The id of the first agent." default:"my-agent" placeholder:"ID"`
}

// starter is the config that init writes.
var starter = template.Must(template.New("starter").Funcs(template.FuncMap{"q": strconv.Quote}).Parse(
	`# Beckon's config. A line that begins with "#" and a key is a setting that is off.
# "beckon check" says what is wrong here, and who would be asked, where and when.
# "beckon config" explains every key that there is.

# Where the hub listens. Plain HTTP is for this machine only: beyond it set tls,
# or behind_proxy if a proxy in front speaks TLS; and public_url, which links are
# made of.
listen: {{q .Listen}}
# public_url: https://beckon.example.com
# tls: {cert: /etc/beckon/cert.pem, key: /etc/beckon/key.pem}
# behind_proxy: true

# The database. The hub's key lies beside it; keep a copy of the key elsewhere.
store: {{q .Store}}

# Everybody who can be asked. tz is for the times that they read.
people:
  {{.Person}}: {name: {{q .Name}}{{if .TZ}}, tz: {{q .TZ}}{{end}}}
#  bob: {name: Bob Roy, email: bob@example.com, tz: Europe/Paris}

# Several people under one name.
# teams:
#   oncall: [{{.Person}}, bob]

# Every program that may ask, by its agent.id. "beckon token" makes a token and
# its hash; "token: env:NAME" reads the token itself from the environment.
agents:
  {{q .Agent}}: {token_sha256: {{.Hash}}}

# Who may use /admin/v1 and the operating commands; a token like an agent's.
# operators:
#   ops: {token_sha256: …}

# Who is asked, where and when. The first route that matches counts; the last
# one has no match and takes everything else.
routes:
#  - match: {agent: "deploy/*", type: ask, priority: [high, urgent]}
#    ask: [oncall]                    # who may answer
#    post:
#      - web: {{.Person}}
#      - {web: bob, after: 10m}      # if it is still open then
  - ask: [{{.Person}}]
    post:
      - web: {{.Person}}

# How long messages are kept after they were resolved.
# retention: 30d
`,
))

// nextSteps is what a person does next. Lines that are indented can be pasted.
var nextSteps = template.Must(template.New("steps").Parse(
	`Wrote {{.Config}} and {{.Key}}. Keep a copy of the key apart from the database.

Run the hub:

    {{.Beckon}} serve --config {{.ConfigArg}}

In another terminal, make a link and open it in a browser. It signs you in:

    {{.Beckon}} link {{.Person}} --config {{.ConfigArg}}

Ask yourself something, as the agent does. The token is not shown again:

    export BECKON_URL={{.URL}} BECKON_AGENT={{.AgentArg}} BECKON_TOKEN={{.Token}}
    {{.Beckon}} ask "Does it work?" --option yes=Yes --option no=No --wait 10m
`,
))

// starting is what the two texts are filled with.
type starting struct {
	Listen, Store, Person, Name, TZ, Agent, Hash string

	Config, ConfigArg, Key, URL, AgentArg, Token, Beckon string
}

func (c *initCmd) Run(sh *shell) error {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return usage("%v", err)
	}
	token := hub.NewToken()
	sum := hub.HashToken(token)
	s := &starting{
		Listen: c.Listen, Store: filepath.Join(dir, "beckon.db"), Person: c.Person, Name: c.Name,
		Agent: c.Agent, Hash: hex.EncodeToString(sum[:]),
		Config: filepath.Join(dir, "beckon.yaml"), Token: token, AgentArg: shellWord(c.Agent), Beckon: self(),
	}
	if s.Name == "" {
		s.Name = s.Person
	}
	if zone := localZone().String(); zone != "Local" {
		s.TZ = zone
	}
	s.ConfigArg = shellWord(s.Config)
	text, err := s.config()
	if err != nil {
		return err
	}
	if err := s.write(dir, text); err != nil {
		return err
	}
	var steps strings.Builder
	if err := nextSteps.Execute(&steps, s); err != nil {
		return fmt.Errorf("write the next steps: %w", err)
	}
	return sh.print(strings.TrimSuffix(steps.String(), "\n"))
}

// config renders the starter and reads it as serve will. What does not fit came
// from the flags.
func (s *starting) config() ([]byte, error) {
	var b bytes.Buffer
	if err := starter.Execute(&b, s); err != nil {
		return nil, fmt.Errorf("write the config: %w", err)
	}
	cfg, err := config.Parse(s.Config, b.Bytes(), channels.All(), os.LookupEnv)
	if errs, ok := errors.AsType[config.Errors](err); ok {
		return nil, usage("nothing was written, since the config would be wrong: %s: %s", errs[0].Path, errs[0].Msg)
	} else if err != nil {
		return nil, err
	}
	s.Key, s.URL = app.KeyPath(cfg), cfg.PublicURL
	if s.URL == "" {
		return nil, usage("--listen: must say a port, so that links can be made")
	}
	return b.Bytes(), nil
}

// write makes the key and the config, both or none.
func (s *starting) write(dir string, text []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return usage("%v", err)
	}
	for _, name := range []string{s.Config, s.Key} {
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return usage("%s is there already; nothing was written", name)
		}
	}
	if _, _, err := config.KeyFile(s.Key); err != nil {
		return usage("%v", err)
	}
	f, err := os.OpenFile(s.Config, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err == nil {
		_, err = f.Write(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return errors.Join(usage("%v", err), os.Remove(s.Key))
	}
	return nil
}

// self is how this program was called, as far as that works again.
func self() string {
	switch name := os.Args[0]; {
	case strings.Contains(name, "go-build"):
		return "go run ./cmd/beckon"
	case strings.ContainsRune(name, filepath.Separator):
		return shellWord(name)
	}
	return "beckon"
}

// shellWord quotes a word where a shell needs it.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%=,", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
