package slack

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"beckon/hub"
)

// How long a look-up by e-mail is believed. Somebody who is not found may be
// invited at any time.
const (
	foundLife    = 24 * time.Hour
	notFoundLife = 10 * time.Minute
)

// people maps the directory to Slack users and back: by "slack" in the config,
// or by e-mail address where lookup_by_email allows it. Display names prove
// nothing and are never looked at.
type people struct {
	api    *api
	desk   hub.Desk
	lookup bool
}

func newPeople(a *api, desk hub.Desk, lookup bool) *people {
	return &people{api: a, desk: desk, lookup: lookup}
}

// found is what a look-up said, as the hub keeps it. The key names the address
// by its hash.
type found struct {
	User string    `json:"u,omitempty"` // "" for nobody
	Mail string    `json:"m,omitempty"` // hash of the address, of a look-up by user
	At   time.Time `json:"t"`
}

func (f found) fresh() bool {
	life := foundLife
	if f.User == "" && f.Mail == "" {
		life = notFoundLife
	}
	return !f.At.IsZero() && time.Since(f.At) < life
}

// user returns the Slack user of somebody in the directory; a permanent
// [*hub.DeliveryError] when there is none.
func (p *people) user(ctx context.Context, who *hub.Person) (string, error) {
	switch {
	case who.Slack != "":
		return who.Slack, nil
	case !p.lookup:
		return "", permanent("no_slack_user", who.Name+" has no slack in the config, and lookup_by_email is off")
	case who.Email == "":
		return "", permanent("no_slack_user", who.Name+" has neither slack nor email in the config")
	}
	key := "mail:" + hashMail(who.Email)
	f, ok := p.get(ctx, key)
	if !ok {
		var out struct {
			User slackUser `json:"user"`
		}
		err := p.api.call(ctx, "users.lookupByEmail", url.Values{"email": {who.Email}}, &out)
		switch {
		case slackSaid(err, "users_not_found"):
		case err != nil:
			return "", err
		case !out.User.usable():
		default:
			f.User = out.User.ID
		}
		p.put(ctx, key, f)
	}
	if f.User == "" {
		return "", permanent("no_slack_user", "Slack knows no active account with the e-mail address of "+who.Name+
			"; write their member id as slack in people")
	}
	return f.User, nil
}

// slackUser is what users.info and users.lookupByEmail say of an account.
type slackUser struct {
	ID       string `json:"id"`
	Team     string `json:"team_id"`
	Deleted  bool   `json:"deleted"`
	Bot      bool   `json:"is_bot"`
	Stranger bool   `json:"is_stranger"` // of another company (Slack Connect)
	Confirm  *bool  `json:"is_email_confirmed"`
	Profile  struct {
		Email string `json:"email"`
	} `json:"profile"`
}

// usable reports an account whose e-mail address may be believed.
func (u *slackUser) usable() bool {
	return u.ID != "" && !u.Deleted && !u.Bot && !u.Stranger && (u.Confirm == nil || *u.Confirm)
}

// person returns who a Slack user is in the directory, nil for nobody there.
// team is the workspace of the account, "" when Slack left it out. An error
// means that it could not be found out.
func (p *people) person(ctx context.Context, team, user string) (*hub.Person, error) {
	if user == "" {
		return nil, nil
	}
	d := p.desk.Directory()
	for _, who := range d.People {
		if who.Slack == user {
			return who, nil
		}
	}
	if !p.lookup {
		return nil, nil
	}
	me, err := p.api.whoami(ctx)
	if err != nil {
		return nil, err
	}
	// Another company's people see the buttons of a shared channel too; their
	// addresses are their own company's word.
	if team != "" && team != me.Team && team != me.Enterprise {
		return nil, nil
	}
	key := "user:" + user
	f, ok := p.get(ctx, key)
	if !ok {
		var out struct {
			User slackUser `json:"user"`
		}
		err := p.api.call(ctx, "users.info", url.Values{"user": {user}}, &out)
		switch {
		case slackSaid(err, "user_not_found", "user_not_visible"):
		case err != nil:
			return nil, err
		case !out.User.usable() || out.User.Profile.Email == "":
		case out.User.Team != "" && out.User.Team != me.Team && me.Enterprise == "":
		default:
			f.User, f.Mail = user, hashMail(out.User.Profile.Email)
		}
		p.put(ctx, key, f)
	}
	if f.Mail == "" {
		return nil, nil
	}
	var match *hub.Person
	for _, who := range d.People {
		if who.Slack == "" && who.Email != "" && hashMail(who.Email) == f.Mail {
			if match != nil {
				return nil, nil // two people share an address: it proves neither
			}
			match = who
		}
	}
	return match, nil
}

// hashMail names an address without saying it.
func hashMail(address string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(strings.TrimSpace(address))))
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

// get reads what was found before; false when it is too old. A store that fails
// costs a look-up and no more.
func (p *people) get(ctx context.Context, key string) (f found, ok bool) {
	s, err := p.desk.State().GetState(ctx, Name, p.api.tag+" "+key)
	if err != nil || s == "" || json.Unmarshal([]byte(s), &f) != nil || !f.fresh() {
		return found{}, false
	}
	return f, true
}

func (p *people) put(ctx context.Context, key string, f found) {
	f.At = time.Now().UTC()
	b, err := json.Marshal(f)
	if err == nil {
		err = p.desk.State().PutState(ctx, Name, p.api.tag+" "+key, string(b))
	}
	if err != nil {
		p.desk.Log().Warn("a look-up in Slack can't be kept", "err", err)
	}
}
