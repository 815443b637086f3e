// Package reply reads what a person wrote, in a Slack thread or in a mail, as
// an answer to one message, or says why it is none. It never guesses: an answer
// can't be taken back, and asking again costs one line.
//
// The caller passes only what the person wrote. Quoted text, signatures, and
// mail that no person wrote (absence notes, bounces, receipts, reactions) are
// cut or dropped by the channel before this package sees anything.
//
// # A choice (select and confirm)
//
// The first line that isn't blank is the answer, and what follows is the
// comment. The line must be, as a whole, one of:
//
//   - the number of a choice as the card shows it: 2, "2.", "2)", "(2)", "#2",
//     "option 2", a keycap, a circled digit, or the digits of another script.
//     Number words ("two"), ordinals ("2nd"), leading zeros and several numbers
//     are not read;
//   - the value or the label of a choice, or number and label ("2. Hold");
//   - for a confirm, a word for yes or no in one of several languages, or a
//     thumb up or down. They count only when the choices themselves say which
//     is which, by a value or label such as approve, deny, yes or no; the order
//     of the choices says nothing. "OK" and a thumb up count as the whole text
//     only, since with anything more they may say no more than "read".
//
// Letter case, width, composition, white space, invisible characters, quotation
// marks, *markup*, a bullet, marks at its end (. ! , ; :), a "please" or
// "thanks", and the emoji that decorate a label don't matter. A question mark
// does, unless the label has it, and so do "..." and ~strikethrough~.
//
// When two choices fit, none is taken: labels that fold to the same text, a
// value that is another's label, or a label "3" on the first of three choices.
// The beginning of a label is not the label. A label that begins another one
// ("Ship", "Ship now") names itself.
//
// A comment on the same line needs a plain break after the choice: a colon, a
// full stop, an exclamation mark, or a dash with space around it ("2 - checked
// with Bob"). A comma is none: "hold, ship after six". And such a comment must
// be harmless: no negation, no condition, no question, no other choice, no
// number at its start, and in a script whose negations we know (Latin,
// Cyrillic). "Ship if tests pass" is unclear, and so is "ship: if tests pass".
//
// A comment on the lines below may say what it likes, except what would undo
// the first line: another choice on a line of its own, the chosen one after a
// negation ("do not approve"), words that take it back ("scratch that"), or a
// beginning that goes on with the sentence ("but", "if", "unless", "or", or
// anything right after a comma). Nor may it have a sentence that begins again:
// words for changing one's mind, in one of several languages, together with
// another choice ("actually no, better reject") or with nothing but a no.
//
// A greeting on a line of its own, without names other than the agent's, is
// passed over. Anything more, as in "Hi Bob, wait", is not a greeting. For an
// input that is one open string it is part of the value.
//
// # Declining
//
// "decline", "declined" or "I decline" declines an ask that may be declined;
// the rest is the comment, by the same rules, save that a reason not to answer
// may begin with a negation or, on the same line, hold one. If a choice has that
// name, the choice wins and declining is left to the page.
//
// # A task
//
// "done", "complete", "completed" or "finished" completes it; "can't do", "can't
// do it", "can't", "cannot" or "dismiss" dismisses it. The rest is the comment,
// as for declining. The ticks of a checklist stay as they are.
//
// # Input
//
// One field: the whole text is the value of an open string, with its lines; for
// a number, a boolean or a list of values the first line is the value and what
// follows is the comment. "name: value" works too.
//
// Several fields: one line each, "name: value" or "name = value", by name or
// title. The first blank line after a field may begin a comment, which lasts to
// the end. An unknown name, a field given twice, and a missing required field
// are unclear. As long as fields are missing, a line in the comment that looks
// like a field is taken for a misspelt one, and is unclear.
//
// Values of a list go by value or label; a number is written as in JSON, and a
// boolean as true, false, on, off, or a word for yes or no. Formats, patterns
// and bounds are the hub's business, like who may answer and until when.
//
// "decline" alone declines here too, unless it is a value of the only field's
// list. With more text after it, it is unclear for an open string, since it may
// be the value.
//
// # Never read here
//
// A notify wants no answer. A sensitive message, or an ask with a sensitive
// field, is answered on the page only, and nothing of the text is kept.
package reply
