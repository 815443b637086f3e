// Package inbound says what a received mail is and whether it may count: it
// takes the mail apart, tells the mail of programs from that of people, finds the
// question that it belongs to, proves the sender, and reads the answer.
//
// [Parse] makes a [Mail] of the bytes and takes anything for a mail. [Reader.Judge]
// runs it through the checks in a fixed order, and the first that matches decides
// the [Kind]: duplicate, loop, bounce or delivery report, read receipt, calendar,
// reaction, automatic reply, no question found, sender not proved, question no
// longer open, unreadable, empty, and then what the text says. Each leaves a
// sentence in [Verdict.Reasons].
//
// Only [Answer] with a clear [Verdict.Reading] may be passed to the hub as an
// answer. A doubt about the sender is never decided in favour of the mail, and
// one about the text never in favour of a choice.
//
// An error means that the [Finder] failed: nothing was decided, and the mail is to
// be judged again. There is none for a mail that can't be read; that is a Kind.
package inbound
