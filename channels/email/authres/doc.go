// Package authres says what is known about the sender of a mail: from the
// Authentication-Results header of a server that we trust (RFC 8601), or by
// checking DKIM signatures ourselves.
//
// Whoever sends a mail chooses a good part of that header: the local part of MAIL
// FROM, the HELO name, the domains of signatures, and whole headers of the same
// name below. So the header is taken apart by its grammar, quoted strings and
// comments included, and not by looking for words. Only the topmost header of our
// own server counts, the worst result counts when a method has several, and "pass"
// counts only in a result that is well-formed to its end. A header that ends in the
// middle of a comment or quoted string proves that somebody meddled: it passes
// nothing.
//
// Nothing here is an error: a mail without proof has [None].
package authres
