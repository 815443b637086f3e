package slack

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"beckon/hub"
)

const (
	// maxRequest bounds what Slack may send, in bytes.
	maxRequest = 2 << 20
	// maxSkew is how old, or how far ahead, a signed request may be.
	// https://docs.slack.dev/authentication/verifying-requests-from-slack
	maxSkew = 5 * time.Minute
)

// handlers are the routes that Slack sends to when there is no Socket Mode. Each
// takes everything, so that an app may be set up with one URL or with three.
func (in *inbound) handlers() map[string]http.Handler {
	if in.c.conf.SigningSecret.IsZero() {
		return nil
	}
	h := http.HandlerFunc(in.serveSlack)
	return map[string]http.Handler{
		"POST /slack/events": h, "POST /slack/interactions": h, "POST /slack/commands": h,
	}
}

// serveSlack takes one signed request. Everything that is signed is acknowledged
// with 200, also what makes no sense: Slack would only send it again.
func (in *inbound) serveSlack(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		http.Error(w, "the request broke off", http.StatusBadRequest)
		return
	}
	if !signed(in.c.conf.SigningSecret, r.Header, body, time.Now()) {
		http.Error(w, "not signed by Slack", http.StatusUnauthorized)
		return
	}
	in.heardNow()
	kind, payload, challenge := readRequest(r.Header.Get("Content-Type"), body)
	switch {
	case challenge != "":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, challenge)
		return
	case payload == nil:
		w.WriteHeader(http.StatusOK)
		return
	}
	retry, _ := strconv.Atoi(r.Header.Get("X-Slack-Retry-Num"))
	ack, err := in.receive(r.Context(), "http", kind, retry, payload)
	if err != nil {
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	if ack == nil {
		w.WriteHeader(http.StatusOK)
		return
	}
	out, err := json.Marshal(ack)
	if err != nil {
		in.log.Error("an acknowledgement can't be written", "kind", kind, "err", err)
		w.WriteHeader(http.StatusOK)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(out)
}

// signed reports whether Slack made the request within the last minutes. What is
// signed is the body as it came; the query of the URL is not, and is never read.
func signed(secret hub.Secret, h http.Header, body []byte, now time.Time) bool {
	stamp := h.Get("X-Slack-Request-Timestamp")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || secret.IsZero() {
		return false
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > maxSkew || age < -maxSkew {
		return false
	}
	given, err := hex.DecodeString(strings.TrimPrefix(h.Get("X-Slack-Signature"), "v0="))
	if err != nil || !strings.HasPrefix(h.Get("X-Slack-Signature"), "v0=") {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret.Reveal()))
	mac.Write([]byte("v0:" + stamp + ":"))
	mac.Write(body)
	return hmac.Equal(given, mac.Sum(nil))
}

// readRequest says what a body is: JSON for events, a form for the rest. A nil
// payload means nothing, such as Slack's look at the certificate.
func readRequest(contentType string, body []byte) (kind string, payload []byte, challenge string) {
	if strings.HasPrefix(contentType, "application/json") {
		var e eventEnvelope
		if lenient(body, &e) == nil && e.Type == "url_verification" {
			return kindEvent, nil, e.Challenge
		}
		return kindEvent, body, ""
	}
	form, err := url.ParseQuery(string(body))
	switch {
	case err != nil:
		return "", nil, ""
	case form.Has("payload"):
		return kindInteraction, []byte(form.Get("payload")), ""
	case form.Has("command"):
		fields := make(map[string]string, len(form))
		for k := range form {
			fields[k] = form.Get(k)
		}
		b, err := json.Marshal(fields)
		if err != nil {
			return "", nil, ""
		}
		return kindCommand, b, ""
	}
	return "", nil, ""
}
