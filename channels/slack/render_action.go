package slack

import (
	"strconv"
	"strings"
)

// actionVersion begins every action_id and callback_id. An older version that
// still stands in a channel is not understood and gets a fresh copy.
const actionVersion = "b1"

// kind says what a control does.
type kind string

// The kinds of controls and of views.
const (
	kindAnswer  kind = "answer"  // a button that is an option
	kindChoose  kind = "choose"  // a select; the value is the option's number
	kindForm    kind = "form"    // opens [askModal]; a view that answers or completes
	kindDecline kind = "decline" // opens [declineModal]; a view that declines
	kindDone    kind = "done"    // completes a task
	kindCant    kind = "cant"    // opens [declineModal] of a task; a view that dismisses
	kindTick    kind = "tick"    // checkboxes; Option is the first item of the group
	kindOpen    kind = "open"    // wants a personal link to the page
	kindLink    kind = "link"    // a button that is a link: nothing to do
	kindTell    kind = "tell"    // pass the reply in its value on to the agent
	kindHome    kind = "home"    // the Home tab before MessageID, "" for its first page
	kindField   kind = "field"   // an input of a view
)

func (k kind) known() bool {
	switch k {
	case kindAnswer, kindChoose, kindForm, kindDecline, kindDone, kindCant, kindTick, kindOpen, kindLink, kindTell, kindHome, kindField:
		return true
	}
	return false
}

// numbered reports a control that is about one option, item or field.
func (k kind) numbered() bool {
	return k == kindAnswer || k == kindChoose || k == kindTick || k == kindField
}

// action is what a control stands for. It comes back from Slack and anybody in
// a workspace can send one, so it names things and proves nothing.
type action struct {
	Kind      kind
	MessageID string
	Option    int // from 1; 0 where there is none
}

// maxActionID is Slack's limit on an action_id, in characters.
const maxActionID = 255

// id writes the action_id: "b1:answer:2:msg_01J…".
func (a action) id() string {
	return actionVersion + ":" + string(a.Kind) + ":" + strconv.Itoa(a.Option) + ":" + a.MessageID
}

// parseAction reads an action_id and, of a select, the value that was chosen.
// ok is false for anything that is not exactly what [action.id] writes.
func parseAction(actionID, value string) (a action, ok bool) {
	if len(actionID) > maxActionID {
		return action{}, false
	}
	parts := strings.SplitN(actionID, ":", 4)
	if len(parts) != 4 || parts[0] != actionVersion {
		return action{}, false
	}
	k := kind(parts[1])
	if !k.known() {
		return action{}, false
	}
	n, ok := number(parts[2])
	if !ok || !validID(parts[3], k == kindHome) {
		return action{}, false
	}
	a = action{Kind: k, MessageID: parts[3], Option: n}
	if k == kindChoose {
		if a.Option, ok = number(value); !ok || n != 0 {
			return action{}, false
		}
	}
	if k.numbered() != (a.Option > 0) {
		return action{}, false
	}
	return a, true
}

// number reads a number as strconv.Itoa writes it, 0 to 99999.
func number(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 99999 || strconv.Itoa(n) != s {
		return 0, false
	}
	return n, true
}

// validID reports an id that a hub may have minted.
func validID(s string, emptyToo bool) bool {
	if s == "" {
		return emptyToo
	}
	if len(s) > 128 {
		return false
	}
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("._~-", r):
		default:
			return false
		}
	}
	return true
}
