// Package mailtest starts real mail servers for tests: [StartDovecot], which
// keeps mailboxes (IMAP) and takes mail for them (LMTP); [StartExim], a mail
// transfer agent that takes mail by SMTP, hands it on by LMTP and sends bounces;
// and [StartTokens], the part of an OAuth provider that gives tokens out and
// tells a mail server whose they are.
//
// Each runs on a loopback address of its own, as an unprivileged user (the one
// of the test, or nobody when that is root), in a process group of its own and in
// a short folder under /tmp, since the paths of unix sockets are short. It is
// killed when the test ends, whatever state it is in, and any number of them may
// run side by side. Without the program, or with a version whose configuration
// is another language, the test is skipped with the reason.
//
// The servers are for tests alone: their passwords are well known.
package mailtest
