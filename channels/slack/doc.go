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
// A control's action_id says what it does, for which message and which option
// (see [action]); it is a name and carries no authority. The hub decides.
package slack
