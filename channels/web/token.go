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

// Purposes of the keys that the page derives by hub.Desk.Keys. A hub key that is
// taken out of the config takes with it every link and sign-in that it signed.
const (
	LinkKeys   = "links"
	cookieKeys = "cookies"
	csrfKeys   = "csrf"
	loginKeys  = "login"
)

// maxToken bounds what is decoded, in bytes.
const maxToken = 3 << 10

var (
	errToken   = errors.New("token is not valid")
	errExpired = errors.New("token has expired")
)

// The ways in which somebody signs in, as the evidence of an answer names them.
const (
	byLink     = "personal link" // handed over by the operator or a channel
	bySentLink = "sent link"     // asked for on the sign-in page
	byLogin    = "oidc"          // the company login
)

// grant is what a link or a cookie says: who may see what, until when, and how
// we know. Message is empty for the person's whole list.
type grant struct {
	Version int    `json:"v"`
	Person  string `json:"p"`
	Message string `json:"m,omitempty"`
	Issued  int64  `json:"i,omitempty"` // unix milliseconds
	Expires int64  `json:"e"`           // unix seconds, exclusive
	ID      string `json:"s,omitempty"` // of a session

	By       string `json:"b,omitempty"` // a link's is byLink when it has none
	Via      string `json:"c,omitempty"` // channel that sent the link
	Issuer   string `json:"o,omitempty"` // of the company login
	AuthTime int64  `json:"a,omitempty"` // unix seconds; when the issuer saw the person
}

const grantVersion = 1

func (g grant) expired() bool { return time.Now().Unix() >= g.Expires }

// Link returns a personal link for somebody in the directory: whoever opens it
// is signed in as that person. keys are the web channel's own for [LinkKeys].
// An empty messageID reaches the person's whole list, else the link reaches
// that message only. Opening it uses nothing up; it works until expires.
func Link(keys [][]byte, publicURL, person, messageID string, expires time.Time) string {
	return link(keys, publicURL, grant{Person: person, Message: messageID, Expires: expires.Unix()})
}

func link(keys [][]byte, publicURL string, g grant) string {
	g.Version = grantVersion
	return publicURL + "/l/" + url.PathEscape(seal(keys, g))
}

// seal signs v as JSON with the first key: base64url of the MAC and what it is
// over.
func seal(keys [][]byte, v any) string {
	body, err := json.Marshal(v)
	if err != nil {
		panic("web: a grant always marshals: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(append(mac(keys[0], body), body...))
}

// unseal verifies with every key, in constant time, and returns what was
// signed. It rejects another spelling of the same bytes.
func unseal(keys [][]byte, token string) ([]byte, error) {
	if len(token) > maxToken {
		return nil, errToken
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) <= sha256.Size || base64.RawURLEncoding.EncodeToString(raw) != token {
		return nil, errToken
	}
	sum, body := raw[:sha256.Size], raw[sha256.Size:]
	ok := false
	for _, k := range keys {
		if hmac.Equal(sum, mac(k, body)) {
			ok = true
		}
	}
	if !ok {
		return nil, errToken
	}
	return body, nil
}

// open reads a link's or a cookie's grant. What has expired is returned with
// the error.
func open(keys [][]byte, token string) (grant, error) {
	body, err := unseal(keys, token)
	if err != nil {
		return grant{}, err
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
