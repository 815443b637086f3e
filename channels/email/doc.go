// Package email is the mail channel: it sends messages as mail, one mail to one
// person, and takes what people reply as their answers.
//
// # Out
//
// [Channel.Post] sends the message, [Channel.Update] what became of it or a
// reminder, and [Channel.Tell] what became of a reply; all of them stand in one
// thread. The words and the layout are those of package templates. Agent text ends
// as text in the body and in the subject, and nowhere else: it can't add a header,
// an element or a link. The only links are the one to the message's page and, for
// each choice, one that begins a mail.
//
// A mail can't be taken back, so it must not go out twice. Its Message-ID follows
// from the delivery and is the same at every try; what is known of it is written
// down before the server is told DATA, and again when the server has taken it. A
// try that finds it taken sends nothing. One that finds it begun, because the
// process died or the connection broke at that very point, sends it again under
// the same Message-ID, by which mail programs know that it is the same.
//
// Failures are [hub.DeliveryError]s: what passes is tried again, what only a
// person can mend is final and says what to do, so that the next target gets the
// message. A server that refuses the recipient ends it at once.
//
// # Who
//
// The Reply-To of every mail holds a token of 100 bits, an HMAC over message,
// person and generation (see [Channel.replyToken]), and so does the envelope
// address that bounces go to. The database keeps their hashes for look-up. A token
// proves that its owner has seen that person's mail, which is also true of anybody
// whom it was forwarded to: an answer needs the person's own address as well.
package email
