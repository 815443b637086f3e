// Package fakeslack is a Slack that runs on this machine: a server for tests
// and for the demo, strict where Slack is strict.
//
// [New] makes a workspace with people, channels and an app, and [Server.Start]
// serves it on a loopback address:
//
//   - the part of the Web API that a bot needs, under /api/, with Slack's own
//     error bodies, scopes, rate limits and Block Kit limits (see [Limits]);
//   - Socket Mode, and signed HTTP requests for apps that have a request URL,
//     with the three seconds to acknowledge and the three retries;
//   - response URLs, modals and their stacks, the Home tab, threads, messages
//     that only one person sees, trigger ids that expire;
//   - a page where a person sees the workspace and clicks.
//
// A [Person] does what a person does: clicks, chooses, fills a form, replies.
// It can only do what the message or view offers as it stands, and what the app
// then receives has the shape that Slack gives it. [Server.Fail] makes calls
// fail in the ways that calls fail.
//
// Facts come from Slack's documentation (docs.slack.dev), the comments of
// @slack/types, and public reports; [Limit.Source] names the source of each.
// Where a behaviour is not documented and was not seen, the comment says that
// it was chosen here.
//
// A fake is not Slack. It does not render mobile clients, expand markdown
// blocks, unfurl links, translate time zones or keep files.
package fakeslack
