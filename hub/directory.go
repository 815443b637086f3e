package hub

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/url"
	"regexp"
	"time"

	"beckon/hub/ma2h"
)

// Directory is who and what the hub knows: one config, frozen. A reload swaps
// the whole of it.
type Directory struct {
	PublicURL string // no trailing slash
	People    map[string]*Person
	Teams     map[string][]string // team id → person ids, in order
	Agents    map[string]*Agent
	Operators map[string]*Operator
	Routes    []Route // first match wins; the last matches everything
	// ResolversSubmitter keeps the letter of v0.2: without allowed_resolvers
	// only the submitting agent may resolve, whatever a route says.
	ResolversSubmitter bool
	Limits             Limits
	Redact             []*regexp.Regexp // masked in agent text besides the known shapes
	Retention          time.Duration    // counts from resolution
	Channels           map[string]bool  // the channels that are configured
	Push               *PushRules       // nil: this hub does not push
}

// Person is someone whom the hub can reach. The actor is "human:" and ID.
type Person struct {
	ID       string
	Name     string // what people call them; ID when the config has none
	Email    string
	Slack    string
	Location *time.Location // never nil
}

// Actor is the person's identity on the wire.
func (p *Person) Actor() string { return "human:" + p.ID }

// TokenHash is the SHA-256 of a bearer token. The hub keeps no token.
type TokenHash [sha256.Size]byte

// HashToken hashes a presented token.
func HashToken(token string) TokenHash { return sha256.Sum256([]byte(token)) }

// Agent is a program with a credential scoped to one agent.id.
type Agent struct {
	ID     string
	Tokens []TokenHash // several while rotating
	// Secrets are what the agent's secret_ref and token_ref may name, without
	// "env:".
	Secrets   map[string]Secret
	Callbacks []CallbackHost
	// Directors are the ids of the people who may write to the agent: nobody else
	// may (spec §13).
	Directors []string
	// InboxKey signs the directives that the agent takes out of its inbox (spec
	// §9.7). It is set whenever there are Directors.
	InboxKey Secret
}

// Actor is the agent's identity on the wire.
func (a *Agent) Actor() string { return "agent:" + a.ID }

// Operator is somebody who runs the hub.
type Operator struct {
	ID     string
	Tokens []TokenHash
}

// Route picks, for a message, who may answer and which targets get it, when.
type Route struct {
	Name  string // "routes[0]" when the config names none
	Match *Match // nil matches everything
	// Ask holds person ids with teams expanded, in order; nil when the route
	// has no ask, so that only the submitter may resolve.
	Ask       []string
	Submitter bool // resolvers: submitter
	// OnAway: when an automatic reply says that somebody is away, the next entry
	// of Post goes at once (on_away: escalate).
	OnAway bool
	Post   []Entry
}

// Entry is one entry of a route's post list.
type Entry struct {
	Targets []Target // a team is expanded to one target a person
	After   time.Duration
}

// Match says which messages a route takes. Patterns are those of path.Match:
// "*" does not cross "/". A nil list matches everything; each list matches if
// one of its patterns does; all lists must match.
type Match struct {
	Agent, Project, Runtime []string
	Type                    []ma2h.Type
	Priority                []ma2h.Priority
	Tags                    []string          // one tag must match one pattern
	Labels                  map[string]string // every label must match its pattern
}

// Limits are advertised by discovery and enforced. Sizes are bytes.
type Limits struct {
	Envelope          int // whole submit body; more is 422
	Body              int // the body field
	Part              int // one context Part, as JSON
	Parts             int // number of context Parts
	Options           int // number of options of an ask
	Fields            int // number of properties of an input schema
	RequestsPerMinute int // an agent; 0: no limit
	OpenMessages      int // an agent; 0: no limit
}

// DefaultLimits are in force where the config says nothing.
var DefaultLimits = Limits{
	Envelope: 256 << 10, Body: 64 << 10, Part: 64 << 10, Parts: 32,
	Options: 100, Fields: 50, RequestsPerMinute: 600, OpenMessages: 1000,
}

// AgentByToken returns the agent that a bearer token belongs to, or nil.
func (d *Directory) AgentByToken(token string) *Agent {
	h := HashToken(token)
	var found *Agent
	for _, a := range d.Agents {
		for i := range a.Tokens {
			if subtle.ConstantTimeCompare(h[:], a.Tokens[i][:]) == 1 {
				found = a
			}
		}
	}
	return found
}

// OperatorByToken returns the operator that a bearer token belongs to, or nil.
func (d *Directory) OperatorByToken(token string) *Operator {
	h := HashToken(token)
	var found *Operator
	for _, o := range d.Operators {
		for i := range o.Tokens {
			if subtle.ConstantTimeCompare(h[:], o.Tokens[i][:]) == 1 {
				found = o
			}
		}
	}
	return found
}

// ReviewURL is where people look at a message. It carries no credential.
func (d *Directory) ReviewURL(id string) string {
	return d.PublicURL + "/i/" + url.PathEscape(id)
}

// PollURL is where the submitting agent reads a message, by the id that it
// knows.
func (d *Directory) PollURL(id string) string {
	return d.PublicURL + "/v1/messages/" + url.PathEscape(id)
}

// PersonName returns what people call the person, or the id if they have left.
func (d *Directory) PersonName(id string) string {
	if p := d.People[id]; p != nil {
		return p.Name
	}
	return id
}

// Members expands a person or team to person ids, nil if there is no such name.
func (d *Directory) Members(name string) []string {
	if d.People[name] != nil {
		return []string{name}
	}
	return d.Teams[name]
}
