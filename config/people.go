package config

import (
	"encoding/hex"
	"fmt"
	"maps"
	"net/mail"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // so that tz works on a machine without zone files
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"beckon/hub"
)

var (
	idPattern    = regexp.MustCompile(`^[a-z0-9._-]{1,64}$`)
	slackPattern = regexp.MustCompile(`^[UW][A-Z0-9]{2,20}$`)
	hostPattern  = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?(:[0-9]{1,5})?$`)
)

// shortToken is the length below which a token can be guessed.
const shortToken = 16

// directory reads who and what the hub knows, but for the routes.
func (c *Config) directory(f *file) {
	c.Directory = &hub.Directory{
		PublicURL: c.PublicURL,
		People:    make(map[string]*hub.Person, len(f.People)),
		Teams:     make(map[string][]string, len(f.Teams)),
		Agents:    make(map[string]*hub.Agent, len(f.Agents)),
		Operators: make(map[string]*hub.Operator, len(f.Operators)),
		Retention: f.Retention,
		Push:      &c.Callbacks,
	}
	c.people(f)
	c.teams(f)
	t := tokens{c: c, owners: make(map[hub.TokenHash]string)}
	c.operators(f, &t)
	c.agents(f, &t)
	c.rules(f)
}

func (c *Config) people(f *file) {
	root := path{}.key("people")
	emails, slacks := make(map[string]string), make(map[string]string)
	for _, id := range slices.Sorted(maps.Keys(f.People)) {
		p, in := root.key(id), f.People[id]
		c.checkID(p, id)
		person := &hub.Person{ID: id, Name: in.Name, Email: in.Email, Slack: in.Slack, Location: time.UTC}
		c.Directory.People[id] = person
		if person.Name == "" {
			person.Name = id
		}
		for _, v := range []struct{ key, value string }{{"name", in.Name}, {"email", in.Email}, {"slack", in.Slack}, {"tz", in.TZ}} {
			c.notEmpty(p.key(v.key), v.value)
		}
		if !printable(person.Name) {
			c.errorf(p.key("name"), "must be plain text of at most 100 letters")
		}
		if in.Email != "" {
			c.email(p.key("email"), id, in.Email, emails)
		}
		if in.Slack != "" {
			c.slack(p.key("slack"), id, in.Slack, slacks)
		}
		if in.TZ != "" {
			loc, err := time.LoadLocation(in.TZ)
			if err != nil || in.TZ == "Local" {
				c.errorf(p.key("tz"), "no time zone %q; it must be a name such as Europe/Paris", in.TZ)
				continue
			}
			person.Location = loc
		}
	}
}

// notEmpty refuses text that is there and says nothing.
func (c *Config) notEmpty(p path, value string) {
	if n := c.find(p); value == "" && n != nil && n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		c.errorf(p, "is empty: give it a value, or leave it out")
	}
}

func (c *Config) email(p path, id, address string, seen map[string]string) {
	a, err := mail.ParseAddress(address)
	if err != nil || a.Name != "" || a.Address != address || !printable(address) {
		c.errorf(p, "must be a mail address such as alice@example.com")
		return
	}
	c.unique(p, id, strings.ToLower(address), seen)
}

func (c *Config) slack(p path, id, user string, seen map[string]string) {
	if !slackPattern.MatchString(user) {
		c.errorf(p, "must be a Slack member id such as U012ABCDEF (in Slack: profile, More, Copy member ID)")
		return
	}
	c.unique(p, id, user, seen)
}

// unique refuses what would make two people one: an answer from there could be
// either's.
func (c *Config) unique(p path, id, value string, seen map[string]string) {
	if other, ok := seen[value]; ok {
		c.errorf(p, "is the same as that of %s", other)
		return
	}
	seen[value] = id
}

func (c *Config) teams(f *file) {
	root, names := path{}.key("teams"), slices.Collect(maps.Keys(f.People))
	for _, id := range slices.Sorted(maps.Keys(f.Teams)) {
		p, members := root.key(id), f.Teams[id]
		c.checkID(p, id)
		if _, taken := f.People[id]; taken {
			c.keyErrorf(p, "is the name of a person too; people and teams share their names")
		}
		c.Directory.Teams[id] = []string{}
		if n := c.find(p); n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
			c.errorf(p, "has no members")
		}
		seen := make(map[string]bool, len(members))
		for i, m := range members {
			switch {
			case m == "": // or not text, which the decoder has reported
				c.notEmpty(p.at(i), m)
			case seen[m]:
				c.errorf(p.at(i), "%q comes twice", m)
			case c.Directory.People[m] != nil:
				seen[m] = true
				c.Directory.Teams[id] = append(c.Directory.Teams[id], m)
			case f.Teams[m] != nil:
				c.errorf(p.at(i), "%q is a team; a team holds people", m)
			case c.readable("people"):
				c.errorf(p.at(i), "no person %q%s", m, c.nameHint(m, names))
			}
		}
	}
}

// readable reports whether a top-level key is a mapping or absent, so that its
// names are known.
func (c *Config) readable(key string) bool {
	n := c.find(path{}.key(key))
	return n == nil || n.Kind == yaml.MappingNode
}

func (c *Config) checkID(p path, id string) {
	if !idPattern.MatchString(id) {
		what := ""
		if strings.Contains(id, ":{") || strings.Contains(id, ":[") {
			what = "; is a space missing after the colon?"
		}
		c.keyErrorf(p, "a name must be of a-z, 0-9, dot, _ and -, at most 64%s", what)
	}
}

// nameHint says what was probably meant by a name that is no person's: a person
// in another notation, an agent, or a name that is spelt nearly so.
func (c *Config) nameHint(written string, names []string) string {
	if c.full() {
		return "" // nobody will read it
	}
	for _, prefix := range []string{"human:", "@"} {
		if id, ok := strings.CutPrefix(written, prefix); ok && slices.Contains(names, id) {
			return fmt.Sprintf(" (write %q)", id)
		}
	}
	if c.isAgent(written) || c.isAgent(strings.TrimPrefix(written, "agent:")) {
		return " (it is an agent, and only people can be asked)"
	}
	if strings.Contains(written, "@") {
		for _, id := range slices.Sorted(maps.Keys(c.Directory.People)) {
			if p := c.Directory.People[id]; p.Email != "" && strings.Contains(strings.ToLower(written), strings.ToLower(p.Email)) {
				return fmt.Sprintf(" (write %q)", id)
			}
		}
	}
	return hint(written, names)
}

func (c *Config) isAgent(id string) bool {
	_, value := c.child(c.find(path{}.key("agents")), step{id, -1})
	return value != nil
}

func printable(s string) bool {
	return utf8.RuneCountInString(s) <= 100 && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// tokens makes sure that a token says who presents it.
type tokens struct {
	c      *Config
	owners map[hub.TokenHash]string
}

// read returns the hashes of somebody's tokens.
func (t *tokens) read(p path, plain []hub.Secret, hashed []string) (out []hub.TokenHash) {
	if t.c.find(p.key("token")) == nil && t.c.find(p.key("token_sha256")) == nil {
		t.c.errorf(p, "has no credential: set token (env:NAME or file:/path), or token_sha256")
	}
	for _, key := range []string{"token", "token_sha256"} {
		if n := t.c.find(p.key(key)); n != nil && n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
			t.c.errorf(p.key(key), "is empty")
		}
	}
	for i, s := range plain {
		if s.IsZero() {
			continue // reported by the decoder
		}
		q := t.item(p.key("token"), i)
		if len(s.Reveal()) < shortToken {
			t.c.warnf(q, "is shorter than %d letters and can be guessed", shortToken)
		}
		out = t.add(q, p, hub.HashToken(s.Reveal()), out)
	}
	for i, s := range hashed {
		q := t.item(p.key("token_sha256"), i)
		b, err := hex.DecodeString(s)
		if err != nil || len(b) != len(hub.TokenHash{}) {
			if n := t.c.find(q); n.ShortTag() == "!!str" {
				t.c.errorf(q, "must be the SHA-256 of the token in hex, 64 digits; or use token: env:NAME")
			}
			continue
		}
		out = t.add(q, p, hub.TokenHash(b), out)
	}
	return out
}

// item is the path of one of several values that may be written alone.
func (t *tokens) item(p path, i int) path {
	if n := t.c.find(p); n != nil && n.Kind == yaml.SequenceNode {
		return p.at(i)
	}
	return p
}

func (t *tokens) add(q, owner path, h hub.TokenHash, out []hub.TokenHash) []hub.TokenHash {
	if other, ok := t.owners[h]; ok {
		t.c.errorf(q, "is the same token as one of %s", other)
		return out
	}
	t.owners[h] = owner.String()
	return append(out, h)
}

func (c *Config) operators(f *file, t *tokens) {
	root := path{}.key("operators")
	for _, id := range slices.Sorted(maps.Keys(f.Operators)) {
		p, in := root.key(id), f.Operators[id]
		c.checkID(p, id)
		if c.mapping(p) {
			c.Directory.Operators[id] = &hub.Operator{ID: id, Tokens: t.read(p, in.Token, in.TokenSHA256)}
		}
	}
}

func (c *Config) agents(f *file, t *tokens) {
	root := path{}.key("agents")
	for _, id := range slices.Sorted(maps.Keys(f.Agents)) {
		p, in := root.key(id), f.Agents[id]
		if !agentID(id) {
			c.keyErrorf(p, "an agent's id is 1 to 200 letters without spaces, #, *, ?, [, ] and \\")
		}
		if !c.mapping(p) {
			continue
		}
		c.Directory.Agents[id] = &hub.Agent{
			ID: id, Tokens: t.read(p, in.Token, in.TokenSHA256), Secrets: c.secrets(p, in), Callbacks: c.agentCallbacks(p, in),
		}
	}
}

// mapping reports whether the value can hold a credential at all; if not, the
// decoder has said so, but for an empty one.
func (c *Config) mapping(p path) bool {
	n := c.find(p)
	return n.Kind == yaml.MappingNode || null(n)
}

// agentID refuses what no agent may be called: "#" sets a session apart from
// v0.5 on, and the others are for patterns in routes.
func agentID(id string) bool {
	return id != "" && utf8.RuneCountInString(id) <= 200 &&
		!strings.ContainsFunc(id, func(r rune) bool {
			return !unicode.IsPrint(r) || unicode.IsSpace(r) || strings.ContainsRune(`#*?[]\`, r)
		})
}

// secrets returns an agent's secrets by the names that messages use. "env:" in
// front is dropped, as in secret_ref.
func (c *Config) secrets(p path, in agentFile) map[string]hub.Secret {
	out := make(map[string]hub.Secret, len(in.Secrets))
	for _, name := range slices.Sorted(maps.Keys(in.Secrets)) {
		short := strings.TrimPrefix(name, "env:")
		q := p.key("secrets").key(name)
		if short == "" || !printable(short) || strings.ContainsFunc(short, unicode.IsSpace) {
			c.keyErrorf(q, "must be a name such as MA2H_CALLBACK_SECRET")
			continue
		}
		if short == hub.SignEd25519 {
			c.keyErrorf(q, "is what sign calls the hub's own key; take another name")
			continue
		}
		if _, twice := out[short]; twice {
			c.keyErrorf(q, "is there already, without or with env: in front")
			continue
		}
		out[short] = in.Secrets[name]
	}
	return out
}

// secretNames are the names that sign may take of an agent's secrets.
func secretNames(in agentFile) (names []string) {
	for name := range in.Secrets {
		names = append(names, strings.TrimPrefix(name, "env:"))
	}
	slices.Sort(names)
	return names
}

func (c *Config) agentCallbacks(p path, in agentFile) (out []hub.CallbackHost) {
	names := secretNames(in)
	for i, cb := range in.Callbacks {
		q := p.key("callbacks").at(i)
		n := c.find(q)
		if n.Kind != yaml.MappingNode {
			continue // reported by the decoder
		}
		host, sign := strings.ToLower(cb.Host), strings.TrimPrefix(cb.Sign, "env:")
		for _, key := range []string{"host", "sign"} {
			if c.find(q.key(key)) == nil {
				c.errorf(q.key(key), "is missing: a callback needs host, and sign, the name of the secret that signs")
			}
		}
		if h := c.find(q.key("host")); h != nil && h.ShortTag() == "!!str" && !validHost(host) {
			c.errorf(q.key("host"), "must be a host or host:port, without scheme and path")
		}
		if s := c.find(q.key("sign")); s != nil && s.ShortTag() == "!!str" && sign != hub.SignEd25519 {
			c.signer(q.key("sign"), sign, names)
		}
		if slices.ContainsFunc(out, func(o hub.CallbackHost) bool { return o.Host == host }) && host != "" {
			c.errorf(q.key("host"), "comes twice")
		}
		out = append(out, hub.CallbackHost{Host: host, Sign: sign})
	}
	return out
}

// signer reports a name that is none of the agent's secrets.
func (c *Config) signer(p path, name string, names []string) bool {
	if slices.Contains(names, name) {
		return true
	}
	c.errorf(p, "no secret %q in this agent's secrets%s", name, hint(name, names))
	return false
}

func validHost(host string) bool {
	if hostPattern.MatchString(host) && !strings.Contains(host, "..") {
		return true
	}
	if _, err := netip.ParseAddrPort(host); err == nil {
		return true
	}
	inner, ok := strings.CutPrefix(host, "[")
	inner, ok2 := strings.CutSuffix(inner, "]")
	_, err := netip.ParseAddr(inner)
	return ok && ok2 && err == nil
}

// rules reads what holds for all messages.
func (c *Config) rules(f *file) {
	d := c.Directory
	c.notEmpty(path{}.key("resolvers"), f.Resolvers)
	switch f.Resolvers {
	case "":
	case "submitter":
		d.ResolversSubmitter = true
	default:
		c.errorf(path{}.key("resolvers"), "must be submitter, or left out%s", hint(f.Resolvers, []string{"submitter"}))
	}
	// An idempotency key must be good for 24 h (spec §8.1).
	if f.Retention < 24*time.Hour {
		c.errorf(path{}.key("retention"), "must be at least 24h")
	} else if f.Retention > maxRetention {
		c.errorf(path{}.key("retention"), "must be at most %s", literal(reflect.ValueOf(maxRetention)))
	}
	for i, pattern := range f.Redact {
		p := path{}.key("redact").at(i)
		re, err := regexp.Compile(pattern)
		switch {
		case c.find(p).ShortTag() != "!!str": // reported by the decoder
		case err != nil:
			c.errorf(p, "%v", err)
		case re.MatchString(""):
			c.errorf(p, "matches the empty text, so it would mask everywhere")
		default:
			d.Redact = append(d.Redact, re)
		}
	}
	c.limits(f)
}

// maxRetention is a hundred years.
const maxRetention = 36500 * 24 * time.Hour

// What the limit of an envelope may be, in bytes.
const (
	minEnvelope = 1 << 10
	maxEnvelope = 64 << 20
)

func zeroIsNone(least int) string {
	if least == 0 {
		return "; 0 is no limit"
	}
	return ""
}

func (c *Config) limits(f *file) {
	p, l := path{}.key("limits"), f.Limits
	whole := max(l.Envelope, minEnvelope)
	for _, v := range []struct {
		key             string
		value, min, max size
	}{
		{"envelope", l.Envelope, minEnvelope, maxEnvelope},
		{"body", l.Body, 1, whole},
		{"part", l.Part, 1, whole},
	} {
		n := c.find(p.key(v.key))
		if n == nil || new(size).UnmarshalText([]byte(n.Value)) != nil {
			continue // absent, or reported by the decoder
		}
		if v.value < v.min {
			c.errorf(p.key(v.key), "must be at least %s", literal(reflect.ValueOf(v.min)))
		} else if v.value > v.max {
			what := ""
			if v.key != "envelope" {
				what = ", as the envelope is"
			}
			c.errorf(p.key(v.key), "must be at most %s%s", literal(reflect.ValueOf(v.max)), what)
		}
	}
	for _, v := range []struct {
		key             string
		value, min, max int
	}{
		{"parts", l.Parts, 1, 1000},
		{"options", l.Options, 2, 1000},
		{"fields", l.Fields, 1, 1000},
		{"requests_per_minute", l.RequestsPerMinute, 0, 1_000_000_000},
		{"open_messages", l.OpenMessages, 0, 1_000_000_000},
	} {
		if c.find(p.key(v.key)) != nil && (v.value < v.min || v.value > v.max) {
			c.errorf(p.key(v.key), "must be %d to %d%s", v.min, v.max, zeroIsNone(v.min))
		}
	}
	// A smaller envelope bounds what is in it, said or not.
	c.Directory.Limits = hub.Limits{
		Envelope: int(l.Envelope), Body: min(int(l.Body), int(l.Envelope)), Part: min(int(l.Part), int(l.Envelope)),
		Parts: l.Parts, Options: l.Options, Fields: l.Fields,
		RequestsPerMinute: l.RequestsPerMinute, OpenMessages: l.OpenMessages,
	}
}
