// Package listener takes mail by LMTP (RFC 2033) or SMTP (RFC 5321) from a mail
// server of one's own, and hands it to a handler.
//
// It says yes to a mail only when the handler has committed it. Until then the
// mail server keeps it and tries again, for days if it must: an error of the
// handler, a panic, a timeout or the end of the hub is a temporary failure, and
// nothing is lost. A mail whose yes got lost comes again, so the handler must
// know a mail that it had.
//
// To whom mail may come is asked for each recipient, before the mail itself is
// sent: an address that is not known is refused at once, so that it is the
// sender's own server that says so, and nobody gets a bounce for a mail that he
// did not send. A mail for several recipients is handled once.
//
// It has no authentication and no TLS: it listens on this machine alone, on a
// loopback address or a unix socket, unless it is told otherwise.
package listener
