package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"time"
)

// Purposes of the keys that the page derives by hub.Desk.Keys.
const (
	LinkKeys   = "links"
	cookieKeys = "cookies"
	csrfKeys   = "csrf"
)

// maxToken bounds what is decoded, in bytes.
const maxToken = 2048

var (
	errToken   = errors.New("token is not valid")
	errExpired = errors.New("token has expired")
)

// grant is what a link or a cookie says: who may see what, until when. Message
// is empty for the person's whole list.
type grant struct {
	Version int    `json:"v"`
	Person  string `json:"p"`
	Message string `json:"m,omitempty"`
	Issued  int64  `json:"i,omitempty"` // unix seconds
	Expires int64  `json:"e"`           // unix seconds, exclusive
	ID      string `json:"s,omitempty"` // of a session
}

const grantVersion = 1

func (g grant) expired() bool { return time.Now().Unix() >= g.Expires }

// Link returns a personal link for somebody in the directory: whoever opens it
// is signed in as that person. keys are the web channel's own for [LinkKeys].
// An empty messageID reaches the person's whole list, else the link reaches
// that message only. Opening it uses nothing up; it works until expires.
func Link(keys [][]byte, publicURL, person, messageID string, expires time.Time) string {
	g := grant{Version: grantVersion, Person: person, Message: messageID, Expires: expires.Unix()}
	return publicURL + "/l/" + url.PathEscape(seal(keys, g))
}

// seal signs with the first key: base64url of the MAC and what it is over.
func seal(keys [][]byte, g grant) string {
	body, err := json.Marshal(g)
	if err != nil {
		panic("web: a grant always marshals: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(append(mac(keys[0], body), body...))
}

// open verifies with every key, in constant time, and rejects another spelling
// of the same bytes.
func open(keys [][]byte, token string) (grant, error) {
	if len(token) > maxToken {
		return grant{}, errToken
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) <= sha256.Size || base64.RawURLEncoding.EncodeToString(raw) != token {
		return grant{}, errToken
	}
	sum, body := raw[:sha256.Size], raw[sha256.Size:]
	ok := false
	for _, k := range keys {
		if hmac.Equal(sum, mac(k, body)) {
			ok = true
		}
	}
	if !ok {
		return grant{}, errToken
	}
	var g grant
	if err := json.Unmarshal(body, &g); err != nil || g.Version != grantVersion || g.Person == "" {
		return grant{}, errToken
	}
	if g.expired() {
		return g, errExpired
	}
	return g, nil
}

func mac(key, body []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write(body)
	return m.Sum(nil)
}
