package config

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"beckon/hub"
)

// file is the config file as it is written. The examples in examples/ and the
// README explain the keys.
type file struct {
	Listen         string                  `yaml:"listen"`
	PublicURL      string                  `yaml:"public_url"`
	Store          string                  `yaml:"store"`
	Keys           []hub.Secret            `yaml:"keys"`
	TLS            *tlsFile                `yaml:"tls"`
	BehindProxy    bool                    `yaml:"behind_proxy"`
	TrustedProxies []network               `yaml:"trusted_proxies"`
	Operators      map[string]operatorFile `yaml:"operators"`
	People         map[string]personFile   `yaml:"people"`
	Teams          map[string][]string     `yaml:"teams"`
	Agents         map[string]agentFile    `yaml:"agents"`
	Channels       map[string]skip         `yaml:"channels"` // each channel reads its own
	Routes         []routeFile             `yaml:"routes"`
	Resolvers      string                  `yaml:"resolvers"`
	Retention      time.Duration           `yaml:"retention"`
	Limits         limitsFile              `yaml:"limits"`
	Redact         []string                `yaml:"redact"`
	Templates      string                  `yaml:"templates"`
	Callbacks      callbackRules           `yaml:"callbacks"`
}

type tlsFile struct {
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
}

type personFile struct {
	Name  string `yaml:"name"`
	Email string `yaml:"email"`
	Slack string `yaml:"slack"`
	TZ    string `yaml:"tz"`
}

type operatorFile struct {
	Token       []hub.Secret `yaml:"token,single"`
	TokenSHA256 []string     `yaml:"token_sha256,single"`
}

type agentFile struct {
	Token       []hub.Secret          `yaml:"token,single"`
	TokenSHA256 []string              `yaml:"token_sha256,single"`
	Secrets     map[string]hub.Secret `yaml:"secrets"`
	Callbacks   []callbackFile        `yaml:"callbacks"`
}

type callbackFile struct {
	Host string `yaml:"host"`
	Sign string `yaml:"sign"`
}

type routeFile struct {
	Name      string              `yaml:"name"`
	Match     *matchFile          `yaml:"match"`
	Ask       []string            `yaml:"ask,single"`
	Resolvers string              `yaml:"resolvers"`
	Post      []map[string]scalar `yaml:"post"` // a channel's address by its name, and "after"
}

type matchFile struct {
	Agent    []string          `yaml:"agent,single"`
	Project  []string          `yaml:"project,single"`
	Type     []string          `yaml:"type,single"`
	Priority []string          `yaml:"priority,single"`
	Tags     []string          `yaml:"tags,single"`
	Runtime  []string          `yaml:"runtime,single"`
	Labels   map[string]string `yaml:"labels"`
}

type limitsFile struct {
	Envelope          size `yaml:"envelope"`
	Body              size `yaml:"body"`
	Part              size `yaml:"part"`
	Parts             int  `yaml:"parts"`
	Options           int  `yaml:"options"`
	Fields            int  `yaml:"fields"`
	RequestsPerMinute int  `yaml:"requests_per_minute"`
	OpenMessages      int  `yaml:"open_messages"`
}

type callbackRules struct {
	V01           string `yaml:"v0_1"`
	AllowLoopback bool   `yaml:"allow_loopback"`
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
