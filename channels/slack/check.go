package slack

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"beckon/hub"
)

// maxChecked bounds how many people and places a check asks Slack about.
const maxChecked = 50

// Check says what is not set up right: tokens, scopes, and whether Slack reaches
// the places and people that routes name. A machine that can't reach Slack is a
// fault only when live, since a config may be checked anywhere. Live also posts a test message to the
// first place that a route names, and deletes it at once: Slack offers no other
// way to see that posting works, and an operator has no Slack account here.
func (c *Channel) Check(ctx context.Context, live bool) []hub.Finding {
	out, err := c.checkToken(ctx)
	if !live && slackSaid(err, codeUnreachable, codeTimeout) {
		return []hub.Finding{{OK: true, What: "tokens, not tested: Slack can't be reached from here (--live makes that a problem)"}}
	}
	out = append(out, c.checkListening(ctx))
	if err != nil {
		return out
	}
	places, persons := c.targets()
	for _, name := range places[:min(len(places), maxChecked)] {
		out = append(out, c.checkPlace(ctx, name))
	}
	for _, id := range persons[:min(len(persons), maxChecked)] {
		if p := c.desk.Directory().People[id]; p != nil {
			out = append(out, c.checkPerson(ctx, p))
		}
	}
	if n := len(places) + len(persons); len(places) > maxChecked || len(persons) > maxChecked {
		out = append(out, hub.Finding{OK: true, What: fmt.Sprintf("the first %d of %d targets were looked at", maxChecked, n)})
	}
	if live {
		out = append(out, c.checkPosting(ctx, places))
	}
	return out
}

// targets are the places and persons that routes name, in order.
func (c *Channel) targets() (places, persons []string) {
	seen := map[hub.Target]bool{}
	for _, r := range c.desk.Directory().Routes {
		for _, e := range r.Post {
			for _, t := range e.Targets {
				if t.Channel != Name || seen[t] {
					continue
				}
				seen[t] = true
				if t.Place != "" {
					places = append(places, t.Place)
				} else {
					persons = append(persons, t.Person)
				}
			}
		}
	}
	return places, persons
}

// checkToken looks at the bot token and its scopes.
func (c *Channel) checkToken(ctx context.Context) (out []hub.Finding, err error) {
	var who identity
	header, err := c.api.do(ctx, c.api.bot, "auth.test", nil, &who)
	if err != nil {
		return []hub.Finding{c.finding("bot token", err, "Slack")}, err
	}
	c.api.mu.Lock()
	c.api.who = &who
	c.api.mu.Unlock()
	out = append(out, hub.Finding{OK: true, What: fmt.Sprintf("bot token of @%s in %s", line(who.UserName, "the app"), line(who.TeamName, who.Team))})
	given := header.Values("X-Oauth-Scopes")
	if len(given) == 0 {
		return append(out, hub.Finding{OK: true, What: "scopes (Slack does not say which there are)"}), nil
	}
	have := strings.FieldsFunc(strings.Join(given, ","), func(r rune) bool { return r == ',' || r == ' ' })
	missing := slices.DeleteFunc(Scopes(), func(s string) bool { return slices.Contains(have, s) })
	for _, s := range missing {
		out = append(out, hub.Finding{What: "scope " + s, Msg: "add it under OAuth & Permissions, or in the manifest, and install the app again: " + scopeUse(s)})
	}
	if len(missing) == 0 {
		out = append(out, hub.Finding{OK: true, What: "scopes"})
	}
	return out, nil
}

// scopeUse says what does not work without a scope.
func scopeUse(scope string) string {
	uses := map[string]string{
		"chat:write": "nothing can be posted", "im:write": "nobody can be asked in direct messages",
		"users:read": "nobody is known by e-mail address", "users:read.email": "nobody is known by e-mail address",
		"channels:history": "replies in public channels are not heard", "groups:history": "replies in private channels are not heard",
		"im:history": "replies in direct messages are not heard", "commands": "the slash command does not work",
		"channels:read": "public channels are not found by name", "groups:read": "private channels are not found by name",
	}
	return "without it " + orWord(uses[scope], "something does not work")
}

// checkListening looks at how people's answers get here.
func (c *Channel) checkListening(ctx context.Context) hub.Finding {
	if c.conf.AppToken.IsZero() {
		return hub.Finding{OK: true, What: "answers come to " + c.desk.Directory().PublicURL + "/slack/events (that Slack reaches it shows on the app's Event Subscriptions page)"}
	}
	_, err := c.api.do(ctx, c.api.app, "apps.connections.open", nil, nil)
	switch {
	case err == nil:
		return hub.Finding{OK: true, What: "app token, Socket Mode"}
	case slackSaid(err, "missing_scope"):
		return hub.Finding{What: "app token", Msg: "it lacks the scope connections:write; make a new one under Basic Information, App-Level Tokens"}
	case slackSaid(err, "socket_mode_not_enabled", "not_allowed_token_type"):
		return hub.Finding{What: "Socket Mode", Msg: "switch it on under Socket Mode in the app's settings"}
	case slackSaid(err, "invalid_auth", "token_revoked", "account_inactive", "not_authed"):
		return hub.Finding{What: "app token", Msg: "Slack does not take it; make a new one under Basic Information, App-Level Tokens, and put it into app_token"}
	}
	return c.finding("app token", err, "Slack")
}

// checkPlace looks whether the app can post to a channel.
func (c *Channel) checkPlace(ctx context.Context, name string) hub.Finding {
	what := "channel " + name
	pl, err := c.places.channel(ctx, name)
	if err != nil {
		return c.finding(what, err, name)
	}
	if pl.id == "" {
		return hub.Finding{What: what, Msg: "the app is in no channel of that name; invite it with /invite @" + c.botName() + " in " + name +
			" (it may be there already if the app lacks channels:read and groups:read)"}
	}
	var out struct {
		Channel struct {
			Archived bool `json:"is_archived"`
			Member   bool `json:"is_member"`
			Shared   bool `json:"is_ext_shared"`
		} `json:"channel"`
	}
	err = c.api.call(ctx, "conversations.info", url.Values{"channel": {pl.id}}, &out)
	if slackSaid(err, "missing_scope") {
		// Reading there takes another scope, and being a member.
		err = c.api.call(ctx, "conversations.history", url.Values{"channel": {pl.id}, "limit": {"1"}}, nil)
		out.Channel.Member = true
	}
	switch {
	case err != nil:
		return c.finding(what, err, name)
	case out.Channel.Archived:
		return c.finding(what, &apiError{Method: "conversations.info", Code: "is_archived"}, name)
	case !out.Channel.Member:
		return c.finding(what, &apiError{Method: "conversations.info", Code: "not_in_channel"}, name)
	case out.Channel.Shared:
		return hub.Finding{OK: true, What: what + " (shared with another company, whose people see what is posted and may not answer)"}
	}
	return hub.Finding{OK: true, What: what}
}

// checkPerson looks whether somebody can be reached.
func (c *Channel) checkPerson(ctx context.Context, p *hub.Person) hub.Finding {
	what := "direct messages to " + p.Name
	user, err := c.people.user(ctx, p)
	if err == nil {
		var out struct {
			User slackUser `json:"user"`
		}
		err = c.api.call(ctx, "users.info", url.Values{"user": {user}}, &out)
		switch {
		case err == nil && out.User.Deleted:
			err = &apiError{Method: "users.info", Code: "user_disabled"}
		case err == nil && out.User.Bot:
			err = &apiError{Method: "users.info", Code: "cannot_dm_bot"}
		}
	}
	return c.finding(what, err, p.Name)
}

// checkPosting posts a test message and deletes it.
func (c *Channel) checkPosting(ctx context.Context, places []string) hub.Finding {
	if len(places) == 0 {
		return hub.Finding{OK: true, What: "no test message: no route posts to a channel"}
	}
	what := "test message to " + places[0]
	pl, err := c.places.channel(ctx, places[0])
	if err != nil {
		return c.finding(what, err, places[0])
	}
	id := "check-" + rand.Text()
	m := &outgoing{place: pl, key: keyOf(id, 0)}
	m.blocks, m.text = renderNote("Beckon checks that it can post here. This message deletes itself.")
	posted, err := c.post(ctx, m)
	if err != nil {
		return c.finding(what, err, places[0])
	}
	channel, ts, _ := parseRef(posted.Ref)
	if err := c.api.call(ctx, "chat.delete", url.Values{"channel": {channel}, "ts": {ts}}, nil); err != nil {
		return c.finding("deleting the "+what, err, places[0])
	}
	return hub.Finding{OK: true, What: what + ", posted and deleted"}
}

// finding says what an error means for what was checked.
func (c *Channel) finding(what string, err error, place string) hub.Finding {
	if err == nil {
		return hub.Finding{OK: true, What: what}
	}
	if de, ok := errors.AsType[*hub.DeliveryError](c.explain(err, place, false)); ok {
		return hub.Finding{What: what, Msg: de.Msg}
	}
	return hub.Finding{What: what, Msg: "it was interrupted"}
}
