package slack

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"beckon/hub"
)

// permanent is an error that trying again does not mend.
func permanent(code, msg string) *hub.DeliveryError {
	return &hub.DeliveryError{Code: code, Msg: msg, Permanent: true}
}

// remedy is what one of Slack's errors means for a delivery. Msg takes the
// place's name for {place} and the bot's for {bot}.
type remedy struct {
	code  string
	final bool
	msg   string
}

// remedies are Slack's errors by name, from the pages of the methods that the
// channel calls, such as
// https://docs.slack.dev/reference/methods/chat.postMessage#errors. What is not
// here is tried again, with Slack's word as code.
func remedies() map[string]remedy {
	invite := "; invite it with /invite @{bot} in {place}"
	return map[string]remedy{
		"channel_not_found": {"not_invited", true, "Slack finds no {place}: there is no such channel, or it is private and the app is not in it" + invite},
		"not_in_channel":    {"not_invited", true, "the app is not in {place}" + invite},
		"is_archived":       {"archived", true, "{place} is archived; name another channel in the route, or unarchive it"},
		"is_inactive":       {"archived", true, "{place} is archived; name another channel in the route, or unarchive it"},

		"restricted_action":                        {"not_allowed", true, "a setting of the workspace keeps apps from posting in {place}; ask its admin"},
		"restricted_action_read_only_channel":      {"not_allowed", true, "{place} is read-only for the app; ask the channel's manager"},
		"restricted_action_thread_only_channel":    {"not_allowed", true, "{place} takes replies in threads only; name another channel"},
		"restricted_action_non_threadable_channel": {"not_allowed", true, "{place} has no threads; name another channel"},
		"restricted_action_thread_locked":          {"not_allowed", true, "the thread in {place} is locked"},
		"messages_tab_disabled":                    {"not_allowed", true, "the app takes no direct messages; switch on the Messages Tab under App Home in the app's settings"},
		"cannot_reply_to_message":                  {"no_thread", true, "Slack takes no reply to that message in {place}"},
		"cannot_dm_bot":                            {"no_slack_user", true, "{place} is a bot; write a person's member id as slack in people"},
		"user_not_found":                           {"no_slack_user", true, "Slack knows no such member as {place}; look at slack in people"},
		"users_not_found":                          {"no_slack_user", true, "Slack knows no such member as {place}; look at slack in people"},
		"user_disabled":                            {"no_slack_user", true, "the Slack account of {place} is deactivated"},
		"user_not_visible":                         {"no_slack_user", true, "the app may not see the Slack account of {place}"},
		"not_authed":                               {"token", true, "Slack got no token; look at bot_token"},
		"invalid_auth":                             {"token", true, "Slack does not take the bot token; put the one of OAuth & Permissions into bot_token"},
		"account_inactive":                         {"token", true, "the bot token belongs to an account or workspace that is gone; install the app again"},
		"token_revoked":                            {"token", true, "the bot token was revoked; install the app again and renew bot_token"},
		"token_expired":                            {"token", true, "the bot token has expired; switch token rotation off in the app's settings and renew bot_token"},
		"not_allowed_token_type":                   {"token", true, "that kind of token may not do this; look at bot_token"},
		"app_access_restricted":                    {"token", true, "the workspace does not let this app in; ask its admin to approve it"},
		"org_login_required":                       {"token", true, "the workspace is being moved to an organisation; install the app again when that is done"},
		"team_access_not_granted":                  {"token", true, "the app is not installed in the workspace of {place}"},
		"team_not_found":                           {"token", true, "an app of the whole organisation can't post by name; write the id of {place}"},
		"ekm_access_denied":                        {"not_allowed", true, "the workspace's admin has suspended access"},
		"enterprise_is_restricted":                 {"not_allowed", true, "the workspace's admin does not allow this"},
		"message_limit_exceeded":                   {"not_allowed", true, "the workspace is over its limit of messages"},
		"as_user_not_supported":                    {"refused", true, "Slack refuses the form of the message"},
		"no_text":                                  {"refused", true, "Slack refuses the message as empty"},
		"metadata_too_large":                       {"refused", true, "Slack refuses the message's metadata"},
		"metadata_must_be_sent_from_app":           {"token", true, "bot_token is no token of an app"},
		"slack_connect_canvas_sharing_blocked":     {"not_allowed", true, "a setting of Slack Connect forbids this in {place}"},
		"slack_connect_file_link_sharing_blocked":  {"not_allowed", true, "a setting of Slack Connect forbids this in {place}"},
		"slack_connect_clip_sharing_blocked":       {"not_allowed", true, "a setting of Slack Connect forbids this in {place}"},
		"external_channel_migrating":               {"busy", false, "{place} is being moved between workspaces"},
		"duplicate_channel_not_found":              {"deleted", true, "the copy was posted before, and its channel is gone"},
		"duplicate_message_not_found":              {"deleted", true, "the copy was posted before, and somebody has deleted it"},
		"message_not_found":                        {"deleted", true, "the copy in {place} is gone"},
		"cant_update_message":                      {"not_ours", true, "Slack does not let the app change the copy in {place}"},
		"edit_window_closed":                       {"not_ours", true, "a setting of the workspace forbids editing so late"},
		"fatal_error":                              {"slack_down", false, "Slack has an error of its own"},
		"internal_error":                           {"slack_down", false, "Slack has an error of its own"},
		"service_unavailable":                      {"slack_down", false, "Slack is not available"},
		"request_timeout":                          {"timeout", false, "Slack did not get the whole request in time"},
		"team_added_to_org":                        {"busy", false, "the workspace is being moved to an organisation"},
		codeTimeout:                                {"timeout", false, "Slack did not answer in time"},
		codeBroken:                                 {"broken", false, "Slack's answer broke off or made no sense"},
		codeUnreachable:                            {"unreachable", false, "Slack can't be reached; look at the network, DNS and proxy of the hub"},
		"invalid_blocks":                           {"refused", true, "Slack refuses the form of the message, even as plain text"},
		"invalid_blocks_format":                    {"refused", true, "Slack refuses the form of the message, even as plain text"},
		"msg_too_long":                             {"refused", true, "Slack refuses the message as too long, even as plain text"},
		"msg_blocks_too_long":                      {"refused", true, "Slack refuses the message as too long, even as plain text"},
		"invalid_arguments":                        {"refused", true, "Slack refuses the form of the call"},
		"invalid_args":                             {"refused", true, "Slack refuses the form of the call"},
		"method_not_supported_for_channel_type":    {"refused", true, "{place} is no conversation that an app can post to"},
		"no_permission":                            {"scope", true, "the app may not post in {place}; install it again with the scopes of the manifest"},
		"two_factor_setup_required":                {"token", true, "the workspace wants two-factor sign-in of whoever installed the app"},
		"access_denied":                            {"not_allowed", true, "the app may not do this in the workspace; ask its admin"},
	}
}

// unformed reports that Slack found fault with the blocks, so that plain text
// may do.
func unformed(err error) bool {
	return slackSaid(err, "invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long",
		"invalid_attachments", "attachment_payload_limit_exceeded", "too_many_attachments", "block_mismatch", "invalid_arguments")
}

// explain turns what a call said into what the outbox and people need to know.
// doubt says that the copy may stand from before, whatever this call said.
func (c *Channel) explain(err error, place string, doubt bool) error {
	if err == nil {
		return nil
	}
	if de, ok := errors.AsType[*hub.DeliveryError](err); ok {
		return de
	}
	e, ok := errors.AsType[*apiError](err)
	if !ok {
		if errors.Is(err, context.Canceled) {
			return fmt.Errorf("slack: post: %w", context.Canceled)
		}
		if errors.Is(err, context.DeadlineExceeded) {
			return &hub.DeliveryError{Code: codeTimeout, Msg: "there was no time left", MaybeSent: doubt, Err: err}
		}
		return &hub.DeliveryError{Code: "error", Msg: "the hub could not send it", MaybeSent: doubt, Err: err}
	}
	de := &hub.DeliveryError{Code: e.Code, Msg: "Slack says " + e.Code, MaybeSent: doubt || e.MaybeDone, Err: e}
	switch {
	case e.Code == codeLimited:
		de.After, de.Msg = e.After, "Slack limits the hub; it waits as long as Slack says"
		return de
	case e.Code == "missing_scope":
		de.Code, de.Permanent = "scope", true
		de.Msg = "the app lacks the scope " + orWord(e.Needed, "that this needs") + " (it has " + orWord(e.Provided, "none") +
			"); add it under OAuth & Permissions and install the app again"
	case strings.HasPrefix(e.Code, codeHTTP):
		de.Msg = "Slack, or what stands in front of it, answered HTTP " + strings.TrimPrefix(e.Code, codeHTTP)
		de.Code = "slack_down"
	default:
		if r, ok := remedies()[e.Code]; ok {
			de.Code, de.Permanent = r.code, r.final
			de.Msg = strings.NewReplacer("{place}", place, "{bot}", c.botName()).Replace(r.msg) + " (" + e.Code + ")"
		}
	}
	if de.Permanent {
		de.MaybeSent = false // nothing more comes of it
	}
	return de
}

func orWord(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// botName is what people call the app, as far as it is known.
func (c *Channel) botName() string {
	c.api.mu.Lock()
	defer c.api.mu.Unlock()
	if c.api.who != nil && c.api.who.UserName != "" {
		return line(c.api.who.UserName, "beckon")
	}
	return "beckon"
}
