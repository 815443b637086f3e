package fakeslack

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// Server is one fake Slack. Its methods may be called from any goroutine.
type Server struct {
	opts    Options
	clock   *clock
	methods map[string]method

	http     *http.Server
	listener net.Listener
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	wg       sync.WaitGroup
	closed   bool

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced on every change
	revision   int
	team       Team
	users      map[string]*User
	userOrder  []string
	channels   map[string]*channel
	chanOrder  []string
	apps       []*app
	views      map[string]*View
	stacks     map[string][]*View // open modals by user, the top one last
	homes      map[string]*View   // by user and app
	triggers   map[string]*trigger
	hooks      map[string]*hook
	states     map[string]object // what a person has filled in, by person and place
	sights     map[string][]Sight
	news       map[string]int   // how much a person has seen so far
	flashes    map[string]flash // what the page tells a person next
	problems   []string
	calls      []Call
	deliveries []*Delivery
	faults     []*fault
	buckets    map[string]*bucket
	dedupe     map[string]string // app, channel and client_msg_id to ts
	limited    bool
	deduping   bool
	holdAcks   int // acks to drop, -1 for all
	lastTS     int64
}

// New makes a workspace. It serves nothing before [Server.Start].
func New(o Options) *Server {
	o = o.withDefaults()
	s := &Server{
		opts: o, clock: newClock(), methods: methodTable(), team: o.Team,
		changed: make(chan struct{}),
		users:   map[string]*User{}, channels: map[string]*channel{},
		views: map[string]*View{}, stacks: map[string][]*View{}, homes: map[string]*View{},
		triggers: map[string]*trigger{}, hooks: map[string]*hook{}, states: map[string]object{},
		sights: map[string][]Sight{}, news: map[string]int{}, flashes: map[string]flash{}, buckets: map[string]*bucket{}, dedupe: map[string]string{},
		limited: !o.NoRateLimits, deduping: !o.NoDedupe,
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	for _, u := range o.Users {
		s.addUser(u)
	}
	for _, a := range o.Apps {
		s.apps = append(s.apps, newApp(a))
		if s.users[a.BotUser] == nil {
			s.addUser(User{ID: a.BotUser, Name: a.Name, RealName: a.Name, Bot: true})
		}
	}
	for _, c := range o.Channels {
		c.Members = slices.Clone(c.Members)
		s.channels[c.ID] = &channel{Channel: c, created: s.clock.now().Unix()}
		s.chanOrder = append(s.chanOrder, c.ID)
	}
	return s
}

func (s *Server) addUser(u User) {
	if u.TeamID == "" {
		u.TeamID = s.team.ID
	}
	if u.TZ == "" {
		u.TZ = "Etc/UTC"
	}
	s.users[u.ID] = &u
	s.userOrder = append(s.userOrder, u.ID)
}

// Start serves on a free port of 127.0.0.1.
func (s *Server) Start() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("fakeslack: listen: %w", err)
	}
	s.Serve(l)
	return nil
}

// Serve serves on l and returns at once; [Server.Close] closes l.
func (s *Server) Serve(l net.Listener) {
	s.listener = l
	s.http = &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second}
	s.wg.Go(func() { _ = s.http.Serve(l) })
	for _, a := range s.apps {
		s.wg.Go(func() { s.runQueue(a) })
	}
}

// Close ends every connection and waits for all goroutines.
func (s *Server) Close() {
	s.cancel()
	s.locked(func() { s.closed = true })
	if s.http != nil {
		_ = s.http.Close()
	}
	for _, a := range s.apps {
		a.closeSockets()
	}
	s.wg.Wait()
}

// spawn runs f in a goroutine that Close waits for, unless it is closing.
func (s *Server) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.wg.Go(f)
	}
	return !s.closed
}

// URL is the address of the page, without a slash at the end.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// APIURL is what a client takes as Slack's API URL; it ends in a slash.
func (s *Server) APIURL() string { return s.URL() + "/api/" }

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/api/{method}", s.serveAPI)
	mux.HandleFunc("GET /link/", s.serveSocket)
	mux.HandleFunc("POST /actions/{team}/{id}/{secret}", s.serveHook)
	mux.HandleFunc("POST /commands/{team}/{id}/{secret}", s.serveHook)
	s.routePage(mux)
	return mux
}

// App is the first app.
func (s *Server) App() App { return s.apps[0].App }

// Team is the workspace.
func (s *Server) Team() Team { return s.team }

// Advance moves the fake's time forward: triggers and response URLs expire,
// rate limits refill, retries come due.
func (s *Server) Advance(d time.Duration) { s.clock.advance(d) }

// Now is the fake's time.
func (s *Server) Now() time.Time { return s.clock.now() }

// SetRateLimits switches Slack's rate limits on or off.
func (s *Server) SetRateLimits(on bool) { s.locked(func() { s.limited = on; clear(s.buckets) }) }

// SetDedupe says whether chat.postMessage heeds client_msg_id.
func (s *Server) SetDedupe(on bool) { s.locked(func() { s.deduping = on }) }

func (s *Server) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// touch tells whoever waits that something changed. s.mu is held.
func (s *Server) touch() {
	s.revision++
	close(s.changed)
	s.changed = make(chan struct{})
}

// Problems lists what the app did that Slack would not have taken, but has no
// answer to complain in: acks of unknown envelopes, malformed ack payloads.
func (s *Server) Problems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.problems)
}

// problem notes one; s.mu is held.
func (s *Server) problem(format string, args ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
	s.touch()
}

// wait calls f, with s.mu held, at every change until it says true or ctx ends.
func (s *Server) wait(ctx context.Context, f func() bool) error {
	for {
		s.mu.Lock()
		ok, changed := f(), s.changed
		s.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("fakeslack: wait: %w", context.Cause(ctx))
		case <-s.ctx.Done():
			return fmt.Errorf("fakeslack: wait: the server is closed")
		case <-changed:
		}
	}
}

// WaitMessage waits until a message that want accepts stands in some channel,
// ephemeral ones included, and returns it. As with all such waits, want runs
// under the server's lock: it must not call the server, nor change or keep what
// it is given.
func (s *Server) WaitMessage(ctx context.Context, want func(Message) bool) (Message, error) {
	var got Message
	err := s.wait(ctx, func() bool {
		for _, id := range s.chanOrder {
			for _, m := range s.channels[id].messages {
				if !m.Deleted && want(*m) {
					got = m.clone()
					return true
				}
			}
		}
		return false
	})
	return got, err
}

// WaitView waits until user has an open modal, or a Home tab, that want accepts.
func (s *Server) WaitView(ctx context.Context, user string, want func(View) bool) (View, error) {
	var got View
	err := s.wait(ctx, func() bool {
		id := s.userID(user)
		list := slices.Concat(s.stacks[id], slices.Collect(maps.Values(s.homes)))
		for _, v := range list {
			if v.User == id && want(v.clone()) {
				got = v.clone()
				return true
			}
		}
		return false
	})
	return got, err
}

// Message returns a message as it stands.
func (s *Server) Message(channel, ts string) (Message, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.message(s.channelID(channel), ts)
	if m == nil {
		return Message{}, false
	}
	return m.clone(), true
}

// Messages lists what stands in a channel (id or name), threads and ephemeral
// messages included, oldest first.
func (s *Server) Messages(channel string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Message
	if c := s.channels[s.channelID(channel)]; c != nil {
		for _, m := range c.messages {
			if !m.Deleted {
				out = append(out, m.clone())
			}
		}
	}
	return out
}

// message finds one that is not deleted; s.mu is held.
func (s *Server) message(channel, ts string) *Message {
	c := s.channels[channel]
	if c == nil {
		return nil
	}
	for _, m := range slices.Backward(c.messages) {
		if m.TS == ts && !m.Deleted {
			return m
		}
	}
	return nil
}

// channelID accepts an id, a name or "#name".
func (s *Server) channelID(name string) string {
	if s.channels[name] != nil {
		return name
	}
	if len(name) > 0 && name[0] == '#' {
		name = name[1:]
	}
	for id, c := range s.channels {
		if c.Name == name && !c.dm {
			return id
		}
	}
	return ""
}

// userID accepts an id or a name.
func (s *Server) userID(name string) string {
	if s.users[name] != nil {
		return name
	}
	for _, id := range s.userOrder {
		if s.users[id].Name == name {
			return id
		}
	}
	return ""
}

// dm finds the direct messages between a user and a bot, or opens them.
func (s *Server) dm(user, bot string, open bool) *channel {
	for _, id := range s.chanOrder {
		if c := s.channels[id]; c.dm && c.has(user) && c.has(bot) {
			return c
		}
	}
	if !open {
		return nil
	}
	c := &channel{Channel: Channel{ID: newID("D0"), Members: []string{user, bot}}, dm: true, created: s.clock.now().Unix()}
	s.channels[c.ID] = c
	s.chanOrder = append(s.chanOrder, c.ID)
	return c
}

// workspaceURL is what auth.test and permalinks begin with.
func (s *Server) workspaceURL() string { return s.URL() + "/" }

func (s *Server) permalink(m *Message) string {
	link := s.workspaceURL() + "archives/" + m.Channel + "/p" + removeDot(m.TS)
	if m.IsReply() {
		link += "?thread_ts=" + url.QueryEscape(m.ThreadTS) + "&cid=" + m.Channel
	}
	return link
}

func removeDot(ts string) string {
	out := make([]byte, 0, len(ts))
	for i := range len(ts) {
		if ts[i] != '.' {
			out = append(out, ts[i])
		}
	}
	return string(out)
}
