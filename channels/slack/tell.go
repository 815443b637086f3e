package slack

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"

	slackgo "github.com/slack-go/slack"
)

const (
	tellTries = 4                // of each way to tell somebody something
	tellPause = time.Second / 4  // before the second try, then twice as long each time
	tellWait  = 15 * time.Second // the longest Retry-After that is waited for in place
	// noteLinkLife is how long a personal link in a note works: the note stands
	// until the person's client is started again.
	noteLinkLife = time.Hour
)

// spot is where somebody did something, so that they can be told something
// there and nobody else is.
type spot struct {
	user        string // the Slack user
	channel     string // "" in the Home tab
	thread      string // the thread that it was written in; "" for a click
	responseURL string
	trigger     string // opens a modal for three seconds
	// own: what was clicked is shown to this person only, so it may be replaced.
	own bool
}

// private reports a conversation of the hub with one person.
func (at spot) private() bool { return strings.HasPrefix(at.channel, "D") }

// remark is what the hub says to one person.
type remark struct {
	blocks []slackgo.Block
	text   string
	// final: it takes the place of what was clicked, if that is the person's own.
	final bool
}

func remarkOf(blocks []slackgo.Block, text string) remark {
	return remark{blocks: blocks, text: text}
}

func remarkText(s string) remark { return remarkOf(renderNote(s)) }

// What is said when there is no Outcome to say.
const (
	sayNotRecorded = "The hub could not record this just now. Nothing is known to be recorded."
	sayClickAgain  = sayNotRecorded + " Click again in a moment."
	sayReplyAgain  = sayNotRecorded + " Reply again in a moment."
	sayNotRead     = "The hub could not look this up just now. Nothing has been recorded; click again in a moment."
	sayOldButton   = "I no longer understand this button. Nothing has been recorded; the Home tab of this app shows what waits for you."
	sayTooLate     = "Slack gives the hub three seconds to open a form, and they had passed. Nothing has been recorded; click again."
)

// tell says something to one person, privately: as the answer to a click, as a
// note in the conversation that only they see, else as a direct message. It
// tries again, and the next way, since a click must never go without a word.
func (in *inbound) tell(ctx context.Context, at spot, what remark) error {
	var errs []error
	for _, way := range in.ways(at, what) {
		err := in.keepTrying(ctx, way)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// ways are the ways to tell somebody something, the best first.
func (in *inbound) ways(at spot, what remark) []func(context.Context) error {
	var ways []func(context.Context) error
	if at.responseURL != "" {
		ways = append(ways, func(ctx context.Context) error {
			m := map[string]any{"text": what.text, "response_type": "ephemeral", "replace_original": at.own && what.final}
			if what.blocks != nil {
				m["blocks"] = what.blocks
			}
			return in.c.api.respond(ctx, at.responseURL, m)
		})
	}
	once := keyOf("note-"+rand.Text(), 0).uuid() // so that a note that did arrive is not posted again
	post := func(method, channel, thread, user string) func(context.Context) error {
		return func(ctx context.Context) error {
			args, err := content(what.text, what.blocks)
			if err != nil {
				return err
			}
			args.Set("channel", channel)
			if user != "" {
				args.Set("user", user)
			} else {
				args.Set("client_msg_id", once)
			}
			if thread != "" {
				args.Set("thread_ts", thread)
			}
			args.Set("unfurl_links", "false")
			args.Set("unfurl_media", "false")
			return in.c.api.call(ctx, method, args, nil)
		}
	}
	switch {
	case at.private():
		ways = append(ways, post("chat.postMessage", at.channel, at.thread, ""))
	case at.channel != "":
		// In a thread that the person has just written in they see the note there;
		// elsewhere a note in a thread may stay unseen.
		ways = append(ways, post("chat.postEphemeral", at.channel, at.thread, at.user))
	}
	return append(ways, post("chat.postMessage", at.user, "", ""))
}

// keepTrying calls Slack until it works, or trying again is no use. What may
// have arrived is sent once more: to hear something twice is better than to
// hear nothing.
func (in *inbound) keepTrying(ctx context.Context, call func(context.Context) error) error {
	pause := tellPause
	for try := 1; ; try++ {
		err := call(ctx)
		if err == nil || try == tellTries {
			return err
		}
		wait := pause
		switch e, ok := errors.AsType[*apiError](err); {
		case !ok:
			return err
		case e.Code == codeLimited && e.After <= tellWait:
			wait = max(e.After, pause)
		case !passing(e):
			return err
		}
		if !sleep(ctx, wait) {
			return err
		}
		pause *= 2
	}
}

// passing reports a failure of a call that may not come again.
func passing(e *apiError) bool {
	switch e.Code {
	case codeUnreachable, codeTimeout, codeBroken:
		return true
	}
	return e.MaybeDone || strings.HasPrefix(e.Code, codeHTTP+"5")
}

// sleep waits, and reports whether ctx is still good.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// tellOutcome says what came of an act, once: the same act may come twice, and
// then both hear of the same outcome.
func (in *inbound) tellOutcome(ctx context.Context, at spot, key string, o hub.Outcome, who *hub.Person) error {
	if !in.told.first("outcome/" + key) {
		return nil
	}
	what := remarkOf(renderOutcome(o, who))
	what.final = o.Status.Terminal()
	return in.tell(ctx, at, what)
}

// record passes an answer to the hub. It tries again after a failure, which the
// receipt makes safe.
func (in *inbound) record(ctx context.Context, a hub.Answer) (o hub.Outcome, err error) {
	for _, wait := range []time.Duration{0, tellPause, 3 * tellPause} {
		if wait > 0 && !sleep(ctx, wait) {
			break
		}
		if o, err = in.desk.Answer(ctx, a); err == nil {
			return o, nil
		}
	}
	in.log.Error("an answer from Slack could not be recorded", "message", a.MessageID, "err", err)
	return o, err
}

// probe asks the hub why somebody can't answer a message: it passes an answer
// without a value, which nobody can give.
func (in *inbound) probe(ctx context.Context, messageID string, who *hub.Person, r hub.Receipt) (hub.Outcome, error) {
	o, err := in.record(ctx, hub.Answer{MessageID: messageID, Actor: who.Actor(), Verb: hub.VerbAnswer, Receipt: r})
	if err == nil && (o.Kind == hub.Unclear || o.Reason == hub.ReasonWrongVerb) {
		o.Kind, o.Reason, o.Fields = hub.Refused, hub.ReasonNotFound, nil // they may answer by now: the next click will tell
	}
	return o, err
}

// card reads a message as a person may see it outside the hub. nil without an
// error: it is not for them.
func (in *inbound) card(ctx context.Context, messageID string, who *hub.Person) (*hub.Card, error) {
	c, err := in.desk.Card(ctx, messageID, who.ID, hub.Export)
	if he, ok := errors.AsType[*hub.Error](err); ok && he.Code == ma2h.CodeNotFound {
		return nil, nil
	}
	return c, err
}

// receipt is that of one act. The key is the same whenever Slack sends it; the
// evidence says how the person was identified and holds no secret.
func (in *inbound) receipt(d *deed, team string, at spot, what, key string) hub.Receipt {
	e, err := json.Marshal(struct {
		Transport string `json:"transport"`
		Act       string `json:"act"`
		Team      string `json:"team"`
		User      string `json:"user"`
		Channel   string `json:"channel,omitempty"`
	}{d.transport, what, team, at.user, at.channel})
	if err != nil { // can't happen: five strings
		e = nil
	}
	return hub.Receipt{Channel: Name, Account: team, Key: what + "/" + key, Evidence: e}
}

// linkRemark hands out the personal link of a message, or of the list for "".
func (in *inbound) linkRemark(c *hub.Card, who *hub.Person) remark {
	to := in.desk.PersonalLink(who.ID, c.MessageID, noteLinkLife)
	if to == "" {
		to = c.ReviewURL
	}
	return remarkOf(renderLink(c, to))
}

// viewArgs are the arguments of the methods that take a view.
func viewArgs(view any) (url.Values, error) {
	b, err := json.Marshal(view)
	if err != nil {
		return nil, err
	}
	return url.Values{"view": {string(b)}}, nil
}

// openView opens a modal for whoever clicked.
func (in *inbound) openView(ctx context.Context, trigger string, view slackgo.ModalViewRequest) error {
	args, err := viewArgs(view)
	if err != nil {
		return err
	}
	args.Set("trigger_id", trigger)
	for try := 1; ; try++ {
		err := in.c.api.call(ctx, "views.open", args, nil)
		if try > 1 && slackSaid(err, "exchanged_trigger_id") {
			return nil // the try before had worked after all
		}
		e, ok := errors.AsType[*apiError](err)
		if err == nil || !ok || !passing(e) || try == tellTries || !sleep(ctx, tellPause) {
			return err
		}
	}
}

// expired reports that Slack opens no modal any more for a click.
func expired(err error) bool {
	if slackSaid(err, "expired_trigger_id", "invalid_trigger_id", "exchanged_trigger_id") {
		return true
	}
	e, ok := errors.AsType[*apiError](err) // seen as well: slackapi/bolt-python#434
	return ok && e.Code == "invalid_arguments" && strings.Contains(strings.Join(e.Messages, " "), "trigger_id")
}

// mayDo reports whether a card's reader can do what a form of that kind is for.
func mayDo(c *hub.Card, k kind) bool {
	if !c.MayAnswer || c.Status != ma2h.Open {
		return false
	}
	if k == kindDecline || k == kindCant {
		return c.CanDecline
	}
	return c.CanAnswer || c.Type == ma2h.Task && c.CanDecline
}

// cantDo says why, where the hub's own door has nothing against it.
func cantDo(c *hub.Card, k kind) remark {
	r := hub.ReasonNoAnswer
	if k == kindDecline || k == kindCant {
		r = hub.ReasonNoDecline
	}
	return remarkText(templates.Outcome(hub.Outcome{Kind: hub.Refused, Reason: r, Status: c.Status}, c.Reader))
}
