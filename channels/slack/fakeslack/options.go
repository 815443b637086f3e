package fakeslack

import (
	"log/slog"
	"slices"
	"time"
)

// Options says what the workspace holds and how the server behaves. The zero
// value is the workspace of [Example] with everything strict.
type Options struct {
	// Team is the workspace that the apps are installed in, Partner another
	// company's that shares a channel with it (Slack Connect).
	Team, Partner Team
	// Enterprise makes the install an org-wide one if it has an ID: "team" is
	// null in interactions then.
	Enterprise Enterprise

	Users    []User
	Channels []Channel
	// Apps are the installed apps; the first is the one of [Server.App].
	Apps []App

	// NoRateLimits switches Slack's rate limits off (see [Server.SetRateLimits]).
	NoRateLimits bool
	// NoDedupe makes chat.postMessage ignore client_msg_id. That Slack
	// deduplicates on it is shown by its error names only, so code that relies
	// on it should be tested both ways.
	NoDedupe bool

	// AckTimeout is how long an app may take to acknowledge; 3 s if zero.
	AckTimeout time.Duration
	// TriggerTTL is how long a trigger_id may be used; 3 s if zero.
	TriggerTTL time.Duration
	// RetryDelays are the waits before the retries of an event; at once, one
	// minute and five minutes if nil.
	RetryDelays []time.Duration
	// PingInterval is how often a socket is pinged; 5 s if zero.
	PingInterval time.Duration
	// SocketLife is how long a socket lives before it is asked to go, as hello
	// says; five hours if zero.
	SocketLife time.Duration

	// Log gets one line a call and a delivery, without their content; nil is silent.
	Log *slog.Logger
}

// Team is one workspace.
type Team struct{ ID, Name, Domain string }

// Enterprise is the organization of an org-wide install.
type Enterprise struct{ ID, Name string }

// User is one account.
type User struct {
	ID, Name, RealName, Email string
	TZ                        string // IANA name; UTC if empty
	TeamID                    string // the workspace's if empty
	Deleted                   bool   // deactivated
	Bot                       bool
	Guest                     bool // a single-channel guest (is_ultra_restricted)
}

// Channel is one conversation that is not a direct message; those come into
// being when somebody opens them.
type Channel struct {
	ID, Name string
	Private  bool
	Archived bool
	Shared   bool     // with the partner's team (Slack Connect)
	Members  []string // user ids, bots included
}

// App is one installed app.
type App struct {
	ID, Name string
	BotID    string // B…
	BotUser  string // U…, a user with Bot set is made if there is none
	BotToken string // xoxb-…
	AppToken string // xapp-…
	// AppScopes are the scopes of AppToken; connections:write if nil.
	AppScopes         []string
	SigningSecret     string
	VerificationToken string
	Scopes            []string // of BotToken; what the hub's manifest asks for if nil
	Events            []string // subscribed bot events; all that the fake sends if nil

	// RequestURL gets events, interactions and commands over HTTP. Empty is
	// Socket Mode. InteractivityURL and CommandsURL differ from it if not empty.
	RequestURL, InteractivityURL, CommandsURL string

	Commands        []string // with the slash; "/beckon" if nil
	NoInteractivity bool     // interactivity is switched off in the manifest
	NoHome          bool     // home_tab_enabled: false
	NoMessagesTab   bool     // messages_tab_enabled: false
	ReadOnlyTab     bool     // messages_tab_read_only_enabled: true
}

// Example is the workspace that an empty Options gets: a team of three with a
// guest, a deactivated account and somebody of another company, channels of
// every kind, and the app that the hub uses.
func Example() Options {
	const bot, alice, bob, gina, carol = "U0HUBBOT01", "U0ALICE001", "U0BOB00001", "U0GUEST001", "U0EXTERN01"
	return Options{
		Team:    Team{ID: "T0HUBTEAM1", Name: "Example", Domain: "example"},
		Partner: Team{ID: "T0OTHERCO1", Name: "Other Co", Domain: "otherco"},
		Users: []User{
			{ID: alice, Name: "alice", RealName: "Alice Ng", Email: "alice@example.com", TZ: "Asia/Singapore"},
			{ID: bob, Name: "bob", RealName: "Bob Roy", Email: "bob@example.com", TZ: "Europe/Paris"},
			{ID: "U0DAVE0001", Name: "dave", RealName: "Dave Old", Email: "dave@example.com", Deleted: true},
			{ID: gina, Name: "gina", RealName: "Gina Guest", Email: "gina@guest.example", Guest: true},
			{ID: carol, Name: "carol", RealName: "Carol Other", Email: "carol@otherco.example", TeamID: "T0OTHERCO1"},
		},
		Channels: []Channel{
			{ID: "C0APPROVE1", Name: "approvals", Members: []string{bot, alice, bob, gina}},
			{ID: "C0DEPLOYS1", Name: "deploys", Members: []string{bot, alice, bob}},
			{ID: "C0OPENED01", Name: "open-door", Members: []string{alice, bob}},
			{ID: "C0ARCHIVE1", Name: "old-stuff", Archived: true, Members: []string{bot, alice}},
			{ID: "C0SECRET01", Name: "secret-in", Private: true, Members: []string{bot, alice}},
			{ID: "C0SECRET02", Name: "secret-out", Private: true, Members: []string{alice, bob}},
			{ID: "C0SHARED01", Name: "with-otherco", Shared: true, Members: []string{bot, alice, carol}},
		},
		Apps: []App{{
			ID: "A0HUBAPP01", Name: "hub", BotID: "B0HUBBOT01", BotUser: bot,
			BotToken: "xoxb-fake-bot-token", AppToken: "xapp-1-A0HUBAPP01-fake-app-token",
			SigningSecret: "8f742231b10e8888abcd99yyyzzz85a5", VerificationToken: "fake-verification-token",
		}},
	}
}

// withDefaults fills what is empty.
func (o Options) withDefaults() Options {
	ex := Example()
	if o.Team.ID == "" {
		o.Team = ex.Team
	}
	if o.Partner.ID == "" {
		o.Partner = ex.Partner
	}
	if o.Users == nil {
		o.Users = ex.Users
	}
	if o.Channels == nil {
		o.Channels = ex.Channels
	}
	if o.Apps == nil {
		o.Apps = ex.Apps
	}
	if o.AckTimeout == 0 {
		o.AckTimeout = ackTimeout
	}
	if o.TriggerTTL == 0 {
		o.TriggerTTL = triggerTTL
	}
	if o.RetryDelays == nil {
		o.RetryDelays = []time.Duration{0, time.Minute, 5 * time.Minute}
	}
	if o.PingInterval == 0 {
		o.PingInterval = 5 * time.Second
	}
	if o.SocketLife == 0 {
		o.SocketLife = 5 * time.Hour
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Apps = slices.Clone(o.Apps)
	for i := range o.Apps {
		o.Apps[i] = o.Apps[i].withDefaults()
	}
	return o
}

func (a App) withDefaults() App {
	if a.Scopes == nil {
		a.Scopes = []string{
			"chat:write", "im:write", "users:read", "users:read.email", "channels:history", "groups:history",
			"im:history", "channels:read", "groups:read", "im:read", "channels:join", "commands",
			"app_mentions:read", "reactions:write", "reactions:read", "team:read",
		}
	}
	if a.AppScopes == nil {
		a.AppScopes = []string{"connections:write"}
	}
	if a.Events == nil {
		a.Events = []string{
			"message.channels", "message.groups", "message.im", "app_home_opened", "app_mention", "app_uninstalled",
			"tokens_revoked", "channel_id_changed", "reaction_added", "member_joined_channel",
		}
	}
	if a.Commands == nil {
		a.Commands = []string{"/beckon"}
	}
	return a
}
