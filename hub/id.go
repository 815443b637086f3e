package hub

import (
	"crypto/rand"
	"encoding/base32"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

const messagePrefix = "msg_"

// NewMessageID mints "msg_" and a ULID: ordered by time for cheap inserts, with
// 80 random bits that nobody guesses.
func NewMessageID(at time.Time) string {
	return messagePrefix + ulid.MustNew(ulid.Timestamp(at), rand.Reader).String()
}

// newDirectiveID mints "dir_" and a ULID (spec §8.7.1).
func newDirectiveID(at time.Time) string {
	return "dir_" + ulid.MustNew(ulid.Timestamp(at), rand.Reader).String()
}

// newResolutionID mints "res_" and 130 random bits (spec §6: opaque, random).
func newResolutionID() string { return "res_" + rand.Text() }

var lowerBase32 = base32.StdEncoding.WithPadding(base32.NoPadding)

// NewToken mints a bearer token of 160 random bits with a prefix that secret
// scanners can know.
func NewToken() string {
	b := make([]byte, 20)
	rand.Read(b)
	return "bkn_" + strings.ToLower(lowerBase32.EncodeToString(b))
}
