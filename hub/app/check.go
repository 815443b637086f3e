package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"beckon/channels"
	"beckon/config"
	"beckon/hub"
	"beckon/hub/store"
	"beckon/templates"
)

// CheckOptions say how much [Check] does.
type CheckOptions struct {
	// Live also calls out: the public URL is opened, channels test their
	// credentials, and the database is opened if no other process has it.
	Live bool
	// Message is an envelope to run dry: it is judged and routed, and neither
	// stored nor sent.
	Message []byte
	// Agent is the credential's agent for Message; the envelope's own if "".
	Agent string
}

// Report is what Check found.
type Report struct {
	File     string        `json:"file"`
	Errors   config.Errors `json:"errors"`
	Warnings config.Errors `json:"warnings"`
	// The rest is there for a config without errors only.
	Routes   []RouteReport  `json:"routes,omitempty"`
	Findings []Finding      `json:"findings,omitempty"`
	Message  *MessageReport `json:"message,omitempty"`
}

// RouteReport says what a route takes and does.
type RouteReport struct {
	Position int    `json:"position"` // in the file, from 0
	Name     string `json:"name,omitempty"`
	Takes    string `json:"takes"`
	ReachReport
}

// ReachReport is a [hub.Reach] in words.
type ReachReport struct {
	May      []string     `json:"may_answer,omitempty"` // people, by id
	Who      string       `json:"who"`                  // the same in words, with names
	Steps    []StepReport `json:"steps,omitempty"`
	Warnings []string     `json:"warnings,omitempty"`
}

// StepReport says what goes out at one time.
type StepReport struct {
	AfterSeconds int64    `json:"after_seconds"`
	When         string   `json:"when"`
	Targets      []string `json:"targets"` // "email:alice"
	Where        string   `json:"where"`   // in words, with names
}

// Level says how bad a finding is.
type Level string

// The levels.
const (
	Fine    Level = "ok"
	Warning Level = "warning" // works, and is probably not meant
	Problem Level = "problem" // does not work
)

// Finding is one thing that was looked at.
type Finding struct {
	Level Level  `json:"level"`
	What  string `json:"what"`
	Msg   string `json:"message,omitempty"` // what is there, or what to do about it
}

// Bad reports whether the hub would not start, or not work, as it is set up.
func (r *Report) Bad() bool {
	return len(r.Errors) > 0 || slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Level == Problem })
}

// Check reads a config and says what is wrong with it, who would be asked
// where and when by each route, and whether what the hub needs is there. A hub
// may run on the same database meanwhile. The error is that of a file which
// can't be read.
func Check(ctx context.Context, path string, o CheckOptions) (*Report, error) {
	cfg, err := Load(path)
	r := &Report{File: path, Errors: config.Errors{}, Warnings: config.Errors{}}
	if err != nil {
		errs, ok := errors.AsType[config.Errors](err)
		if !ok {
			return nil, err
		}
		r.Errors = errs
	}
	if cfg != nil {
		r.Warnings = append(r.Warnings, cfg.Warnings...)
	}
	if len(r.Errors) > 0 {
		return r, nil
	}
	d := *cfg.Directory
	for i := range d.Routes {
		r.Routes = append(r.Routes, routeReport(&d, i))
	}
	c := &checker{cfg: cfg, live: o.Live}
	c.setup()
	if err := c.hub(ctx, &d); err != nil {
		return nil, err
	}
	if o.Live {
		c.publicURL(ctx)
	}
	r.Findings = c.findings
	if o.Message != nil {
		r.Message = dryRun(&d, o.Agent, o.Message)
	}
	return r, nil
}

func routeReport(d *hub.Directory, i int) RouteReport {
	route := &d.Routes[i]
	out := RouteReport{Position: i, Takes: route.Match.Words(), ReachReport: reachReport(d, d.ExplainRoute(route))}
	if i > 0 && route.Match == nil {
		out.Takes = "everything else"
	}
	if route.Name != fmt.Sprintf("routes[%d]", i) {
		out.Name = route.Name
	}
	return out
}

func reachReport(d *hub.Directory, reach hub.Reach) ReachReport {
	out := ReachReport{May: reach.May, Warnings: reach.Warnings}
	var who []string
	for _, id := range reach.May {
		who = append(who, d.PersonName(id))
	}
	for _, id := range reach.MayAgents {
		who = append(who, "the agent "+id)
	}
	switch {
	case reach.Notify:
		out.Who = "nobody has to, a notify tells only"
	case reach.Submitter:
		out.Who = "only the agent that sent it"
	case who != nil:
		out.Who = strings.Join(who, ", ")
	default:
		out.Who = "nobody"
	}
	for i, step := range reach.Steps {
		s := StepReport{AfterSeconds: int64(step.After / time.Second), When: "at once", Where: where(d, step.Targets)}
		if step.After > 0 {
			s.When = "after " + templates.Span(step.After)
			if i > 0 {
				s.When += ", or at once if what was before failed"
			}
		}
		for _, t := range step.Targets {
			s.Targets = append(s.Targets, t.String())
		}
		out.Steps = append(out.Steps, s)
	}
	return out
}

// where says in words where targets are: "slack #deploys; email to Alice Ng".
func where(d *hub.Directory, targets []hub.Target) string {
	var parts, people []string
	channel := ""
	flush := func() {
		if people != nil {
			parts = append(parts, channel+" to "+strings.Join(people, ", "))
		}
		people = nil
	}
	for _, t := range targets {
		if t.Channel != channel || t.Place != "" {
			flush()
		}
		channel = t.Channel
		if t.Place != "" {
			parts = append(parts, t.Channel+" "+t.Place)
		} else {
			people = append(people, d.PersonName(t.Person))
		}
	}
	flush()
	return strings.Join(parts, "; ")
}

// checker looks at what a hub needs besides its config.
type checker struct {
	cfg      *config.Config
	live     bool
	findings []Finding
}

func (c *checker) add(l Level, what, format string, args ...any) {
	c.findings = append(c.findings, Finding{l, what, fmt.Sprintf(format, args...)})
}

// setup looks at files and the clock.
func (c *checker) setup() {
	c.keys()
	c.database()
	c.certificate()
	c.clock()
	d := c.cfg.Directory
	if len(d.Agents) == 0 {
		c.add(Warning, "agents", "there is no agent, so nobody can ask anything: add one under agents")
	}
	if len(d.Operators) == 0 {
		c.add(Fine, "operators", "there is none, so nobody may use /admin/v1")
	}
}

func (c *checker) keys() {
	const what = "keys"
	if n := len(c.cfg.Keys); n > 0 {
		c.add(Fine, what, "%d from the config; the first signs", n)
		return
	}
	path := KeyPath(c.cfg)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		c.add(Fine, what, "the first \"beckon serve\" makes %s; keep a copy of it apart from the database", path)
		return
	}
	if _, _, err := config.KeyFile(path); err != nil {
		c.add(Problem, what, "%v", err)
		return
	}
	c.add(Fine, what, "%s; keep a copy of it apart from the database", path)
}

func (c *checker) database() {
	const what = "database"
	path := c.cfg.Store
	f, err := os.CreateTemp(filepath.Dir(path), ".beckon-check-*")
	if err != nil {
		c.add(Problem, what, "the hub can't write in the folder of %s: %v", path, errors.Unwrap(err))
		return
	}
	_ = f.Close()
	if err := os.Remove(f.Name()); err != nil {
		c.add(Problem, what, "the hub can't remove files in the folder of %s: %v", path, errors.Unwrap(err))
		return
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.add(Fine, what, "the first \"beckon serve\" makes %s", path)
	case err != nil:
		c.add(Problem, what, "%v", err)
	case info.IsDir():
		c.add(Problem, what, "%s is a folder; store must be the name of a file", path)
	case info.Mode().Perm()&0o007 != 0:
		c.add(Warning, what, "others can read %s, which holds every message (mode %04o); run: chmod 600 %s", path, info.Mode().Perm(), path)
	default:
		c.add(Fine, what, "%s", path)
	}
}

func (c *checker) certificate() {
	const what = "tls"
	if c.cfg.TLS == nil {
		if c.cfg.BehindProxy {
			c.add(Fine, what, "a proxy in front speaks it")
		} else {
			c.add(Fine, what, "off: the hub listens on %s, for this machine only", c.cfg.Listen)
		}
		return
	}
	cert, err := c.cfg.TLS.Load()
	switch {
	case err != nil: // it was good a moment ago
		c.add(Problem, what, "%v", err)
	case time.Now().After(cert.Leaf.NotAfter):
		c.add(Problem, what, "%s has expired on %s: renew it", c.cfg.TLS.Cert, date(cert.Leaf.NotAfter))
	case time.Now().Before(cert.Leaf.NotBefore):
		c.add(Problem, what, "%s is not valid before %s", c.cfg.TLS.Cert, date(cert.Leaf.NotBefore))
	default:
		c.add(Fine, what, "%s is valid until %s, for %s", c.cfg.TLS.Cert, date(cert.Leaf.NotAfter), strings.Join(cert.Leaf.DNSNames, ", "))
	}
}

func date(t time.Time) string { return t.UTC().Format("2 Jan 2006") }

// clock tells a clock that is far off by what was written by it or by another.
func (c *checker) clock() {
	now := time.Now()
	if info, err := os.Stat(c.cfg.File); err == nil && info.ModTime().After(now.Add(time.Hour)) {
		c.add(Warning, "clock", "it is %s, and %s was written later: is the clock right? It decides when asks expire", templates.Date(now, nil), c.cfg.File)
		return
	}
	c.add(Fine, "clock", "%s", templates.Date(now, nil))
}

// hub builds the channels and asks those that can whether they are set up right.
func (c *checker) hub(ctx context.Context, d *hub.Directory) error {
	h := unstored(d)
	if _, err := os.Stat(c.cfg.Store); err == nil && c.live {
		s, err := store.Open(ctx, c.cfg.Store, store.Options{})
		var inUse *store.InUseError
		switch {
		case errors.As(err, &inUse):
			c.add(Fine, "database", "in use by %s", inUse.By)
		case err != nil:
			c.add(Problem, "database", "%v", err)
		default:
			c.add(Fine, "database", "opens")
			defer s.Close()
			h = stored(d, s, c.cfg)
		}
	}
	channels, err := buildChannels(c.cfg, h)
	if err != nil {
		return err
	}
	for _, name := range names() {
		ch := channels[name]
		if k, ok := ch.(hub.Checker); ok {
			for _, f := range k.Check(ctx, c.live) {
				level := Fine
				if !f.OK {
					level = Problem
				}
				c.add(level, name+": "+f.What, "%s", f.Msg)
			}
		} else if ch != nil {
			c.add(Fine, name, "set up")
		}
	}
	return nil
}

func names() []string {
	var out []string
	for _, f := range channels.All() {
		out = append(out, f.Name)
	}
	return out
}

// publicTimeout bounds the call to the public URL.
const publicTimeout = 5 * time.Second

// publicURL asks the public URL for what every hub tells everybody.
func (c *checker) publicURL(ctx context.Context) {
	const what = "public_url"
	base := c.cfg.PublicURL
	if base == "" {
		return // a port that is not known yet
	}
	ctx, cancel := context.WithTimeout(ctx, publicTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/.well-known/ma2h", nil)
	if err != nil {
		c.add(Problem, what, "%v", err)
		return
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.add(Warning, what, "nothing answers there: %v; is the hub running, and does the proxy lead to %s?", err, c.cfg.Listen)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		c.add(Warning, what, "%s answers with %s, and not as a hub does; does the proxy lead to %s?", base, resp.Status, c.cfg.Listen)
		return
	}
	c.add(Fine, what, "%s answers", base)
	if there, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		if off := time.Since(there).Abs(); off > time.Minute {
			c.add(Warning, "clock", "differs by %s from the clock of %s", templates.Span(off), base)
		}
	}
}
