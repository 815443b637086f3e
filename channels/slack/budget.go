package slack

import (
	"slices"
	"unicode/utf8"

	"beckon/templates"
)

// Slack's limits, in runes or in things. Sources:
// https://docs.slack.dev/reference/block-kit/blocks and, for one element each,
// the pages below block-elements and composition-objects.
const (
	maxBlocks     = 50    // of a message
	maxHomeBlocks = 100   // of a Home tab or a modal
	maxTotal      = 12000 // of all text in a message: Slack refuses from about 13,200
	maxTopText    = 4000  // chat.update answers msg_too_long beyond
	maxHeader     = 150
	maxTextObject = 3000 // a text object; also the most a text input takes
	maxButtonText = 75
	maxOptionText = 75
	maxLabel      = 2000 // label and hint of an input
	maxOptions    = 100  // of a select, and groups of a select
	maxChecks     = 10   // of a group of checkboxes or radio buttons
	maxConfirm    = 300  // text of a confirm dialog
)

// Our own bounds: how much of a card is shown at most where there is room.
const (
	maxButtons     = 5  // more options become a select
	maxShort       = 30 // longer labels become a select: clients cut buttons there
	maxTitle       = 300
	maxWho         = 240
	maxBody        = 4000
	maxParts       = 2000
	maxPartText    = 700
	maxPartLines   = 8
	maxChoiceList  = 3000
	maxListed      = 12  // choices that are listed beside the controls
	maxLabelText   = 200 // of a choice in the list
	maxDescription = 300
	maxCommentText = 1500
	maxNamedValues = 2500
	maxNamedValue  = 300
	maxElements    = 300 // inline elements of one rich_text block
	reserve        = 400 // kept back for the note of what was cut
)

// budget counts what a message may still say and remembers what was cut.
type budget struct {
	left int // runes
	cut  []string
}

func newBudget(runes int) *budget { return &budget{left: runes - reserve} }

// say records that something is not all there; what is a noun that a person
// reads, such as "text".
func (b *budget) say(what string) {
	if !slices.Contains(b.cut, what) {
		b.cut = append(b.cut, what)
	}
}

// fit cuts s to most runes, or to what is left, and spends it.
func (b *budget) fit(what, s string, most int) string {
	s, cut := templates.Cut(s, min(most, max(b.left, 0)))
	if cut {
		b.say(what)
	}
	b.spend(s)
	return s
}

// spend counts text that is shown whatever is left.
func (b *budget) spend(s string) { b.left -= utf8.RuneCountInString(s) }

// room is how much of most is left.
func (b *budget) room(most int) int { return max(min(most, b.left), 0) }
