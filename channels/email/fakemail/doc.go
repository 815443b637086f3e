// Package fakemail is a world of mail on this machine: for tests, and for the
// demo, where it is the phone in somebody's hand.
//
// [New] listens on a loopback address as the mail server of everybody whom the
// hub writes to. What it takes is kept in memory, in a mailbox for each
// recipient, and [Mail.Problems] lists what a strict server would object to.
// [Server.Handler] is a page like a mail program's: mailboxes, threads by
// References, each mail as it looks, and a box to reply with.
//
// A reply has the shape that mail programs give it (see [Style]): the person's
// From, the mail's Reply-To, In-Reply-To and References, the text, a signature,
// and the quoted mail under a line that says who wrote it. It goes to the hub's
// own listener by LMTP or SMTP, and what that said is kept with it. A [Case] is
// what else comes back to whoever sends mail: automatic replies, bounces,
// duplicates, replies of somebody else.
//
// A fake is not a mail provider. It checks no password, signs nothing and
// filters no spam; what it stamps into Authentication-Results is what it was
// told to. The line shapes of each mail program follow what such programs send;
// where one was not known, the comment says that it was chosen here.
//
// A reply that the hub's server refuses is an error that says what was
// answered. Close ends every connection and waits for it.
package fakemail
