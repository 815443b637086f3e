package config

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"beckon/hub"
)

// file is the config file as it is written. The tags make the reference of all
// keys (see [Reference]): doc says what a key is for, eg is an example of its
// value in YAML, key an example of a name in a mapping by name, also further
// items of a list, and off writes the key as a comment, for it does not go with
// the others or is better left out. What [newFile] sets is the default.
type file struct {
	Listen         string                  `yaml:"listen" doc:"Where the hub listens: IP address and port. Plain HTTP is for this machine only: beyond it set tls, or behind_proxy if a proxy in front speaks TLS."`
	PublicURL      string                  `yaml:"public_url" doc:"What people and agents reach the hub by: scheme and host, without a path. Links are made of it. Left out, it is what listen says; beyond this machine it must be there." eg:"https://beckon.example.com"`
	BehindProxy    bool                    `yaml:"behind_proxy" doc:"A proxy in front speaks TLS, and the hub may listen on plain HTTP for it." eg:"true"`
	TrustedProxies []network               `yaml:"trusted_proxies" doc:"Whose X-Forwarded-For says who the caller is: addresses and networks. Goes with behind_proxy; left out, it is a proxy on this machine." eg:"[127.0.0.0/8, \"::1\"]"`
	TLS            *tlsFile                `yaml:"tls" doc:"Lets the hub speak TLS itself, 1.2 or newer, and HTTP/2. Renewed files are taken without a restart." off:"true"`
	Store          string                  `yaml:"store" doc:"The database: the path of an SQLite file, which the first start makes. Backups need it and the key."`
	Keys           []hub.Secret            `yaml:"keys" doc:"The hub's keys, 32 bytes or more in base64: the first signs links and cookies, all verify. To replace one, put the new one first. Left out, a key file beside the database is used, which the first start makes." eg:"[env:BECKON_KEY, file:/etc/beckon/old.key]" off:"true"`
	Operators      map[string]operatorFile `yaml:"operators" doc:"Who may use /admin/v1 and the operating commands, by name." key:"ops"`
	People         map[string]personFile   `yaml:"people" doc:"Everybody whom the hub can ask, by id: a-z, 0-9, dot, _ and -. Answers come from human:ID. A person needs what the channels need that are to reach them." key:"alice" also:"bob: {name: Bob Roy, email: bob@example.com, tz: Europe/Paris}"`
	Teams          map[string][]string     `yaml:"teams" doc:"Lists of people by a name, which is no person's." eg:"\noncall: [alice, bob]"`
	Agents         map[string]agentFile    `yaml:"agents" doc:"Every program that may ask, by its agent.id." key:"deploybot/dev-team"`
	Channels       map[string]skip         `yaml:"channels" doc:"The ways in which people are reached, each with keys of its own. web, the page, is there without being named."`
	Routes         []routeFile             `yaml:"routes" doc:"Who is asked, where and when. The first route that matches a message counts; the last one has no match and takes everything else." also:"ask: [alice]\npost: [{web: alice}]"`
	Resolvers      string                  `yaml:"resolvers" doc:"submitter holds every route to the letter of MA2H 0.2 and later: unless a message names others, only the agent that sent it may resolve it. Left out, a route's ask says who may." eg:"submitter" off:"true"`
	Retention      time.Duration           `yaml:"retention" doc:"How long a message is kept after it was resolved, a notify after it came; at least 24h. What is open is kept."`
	Limits         limitsFile              `yaml:"limits" doc:"What a message may hold and an agent may do. Agents are told, and more is refused. Sizes are bytes, or KiB and MiB."`
	Redact         []string                `yaml:"redact" doc:"Regular expressions (RE2) of what is masked in agents' text before anybody sees it, besides the shapes of secrets that the hub knows." eg:"['ACME-[0-9]{6}']"`
	Templates      string                  `yaml:"templates" doc:"A folder whose files replace the built-in words and pages, file by file, such as web/item.html." eg:"/etc/beckon/templates" off:"true"`
	Callbacks      callbackRules           `yaml:"callbacks" doc:"Rules of pushes to agents."`
}

type tlsFile struct {
	Cert string `yaml:"cert" doc:"The certificate, and those between it and the root, in PEM." eg:"/etc/beckon/cert.pem"`
	Key  string `yaml:"key" doc:"Its private key in PEM, without a passphrase; nobody else may read the file." eg:"/etc/beckon/key.pem"`
}

type personFile struct {
	Name  string `yaml:"name" doc:"What people call them; the id if left out." eg:"Alice Ng"`
	Email string `yaml:"email" doc:"Their mail address, which is nobody else's." eg:"alice@example.com"`
	Slack string `yaml:"slack" doc:"Their Slack member id (in Slack: profile, More, Copy member ID)." eg:"U0ALICE"`
	TZ    string `yaml:"tz" doc:"The time zone of the times that they read, such as Europe/Paris; UTC if left out." eg:"Asia/Singapore"`
}

type operatorFile struct {
	Token       []hub.Secret `yaml:"token,single" doc:"The credential; a list while it is being replaced." eg:"env:OPS_TOKEN" off:"true"`
	TokenSHA256 []string     `yaml:"token_sha256,single" doc:"Its SHA-256 in hex, so that it need not be on this machine. beckon token makes both." eg:"8a1a2f9b6d5b6c1a2e0f7c3d4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a6978"`
}

type agentFile struct {
	Token       []hub.Secret          `yaml:"token,single" doc:"The credential; a list while it is being replaced." eg:"env:DEPLOYBOT_TOKEN"`
	TokenSHA256 []string              `yaml:"token_sha256,single" doc:"The same by its SHA-256 in hex. beckon token makes both." eg:"[0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0]"`
	Secrets     map[string]hub.Secret `yaml:"secrets" doc:"What secret_ref and token_ref of a message's callback may name, with or without env: in front." eg:"\nMA2H_CALLBACK_SECRET: env:DEPLOYBOT_CALLBACK_SECRET"`
	Callbacks   []callbackFile        `yaml:"callbacks" doc:"Where the agent's callbacks may go."`
	Directives  []string              `yaml:"directives,single" doc:"People and teams who may write to the agent; nobody else may. It takes what they write out of its inbox." eg:"[oncall]"`
	Sign        string                `yaml:"sign" doc:"The name in secrets of the key that signs what people write to the agent; that of its first callback if left out, or its only secret." eg:"MA2H_CALLBACK_SECRET"`
}

type callbackFile struct {
	Host string `yaml:"host" doc:"Host, or host:port; without a port it is that of https." eg:"agent.example.com"`
	Sign string `yaml:"sign" doc:"The name in secrets of the key that signs; or ed25519, a key of the hub's own whose public half everybody may read at /.well-known/ma2h." eg:"MA2H_CALLBACK_SECRET"`
}

type routeFile struct {
	Name      string              `yaml:"name" doc:"For people who look; its position if left out." eg:"incidents"`
	Match     *matchFile          `yaml:"match" doc:"Which messages it takes: all that is said must match. In a pattern * stands for any letters but /, ? for one, [a-z] for one of those. Each key takes one value or a list, of which one must match."`
	Ask       []string            `yaml:"ask,single" doc:"Who may answer, people and teams, unless the message names others. Left out: only the agent that sent the message." eg:"[oncall]"`
	Resolvers string              `yaml:"resolvers" doc:"submitter holds this route to the letter of MA2H, as resolvers does for all." eg:"submitter" off:"true"`
	OnAway    string              `yaml:"on_away" doc:"escalate: when an automatic reply says that somebody is away, the next entry of post goes at once." eg:"escalate" off:"true"`
	Post      []map[string]scalar `yaml:"post" doc:"Where it goes: a channel with a person, a team (each member gets a copy) or a place of the channel. after makes an entry wait so long, and it goes out only if the message is still open; it does not wait when all before it have failed." eg:"\n- web: alice\n- {web: oncall, after: 10m}"`
}

type matchFile struct {
	Agent    []string          `yaml:"agent,single" doc:"Patterns of agent.id." eg:"deploybot/*"`
	Project  []string          `yaml:"project,single" doc:"Patterns of agent.project." eg:"[web-*, api]"`
	Type     []string          `yaml:"type,single" doc:"notify, ask or task." eg:"[ask, task]"`
	Priority []string          `yaml:"priority,single" doc:"low, normal, high or urgent." eg:"[high, urgent]"`
	Tags     []string          `yaml:"tags,single" doc:"Patterns, of which one must match one of the tags." eg:"deploy"`
	Runtime  []string          `yaml:"runtime,single" doc:"Patterns of agent.runtime: github-actions, cli, cloud, desktop, openclaw or other." eg:"[cli, github-actions]"`
	Labels   map[string]string `yaml:"labels" doc:"A pattern for each of these agent.labels, which must all match." eg:"\nenv: prod*"`
}

type limitsFile struct {
	Envelope          size `yaml:"envelope" doc:"The whole message, 1KiB to 64MiB."`
	Body              size `yaml:"body" doc:"Its body."`
	Part              size `yaml:"part" doc:"One part of its context."`
	Parts             int  `yaml:"parts" doc:"How many parts its context has, at most 1000."`
	Options           int  `yaml:"options" doc:"How many options an ask has, and items a checklist, 2 to 1000."`
	Fields            int  `yaml:"fields" doc:"How many fields the form of an ask has, at most 1000."`
	RequestsPerMinute int  `yaml:"requests_per_minute" doc:"How many requests an agent makes a minute; 0: any number."`
	OpenMessages      int  `yaml:"open_messages" doc:"How many messages of an agent are open; 0: any number."`
}

type callbackRules struct {
	V01           string `yaml:"v0_1" doc:"sign: a callback of a 0.1 message is signed in the way of 0.1. refuse: such a message is refused."`
	AllowLoopback bool   `yaml:"allow_loopback" doc:"Lets callbacks go to this machine, for development; not when the hub listens beyond it."`
}

// defaultRetention counts from resolution (spec §8.2).
const defaultRetention = 30 * 24 * time.Hour

func newFile() *file {
	d := hub.DefaultLimits
	return &file{
		Listen: DefaultListen, Store: DefaultStore, Retention: defaultRetention,
		Limits: limitsFile{
			size(d.Envelope), size(d.Body), size(d.Part), d.Parts,
			d.Options, d.Fields, d.RequestsPerMinute, d.OpenMessages,
		},
		Callbacks: callbackRules{V01: "sign"},
	}
}

// skip is a value that somebody else reads.
type skip struct{}

// scalar is a value whose type the reader of the routes looks at.
type scalar string

func (s *scalar) UnmarshalText(b []byte) error {
	*s = scalar(b)
	return nil
}

// size is a number of bytes: 4096, 256KiB, 1MiB.
type size int

func (s *size) UnmarshalText(b []byte) error {
	text, unit := string(b), 1
	for suffix, n := range map[string]int{"KiB": 1 << 10, "MiB": 1 << 20} {
		if number, ok := strings.CutSuffix(text, suffix); ok {
			text, unit = strings.TrimSpace(number), n
		}
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n > (1<<31-1)/uint64(unit) {
		return errors.New("must be a size such as 4096, 256KiB or 1MiB")
	}
	*s = size(n) * size(unit)
	return nil
}

// network is an address or a network of addresses.
type network netip.Prefix

func (n *network) UnmarshalText(b []byte) error {
	if a, err := netip.ParseAddr(string(b)); err == nil && a.Zone() == "" {
		*n = network(netip.PrefixFrom(a, a.BitLen()))
		return nil
	}
	p, err := netip.ParsePrefix(string(b))
	if err != nil {
		return errors.New("must be an address or a network, such as 10.0.0.7 or 10.0.0.0/8")
	}
	*n = network(p.Masked())
	return nil
}
