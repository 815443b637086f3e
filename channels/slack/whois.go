package slack

import (
	"context"

	"beckon/hub"
	"beckon/templates"
)

// somebody is who did something, as far as the hub knows them.
type somebody struct {
	*hub.Person        // nil when they may do nothing here
	team        string // our workspace
	refusal     remark // why, when Person is nil
}

// whois maps a Slack account to the directory: by the id that Slack vouches for,
// never by a name. A stranger from another company's workspace, who sees the
// buttons of a shared channel too, is nobody here.
// https://docs.slack.dev/apis/slack-connect/
func (in *inbound) whois(ctx context.Context, actor slackActor) (s somebody, err error) {
	err = in.keepTrying(ctx, func(ctx context.Context) error {
		s, err = in.lookUp(ctx, actor)
		return err
	})
	return s, err
}

func (in *inbound) lookUp(ctx context.Context, actor slackActor) (somebody, error) {
	me, err := in.c.api.whoami(ctx)
	if err != nil {
		return somebody{}, err
	}
	s := somebody{team: me.Team}
	if actor.TeamID != "" && actor.TeamID != me.Team && me.Enterprise == "" {
		s.refusal = remarkText("Your Slack account belongs to another workspace, and only people of " + line(me.TeamName, "this workspace") +
			" can answer here. Nothing has been recorded; ask one of them.")
		return s, nil
	}
	s.Person, err = in.c.people.person(ctx, actor.TeamID, actor.ID)
	if err != nil {
		return somebody{}, err
	}
	if s.Person == nil {
		s.refusal = remarkText(templates.Outcome(hub.Outcome{Kind: hub.Refused, Reason: hub.ReasonUnknownPerson}, nil) +
			" Your Slack member ID is " + line(actor.ID, "missing") + ".")
	}
	return s, nil
}
