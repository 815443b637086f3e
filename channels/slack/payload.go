package slack

import (
	"encoding/json"
	"errors"

	slackgo "github.com/slack-go/slack"
)

// What is decoded here is only what the channel needs, so that a new field or
// another shape of one that does not matter breaks no click
// (github.com/slack-go/slack/issues/816).

// interaction is a click or a form.
// https://docs.slack.dev/reference/interaction-payloads
type interaction struct {
	Type       string     `json:"type"`
	User       slackActor `json:"user"`
	Enterprise *struct {
		ID string `json:"id"`
	} `json:"enterprise"`
	// Team is where the app is installed; null for a whole organization.
	Team *struct {
		ID string `json:"id"`
	} `json:"team"`
	TriggerID   string `json:"trigger_id"`
	ResponseURL string `json:"response_url"`
	Container   struct {
		Type      string `json:"type"`
		ChannelID string `json:"channel_id"`
		MessageTS string `json:"message_ts"`
		ThreadTS  string `json:"thread_ts"`
		Ephemeral bool   `json:"is_ephemeral"`
	} `json:"container"`
	Actions []json.RawMessage `json:"actions"`
	View    *viewPayload      `json:"view"`
}

// slackActor is who did it: an account and the workspace that it belongs to.
type slackActor struct {
	ID     string `json:"id"`
	TeamID string `json:"team_id"`
}

// viewPayload is a modal or a Home tab as it comes back.
type viewPayload struct {
	ID              string `json:"id"`
	Type            string `json:"type"`
	Hash            string `json:"hash"`
	CallbackID      string `json:"callback_id"`
	PrivateMetadata string `json:"private_metadata"`
	Blocks          []struct {
		Type    string `json:"type"`
		BlockID string `json:"block_id"`
	} `json:"blocks"`
	State struct {
		Values map[string]map[string]json.RawMessage `json:"values"`
	} `json:"state"`
}

// controlValue is an element as somebody left it: the entry of "actions", or a
// value of a view's state.
type controlValue struct {
	Type     string `json:"type"`
	ActionID string `json:"action_id"`
	ActionTS string `json:"action_ts"`
	Value    string `json:"value"`
	Selected struct {
		Value string `json:"value"`
	} `json:"selected_option"`
	SelectedOptions []struct {
		Value string `json:"value"`
	} `json:"selected_options"`
	Date     string `json:"selected_date"`
	DateTime int64  `json:"selected_date_time"`
}

// chosenValues are the values of ticked boxes.
func (v *controlValue) chosenValues() []string {
	out := make([]string, 0, len(v.SelectedOptions))
	for _, o := range v.SelectedOptions {
		out = append(out, o.Value)
	}
	return out
}

// entered is what was entered in a view. bad names the block of a value that
// can't be read, "" for none: it must not pass for an empty one.
func (v *viewPayload) entered() (out viewValues, bad string) {
	out = viewValues{}
	for block, elements := range v.State.Values {
		for id, raw := range elements {
			var c controlValue
			if json.Unmarshal(raw, &c) != nil {
				return nil, block
			}
			a := slackgo.BlockAction{
				ActionID: id, BlockID: block, Type: slackgo.ActionType(c.Type), Value: c.Value,
				SelectedOption: slackgo.OptionBlockObject{Value: c.Selected.Value},
				SelectedDate:   c.Date, SelectedDateTime: c.DateTime,
			}
			for _, value := range c.chosenValues() {
				a.SelectedOptions = append(a.SelectedOptions, slackgo.OptionBlockObject{Value: value})
			}
			if out[block] == nil {
				out[block] = map[string]slackgo.BlockAction{}
			}
			out[block][id] = a
		}
	}
	return out, ""
}

// eventEnvelope is what stands around an event.
// https://docs.slack.dev/apis/events-api/#event-type-structure
type eventEnvelope struct {
	Type      string     `json:"type"`
	TeamID    string     `json:"team_id"`
	EventID   string     `json:"event_id"`
	Challenge string     `json:"challenge"` // of url_verification
	Event     slackEvent `json:"event"`
}

// slackEvent is an event of any type that the channel listens to.
type slackEvent struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Channel string `json:"channel"`
	User    string `json:"user"`
	BotID   string `json:"bot_id"`
	AppID   string `json:"app_id"`
	Team    string `json:"team"`      // of the author
	Source  string `json:"user_team"` // of the author, in a shared channel
	Text    string `json:"text"`
	TS      string `json:"ts"`
	Thread  string `json:"thread_ts"`
	Parent  string `json:"parent_user_id"`
	Kind    string `json:"channel_type"`
	Tab     string `json:"tab"` // of app_home_opened

	OldChannel string `json:"old_channel_id"` // of channel_id_changed
	NewChannel string `json:"new_channel_id"`
}

// lenient decodes what it can: a field of another type than expected stays empty,
// and is missed only where it is needed.
func lenient(raw []byte, v any) error {
	err := json.Unmarshal(raw, v)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil
	}
	return err
}

// command is a slash command.
// https://docs.slack.dev/interactivity/implementing-slash-commands
type command struct {
	TeamID      string `json:"team_id"`
	ChannelID   string `json:"channel_id"`
	UserID      string `json:"user_id"`
	Command     string `json:"command"`
	Text        string `json:"text"`
	ResponseURL string `json:"response_url"`
	TriggerID   string `json:"trigger_id"`
}
