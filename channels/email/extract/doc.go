// Package extract finds what a person wrote in the body of a reply: without the
// mail that they answer, their signature, and what servers and programs put
// around it.
//
// # How
//
// A body becomes lines: text as it is, HTML by its tokens, with a quote depth
// and with the marks that its markup gives. Lines are compared in a normal form
// (normal); what is kept is kept as it came. The lines are taken apart into
// pieces (cutter): what somebody wrote, what is quoted, and heads, which say that
// a quoted mail follows ("On …, X wrote:", "From: … Sent: …", "-----Original
// Message-----", an element of Gmail or Outlook). Heads are found by their clues,
// such as a date, an address and a final colon, rather than by language, where
// that is possible; verbs and the names of header fields come from lists.
//
// Where the quote is marked, line by line or by markup, the text may stand
// above, below, or between. Where it isn't, what is written above it counts, and
// else what is below it and isn't ours. For that the caller passes what we sent
// in the thread.
//
// Then the signature is taken off: by a delimiter, by what programs sign with,
// by a sign-off with a name, or by its look.
//
// # Failure
//
// Nothing here fails. A rule that is wrong either leaves too much, a quote or a
// signature below the text, or takes too much; the rules prefer the first, and
// never take all that is above a quoted mail because of its look alone. Callers
// keep the mail itself, ask again when nothing is found, and show what was read.
//
// Time and memory grow with the length of a body only, and that is bounded by
// MaxBytes: all expressions are of RE2, and no rule looks back further than a
// fixed number of lines.
package extract
