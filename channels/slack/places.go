package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"beckon/hub"
)

// How long what was learnt about a channel is believed.
const (
	placeLife = 24 * time.Hour
	scanLife  = 5 * time.Minute // also of a name that was not found
	noScan    = time.Hour       // after Slack said that the app may not list
	scanPage  = 200             // as Slack recommends
	scanPages = 10
)

// place is a conversation to post to.
type place struct {
	id   string // C…, G… or D…; "" for a name whose id nobody knows yet
	name string // "#deploys" or the id: for people
	dm   bool
}

// arg is what chat.postMessage takes.
func (p place) arg() string {
	if p.id == "" {
		return p.name
	}
	return p.id
}

// places turns targets into conversations. A channel's name is looked up among
// the app's own channels once, and kept: no list of all channels for a message
// (https://github.com/argoproj/argo-events/issues/1207). Without the scopes for
// that, Slack itself takes the name, and its answer says the id.
type places struct {
	api   *api
	state hub.StateStore

	scanning chan struct{} // holds a token: one scan does for all who want it

	mu    sync.Mutex
	names map[string]string
	until time.Time // names holds
}

func newPlaces(a *api, s hub.StateStore) *places {
	p := &places{api: a, state: s, names: map[string]string{}, scanning: make(chan struct{}, 1)}
	p.scanning <- struct{}{}
	return p
}

// kept is what the hub keeps of a conversation.
type kept struct {
	ID string    `json:"i"`
	At time.Time `json:"t"`
}

func (p *places) get(ctx context.Context, key string) (k kept) {
	s, err := p.state.GetState(ctx, Name, p.api.tag+" "+key)
	if err != nil || s == "" || json.Unmarshal([]byte(s), &k) != nil {
		return kept{}
	}
	return k
}

func (p *places) put(ctx context.Context, key, id string) {
	b, err := json.Marshal(kept{ID: id, At: time.Now().UTC()})
	if err == nil {
		err = p.state.PutState(ctx, Name, p.api.tag+" "+key, string(b))
	}
	if err != nil {
		p.api.log.Warn("the id of a conversation can't be kept", "err", err)
	}
}

// channel finds a channel by "#name" or id.
func (p *places) channel(ctx context.Context, name string) (place, error) {
	if !strings.HasPrefix(name, "#") {
		return place{id: p.moved(ctx, name), name: name}, nil
	}
	k := p.get(ctx, "place:"+name)
	if k.ID != "" && time.Since(k.At) < placeLife {
		return place{id: p.moved(ctx, k.ID), name: name}, nil
	}
	id, err := p.scan(ctx, name)
	switch {
	case err != nil && k.ID == "":
		return place{}, err
	case id != "":
		p.put(ctx, "place:"+name, id)
		return place{id: id, name: name}, nil
	case k.ID != "":
		// Renamed, or not to be listed: the channel that it was is still meant.
		return place{id: p.moved(ctx, k.ID), name: name}, nil
	}
	return place{name: name}, nil
}

// scan looks for a name among the channels that the app is in; "" when it is not
// there, or the app may not look.
func (p *places) scan(ctx context.Context, name string) (string, error) {
	select {
	case <-p.scanning:
		defer func() { p.scanning <- struct{}{} }()
	case <-ctx.Done():
		return "", fmt.Errorf("slack: look for a channel: %w", ctx.Err())
	}
	if id, ok := p.scanned(name); ok {
		return id, nil
	}
	names := map[string]string{}
	life := scanLife
	cursor := ""
	for range scanPages {
		next, err := p.page(ctx, cursor, names)
		if slackSaid(err, "missing_scope", "not_allowed_token_type") {
			life = noScan
			break
		}
		if err != nil {
			return "", err
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.names, p.until = names, time.Now().Add(life)
	return names[name], nil
}

// scanned returns what the last scan said, if it still holds.
func (p *places) scanned(name string) (id string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.names[name], time.Now().Before(p.until)
}

// page adds a page of the app's own channels to names.
func (p *places) page(ctx context.Context, cursor string, names map[string]string) (next string, err error) {
	var out struct {
		Channels []struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"channels"`
		Metadata struct {
			Next string `json:"next_cursor"`
		} `json:"response_metadata"`
	}
	err = p.api.call(ctx, "users.conversations", url.Values{
		"types": {"public_channel,private_channel"}, "exclude_archived": {"true"}, "limit": {itoa(scanPage)}, "cursor": {cursor},
	}, &out)
	for _, c := range out.Channels {
		names["#"+c.Name] = c.ID
	}
	return out.Metadata.Next, err
}

// learn keeps the id that Slack named for a place.
func (p *places) learn(ctx context.Context, pl place, id string) {
	if pl.id == "" && strings.HasPrefix(pl.name, "#") && id != "" {
		p.put(ctx, "place:"+pl.name, id)
	}
}

// forget drops what is known of a place that Slack does not find.
func (p *places) forget(ctx context.Context, pl place) {
	if strings.HasPrefix(pl.name, "#") {
		p.put(ctx, "place:"+pl.name, "")
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.names, pl.name)
	}
}

// changed notes that a channel has a new id, as the event channel_id_changed
// says. https://docs.slack.dev/reference/events/channel_id_changed
func (p *places) changed(ctx context.Context, from, to string) {
	if from != "" && to != "" && from != to {
		p.put(ctx, "moved:"+from, to)
	}
}

// moved returns the id that a channel has now.
func (p *places) moved(ctx context.Context, id string) string {
	for range 3 {
		k := p.get(ctx, "moved:"+id)
		if k.ID == "" {
			break
		}
		id = k.ID
	}
	return id
}

// dm finds the direct messages with a user, and opens them the first time.
func (p *places) dm(ctx context.Context, user, name string) (place, error) {
	if k := p.get(ctx, "dm:"+user); k.ID != "" {
		return place{id: k.ID, name: name, dm: true}, nil
	}
	var out struct {
		Channel struct {
			ID string `json:"id"`
		} `json:"channel"`
	}
	if err := p.api.call(ctx, "conversations.open", url.Values{"users": {user}}, &out); err != nil {
		return place{}, err
	}
	if out.Channel.ID == "" {
		return place{}, &apiError{Method: "conversations.open", Code: codeBroken, Err: errors.New("no id")}
	}
	p.put(ctx, "dm:"+user, out.Channel.ID)
	return place{id: out.Channel.ID, name: name, dm: true}, nil
}

// forgetDM drops the direct messages with a user.
func (p *places) forgetDM(ctx context.Context, user string) { p.put(ctx, "dm:"+user, "") }
