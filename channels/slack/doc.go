// Package slack is the Slack channel: it posts cards as Block Kit messages,
// takes clicks, modals and thread replies as answers, and keeps every copy true.
//
// Rendering is pure: a card and a few options make blocks, a notification text
// and a list of what had to be cut. Text from agents goes into plain_text and
// rich_text, which Slack never interprets; mrkdwn holds the hub's own words,
// links and date tokens only, so that no title can mention a channel or forge a
// link. Times are date tokens, which every reader sees by their own clock.
//
// Every field is kept within Slack's limits
// (https://docs.slack.dev/reference/block-kit/blocks), counted in runes, and a
// message within 50 blocks and 12,000 characters in all. What is cut is said, with the
// whole one click away. Should Slack refuse the blocks all the same,
// [renderPlain] says everything that matters in text alone.
//
// Sending waits for its turn (see [queue]): Slack takes about one message a second in
// a conversation. What became of a copy goes first, then asks, then notifies; what
// can't go soon is given back to the outbox. A post whose end nobody saw is looked for in
// the conversation before it is made again, by metadata that names the delivery.
// Errors that only a person can mend say what to do and are final, so that the next
// target gets the message; a copy that can't be changed any more gets a follow-up in its
// thread.
//
// A control's action_id says what it does, for which message and which option
// (see [action]); it is a name and carries no authority. The hub decides.
//
// What people do comes in by Socket Mode or as signed requests, and both end in
// [inbound.receive]. It is acknowledged when the hub has recorded it, or after two
// seconds, when Slack's patience ends; what came of it is then said in private.
// The receipt's key is the act as Slack names it (who, which copy, which control,
// when), so that an act that Slack sends again has no second effect. Whoever is
// not in the directory, or comes from another company's workspace, is refused in
// private and told what to do. A failure of the hub is said as well: nothing that
// a person did goes without a word.
package slack
