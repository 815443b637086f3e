package email

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strconv"
	"strings"
)

// tokenKeys is the purpose of the keys that tokens are made with.
const tokenKeys = "tokens"

// tokenChars is the length of a token: 100 bits in base32, which is all that a
// mail system keeps in an address, since many fold its letters.
const tokenChars = 20

// The kinds of token, as the letter in front of one.
const (
	tokenReply = 'q' // in Reply-To: one for a message, a person and a generation
	tokenVERP  = 'b' // in the envelope: one for a mail; bounces come to it
)

// idPrefix begins the left side of our Message-IDs.
const idPrefix = "beckon."

// mac derives what a name stands for, for one purpose. Parts have their length in
// front, so that no two lists of them are the same.
func (c *Channel) mac(purpose string, parts ...string) []byte {
	m := hmac.New(sha256.New, c.desk.Keys(tokenKeys)[0])
	for _, s := range append([]string{purpose}, parts...) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		m.Write(n[:])
		m.Write([]byte(s))
	}
	return m.Sum(nil)
}

func encodeToken(sum []byte) string {
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum))[:tokenChars]
}

// replyToken is what a person's answer to a message comes back with. Retries,
// reminders and notices make the same one. It is a secret between the hub and that
// person's mailbox.
func (c *Channel) replyToken(messageID, person string, generation int) string {
	return encodeToken(c.mac("reply", messageID, person, strconv.Itoa(generation)))
}

// verpToken is what a bounce of one mail comes back with; mail is its Message-ID.
func (c *Channel) verpToken(mail string) string { return encodeToken(c.mac("verp", mail)) }

// messageID names the mail of a delivery, without < and >. It is the same at every
// try. Nobody can guess it who has not seen the mail or an answer to it.
func (c *Channel) messageID(deliveryID string, generation int) string {
	return idPrefix + encodeToken(c.mac("message-id", deliveryID, strconv.Itoa(generation))) + "@" + c.own.domain
}

// boundary separates the parts of one mail. No text can hold it, since nobody can
// guess it.
func (c *Channel) boundary(mail string) string {
	return "beckon-" + encodeToken(c.mac("boundary", mail)) + encodeToken(c.mac("boundary more", mail))
}

// tagAlphabet is base32 without letters that look like digits or each other
// (Crockford's).
const tagAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// tags are the names of one person's thread in subjects, the first that is free
// counts: 30 bits, then 40, then 50.
func (c *Channel) tags(messageID, person string) []string {
	s := base32.NewEncoding(tagAlphabet).EncodeToString(c.mac("tag", messageID, person))
	return []string{"Q-" + s[:6], "Q-" + s[:8], "Q-" + s[:10]}
}

// tokenAddress is our address with a token in it, or the plain one when the mailbox
// gets no mail for others.
func (c *Channel) tokenAddress(kind rune, token string) string {
	if c.own.plus == "" {
		return c.own.address()
	}
	return c.own.local + c.own.plus + string(kind) + token + "@" + c.own.reply
}

// parseAddress finds the token in an address of ours, in whatever case it comes
// back. The domain may be any: who has the token has it from us. ours reports that
// the address could be one that we made, whether or not there is a token in it
// that can be.
func (c *Channel) parseAddress(addr string) (kind rune, token string, ours bool) {
	addr = strings.ToLower(strings.Trim(addr, "<> \t"))
	i := strings.LastIndexByte(addr, '@')
	if i < 0 || c.own.plus == "" {
		return 0, "", false
	}
	rest, ok := strings.CutPrefix(addr[:i], c.own.local+c.own.plus)
	if !ok || rest == "" {
		return 0, "", false
	}
	kind, token = rune(rest[0]), rest[1:]
	ours = (addr[i+1:] == c.own.reply || addr[i+1:] == c.own.domain) && (kind == tokenReply || kind == tokenVERP)
	if kind != tokenReply && kind != tokenVERP || !isToken(token) {
		return 0, "", ours
	}
	return kind, token, true
}

// parseMessageID reports whether a Message-ID, without < and >, could be one that
// we made, and returns it in the form that is looked up.
func (c *Channel) parseMessageID(id string) (folded string, ours bool) {
	folded = strings.ToLower(strings.Trim(id, "<> \t"))
	rest, ok := strings.CutPrefix(folded, idPrefix)
	token, domain, _ := strings.Cut(rest, "@")
	return folded, ok && domain == c.own.domain && isToken(token)
}

func isToken(s string) bool {
	if len(s) != tokenChars {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz234567") == ""
}
