// Package mailbox reads a mailbox over IMAP and hands every mail that arrives
// there to a handler: at least once, in the order of arrival, and for as long as
// the hub runs, whatever becomes of the connection.
//
// [Reader.Run] is one loop: connect, log in, catch up, wait, catch up. To catch
// up is to ask the server which mails stand after the cursor (UID SEARCH) and to
// fetch and handle each. It happens after every connect, whenever IDLE says that
// something changed, and at least every five minutes whatever IDLE says, since
// servers and middle boxes forget about connections without a word. Nothing
// depends on flags that other people's mail programs change.
//
// # Exactly once
//
// A [Mail] carries the cursor that stands when it is done. The handler stores
// it in the transaction of the mail's effect, and returns without error when
// that is committed. Only then is the mail flagged and moved; that is
// housekeeping, and a failure there is logged and tried again. The process may
// end at any point: a mail whose cursor was not stored comes again, and one that
// was not moved comes again once, so the handler must know a mail that it had by
// [Mail.Key], and say what it said before.
//
// A handler's error or panic concerns that mail alone: the others go on, and
// after three tries it is set aside, with [Hooks.SetAside], into its own folder.
// An error that has nothing to do with the mail is wrapped with [Temporary]: the
// reader then stops and tries the same mail again later.
//
// When the server gives the folder another UIDVALIDITY, or numbers mails anew
// without saying so, the last fourteen days are read again. A folder that was
// never read before is read from now on, unless [Config.Backfill] says more.
//
// # Failure
//
// Every wait has its own deadline, after which the connection is closed and made
// anew, after one second and at most five minutes. A refused login is tried again
// after five minutes and at most an hour, for many servers lock an account that is
// tried too often. [Reader.Alive] says when the reader last caught up: the only
// proof that mail is read. What it says is wrong is for operators and holds no
// secret.
//
// The client is github.com/emersion/go-imap/v2, of which only what is sound is
// used: no ENVELOPE and no BODYSTRUCTURE, which break the connection when they
// are malformed; no answer is taken for complete without being counted; and no
// call of it is waited for without a deadline.
package mailbox
