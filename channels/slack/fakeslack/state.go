package fakeslack

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Message is one message as it stands.
type Message struct {
	Channel  string
	TS       string // its id in the channel, "seconds.micros"
	ThreadTS string // of the first message of its thread, empty outside threads
	User     string // who wrote it; the bot's user id for an app
	BotID    string
	AppID    string
	TeamID   string // of the author
	Subtype  string
	Text     string // as stored: &, < and > escaped
	Blocks   []object
	// Attachments and Metadata are as they were sent.
	Attachments []any
	Metadata    object
	ClientMsgID string
	EphemeralTo string // the only user who sees it, empty for everybody
	EditedTS    string
	Broadcast   bool // a reply that is shown in the channel too
	Deleted     bool
	NoUnfurl    bool                // unfurl_links and unfurl_media are off
	Reactions   map[string][]string // emoji name to user ids
	SentAt      time.Time

	Revision int // grows with each change
}

// clone is a copy that does not change with the message.
func (m *Message) clone() Message {
	c := *m
	c.Blocks = cloneJSON(m.Blocks)
	c.Metadata = cloneJSON(m.Metadata)
	c.Attachments = cloneJSON(m.Attachments)
	c.Reactions = maps.Clone(m.Reactions)
	return c
}

// IsReply says whether m is a thread reply.
func (m Message) IsReply() bool { return m.ThreadTS != "" && m.ThreadTS != m.TS }

// JSON is the message as Slack's API gives it; metadata is left out.
func (m *Message) json(s *Server) object {
	o := object{"type": "message", "user": m.User, "ts": m.TS, "text": m.Text, "team": m.TeamID}
	if m.Subtype != "" {
		o["subtype"] = m.Subtype
	}
	if m.BotID != "" {
		o["bot_id"], o["app_id"] = m.BotID, m.AppID
		if a := s.appByBot(m.BotID); a != nil {
			o["bot_profile"] = a.botProfile(s)
		}
	}
	if m.Blocks != nil {
		o["blocks"] = cloneJSON(m.Blocks)
	}
	if m.Attachments != nil {
		o["attachments"] = cloneJSON(m.Attachments)
	}
	if m.ClientMsgID != "" {
		o["client_msg_id"] = m.ClientMsgID
	}
	if m.EditedTS != "" {
		o["edited"] = object{"user": m.User, "ts": m.EditedTS}
	}
	if m.ThreadTS != "" {
		o["thread_ts"] = m.ThreadTS
	}
	if m.IsReply() {
		if p := s.message(m.Channel, m.ThreadTS); p != nil {
			o["parent_user_id"] = p.User
		}
	}
	if len(m.Reactions) > 0 {
		var list []object
		for _, name := range slices.Sorted(maps.Keys(m.Reactions)) {
			list = append(list, object{"name": name, "users": m.Reactions[name], "count": len(m.Reactions[name])})
		}
		o["reactions"] = list
	}
	return o
}

// channel is a conversation with its messages, oldest first.
type channel struct {
	Channel
	dm       bool
	created  int64
	messages []*Message
}

// kind is the channel_type of a message event.
func (c *channel) kind() string {
	switch {
	case c.dm:
		return "im"
	case c.Private:
		return "group"
	}
	return "channel"
}

func (c *channel) has(user string) bool { return slices.Contains(c.Members, user) }

// View is a modal or a Home tab as it stands.
type View struct {
	ID, Type, Hash     string
	User, App          string // whose screen, which app's
	CallbackID         string
	ExternalID         string
	PrivateMetadata    string
	RootID, PreviousID string
	Blocks             []object
	Title              string
	Submit, Close      string
	NotifyOnClose      bool
	ClearOnClose       bool
	Open               bool // false once it is closed
	Revision           int

	raw object // as the app sent it, with defaults filled in
}

func (v *View) clone() View {
	c := *v
	c.Blocks, c.raw = cloneJSON(v.Blocks), cloneJSON(v.raw)
	return c
}

// newTS is a message id that is not taken: Slack's are unique in a channel.
func (s *Server) newTS() string {
	us := s.clock.now().UnixMicro()
	if us <= s.lastTS {
		us = s.lastTS + 1
	}
	s.lastTS = us
	return formatTS(us)
}

func formatTS(micros int64) string { return fmt.Sprintf("%d.%06d", micros/1e6, micros%1e6) }

// newID is a random id with Slack's look.
func newID(prefix string) string { return prefix + strings.ToUpper(randomHex(5))[:9] }

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

func newUUID() string {
	h := randomHex(16)
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-a" + h[17:20] + "-" + h[20:]
}

// cloneJSON copies a value that came out of JSON.
func cloneJSON[T any](v T) T {
	out, _ := copyJSON(any(v)).(T)
	return out
}

func copyJSON(v any) any {
	switch x := v.(type) {
	case object:
		if x == nil {
			return x
		}
		m := make(object, len(x))
		for k, y := range x {
			m[k] = copyJSON(y)
		}
		return m
	case []any:
		if x == nil {
			return x
		}
		l := make([]any, len(x))
		for i, y := range x {
			l[i] = copyJSON(y)
		}
		return l
	case []object:
		if x == nil {
			return x
		}
		l := make([]object, len(x))
		for i, y := range x {
			l[i] = copyJSON(y).(object)
		}
		return l
	}
	return v
}

// normalBlocks is what Slack makes of blocks on arrival: ids where there are
// none, defaults spelled out, empty block ids of markdown blocks replaced.
func normalBlocks(list []any) []object {
	out := make([]object, 0, len(list))
	for _, b := range list {
		m := copyJSON(b).(object)
		if id, _ := m["block_id"].(string); id == "" || m["type"] == "markdown" {
			m["block_id"] = randomHex(3)[:5]
		}
		if m["type"] == "input" {
			setDefault(m, "optional", false)
			setDefault(m, "dispatch_action", false)
		}
		normalText(m)
		out = append(out, m)
	}
	return out
}

// normalText fills the defaults of text objects and the action ids of elements,
// at any depth.
func normalText(v any) {
	switch x := v.(type) {
	case object:
		switch x["type"] {
		case "plain_text":
			setDefault(x, "emoji", true)
		case "mrkdwn":
			setDefault(x, "verbatim", false)
		default:
			if kind, _ := x["type"].(string); isInteractive(kind) {
				if id, _ := x["action_id"].(string); id == "" {
					x["action_id"] = randomHex(3)[:5]
				}
			}
		}
		for _, y := range x {
			normalText(y)
		}
	case []any:
		for _, y := range x {
			normalText(y)
		}
	}
}

func isInteractive(kind string) bool {
	return kind != "image" && (slices.Contains(actionElements, kind) || slices.Contains(inputElements, kind) || kind == "feedback_buttons")
}

func setDefault(m object, key string, val any) {
	if m[key] == nil {
		m[key] = val
	}
}

// controls calls f for every interactive element of blocks, in order.
func controls(blocks []object, f func(block, element object)) {
	for _, b := range blocks {
		var list []any
		switch b["type"] {
		case "actions", "context_actions":
			list, _ = b["elements"].([]any)
		case "section":
			list = []any{b["accessory"]}
		case "input":
			list = []any{b["element"]}
		case "card":
			list, _ = b["actions"].([]any)
		case "carousel":
			cards, _ := b["elements"].([]any)
			controls(asObjects(cards), f)
		case "container":
			children, _ := b["child_blocks"].([]any)
			controls(asObjects(children), f)
		}
		for _, e := range list {
			if m, ok := e.(object); ok && m["action_id"] != nil {
				f(b, m)
			}
		}
	}
}

func asObjects(list []any) []object {
	out := make([]object, 0, len(list))
	for _, x := range list {
		if m, ok := x.(object); ok {
			out = append(out, m)
		}
	}
	return out
}
