package fakeslack

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"time"
)

// hook is a response URL: five uses within thirty minutes
// (https://docs.slack.dev/interactivity/handling-user-interaction).
type hook struct {
	app     *app
	user    string
	channel string
	ts      string // the message of the interaction, empty for a command
	made    time.Time
	uses    int
}

// newHook makes the response URL of an interaction or a command; s.mu is held.
func (s *Server) newHook(kind string, a *app, user, channel, ts string) string {
	if len(s.hooks) > 1000 {
		maps.DeleteFunc(s.hooks, func(_ string, h *hook) bool { return s.clock.now().Sub(h.made) > 2*responseURLTTL })
	}
	path := "/" + kind + "/" + s.team.ID + "/" + itoa(int(s.clock.now().UnixNano()%1e13)) + "/" + randomHex(12)
	s.hooks[path] = &hook{app: a, user: user, channel: channel, ts: ts, made: s.clock.now()}
	return s.URL() + path
}

// serveHook takes a message for a response URL. It needs no token: knowing the
// address is enough.
func (s *Server) serveHook(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		return
	}
	c := &call{method: "response_url", args: r.URL.Query()}
	if f := s.takeFault(c); f != nil {
		effect := f.Effect && s.useHook(r.URL.Path, body) == nil
		s.logCall(c, f.errorName(), f.httpStatus(), effect)
		s.inject(w, r, f)
		return
	}
	status, reply := http.StatusOK, object{"ok": true}
	if err := s.useHook(r.URL.Path, body); err != nil {
		status, reply = http.StatusBadRequest, object{"ok": false, "error": err.code}
		if err.status != 0 {
			status = err.status
		}
		for k, v := range err.extra {
			reply[k] = v
		}
	}
	code, _ := reply["error"].(string)
	s.logCall(c, code, status, code == "")
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(reply)
}

func (s *Server) useHook(path string, body []byte) *apiError {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hooks[path]
	switch {
	case h == nil:
		return &apiError{code: "invalid_url", status: http.StatusNotFound}
	case s.clock.now().Sub(h.made) > responseURLTTL:
		return &apiError{code: "expired_url", status: http.StatusNotFound}
	case h.uses >= responseURLUses:
		return &apiError{code: "used_url", status: http.StatusNotFound}
	}
	m, err := decodeObject(body)
	if err != nil {
		return fail("invalid_payload")
	}
	if problems := validateMessage(m, false); len(problems) > 0 {
		return failWith(problems)
	}
	h.uses++
	defer s.touch()
	return s.respond(h, m)
}

// respond posts, replaces or deletes. The default is a new message that only the
// user of the interaction sees.
func (s *Server) respond(h *hook, m object) *apiError {
	ch := s.channels[h.channel]
	if ch == nil {
		return fail("channel_not_found")
	}
	old := s.message(h.channel, h.ts)
	if m["delete_original"] == true {
		if old != nil {
			s.remove(ch, old)
		}
		return nil
	}
	if empty(m) {
		return fail("no_text")
	}
	if m["replace_original"] == true && old != nil {
		before := old.json(s)
		if _, ok := m["blocks"]; !ok {
			old.Blocks = nil
		}
		old.apply(m)
		old.Revision++
		s.see(ch, old, "update")
		if old.EphemeralTo == "" {
			s.emitChanged(ch, old, before)
		}
		return nil
	}
	msg := &Message{
		Channel: ch.ID, TS: s.newTS(), User: h.app.BotUser, BotID: h.app.BotID, AppID: h.app.ID, TeamID: s.team.ID,
		SentAt: s.clock.now(),
	}
	if m["response_type"] != "in_channel" {
		msg.EphemeralTo = h.user
	}
	if ts, ok := m["thread_ts"].(string); ok {
		if p := s.message(ch.ID, ts); p != nil && !p.IsReply() {
			msg.ThreadTS, p.ThreadTS = ts, ts
		}
	}
	msg.apply(m)
	s.store(ch, msg)
	return nil
}
