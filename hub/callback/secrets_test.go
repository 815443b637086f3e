package callback_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"beckon/hub"
	"beckon/hub/callback"
	"beckon/hub/ma2h"
)

// parrot is a receiver that says what it was sent, in a form that changes.
type parrot struct {
	mu   sync.Mutex
	form string // one %s
}

func (p *parrot) set(form string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.form = form
}

func (p *parrot) serve(_ context.Context, conn net.Conn) {
	var raw bytes.Buffer
	req, err := http.ReadRequest(bufio.NewReader(io.TeeReader(conn, &raw)))
	if err != nil {
		return
	}
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return
	}
	p.mu.Lock()
	form := p.form
	p.mu.Unlock()
	fmt.Fprintf(conn, form, strings.NewReplacer("\r", " ", "\n", " ").Replace(raw.String()))
}

// forms are answers that hold what was sent, wherever an answer can hold it.
func forms() []string {
	out := []string{
		"%s\r\n\r\n",
		"HTTP/1.1 %s\r\n\r\n",
		"HTTP/%s 200 OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\n%s: x\r\n\r\n",
		"HTTP/1.1 200 OK\r\n%s\r\n\r\n",
		"HTTP/1.1 200 OK\r\n X%s\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: %s\r\n\r\n",
		"HTTP/1.1 103 %[1]s\r\nLink: %[1]s\r\n\r\nx",
		"HTTP/1.1 500 %s",
		"HTTP/1.1 101 %[1]s\r\nConnection: upgrade\r\nUpgrade: %[1]s\r\n\r\n",
	}
	for _, status := range []int{301, 307, 400, 401, 404, 418, 429, 500, 503, 600, 999} {
		out = append(out, fmt.Sprintf("HTTP/1.1 %d %%[1]s\r\nLocation: https://x/%%[1]s\r\nRetry-After: %%[1]s\r\nWWW-Authenticate: %%[1]s\r\n\r\n%%[1]s", status))
	}
	return out
}

// Whatever a receiver does with what it was sent, and whatever is wrong with a
// push, none of it is in the error, nor in the log of the process. Not parallel:
// it takes that log.
func TestSecretsStayOutOfErrors(t *testing.T) {
	var logged bytes.Buffer
	old := log.Writer()
	log.SetOutput(&logged) // log.Logger has a lock of its own
	defer log.SetOutput(old)

	p := new(parrot)
	url, roots := rawReceiver(t, p.serve)
	honest := callback.Options{AllowLoopback: true, RootCAs: roots, Timeout: 5 * time.Second, Keys: hubKeys(t)}
	noRoots := callback.Options{AllowLoopback: true}
	private := callback.Options{Resolver: static{netip.MustParseAddr("10.0.0.1")}}
	nobody := callback.Options{Resolver: static{}}

	codes := make(map[string]int)
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.StringMatching(`s3cret[a-z0-9]{12}`)
		token, signing, path, query := word.Draw(rt, "token"), word.Draw(rt, "signing"), word.Draw(rt, "path"), word.Draw(rt, "query")
		minor := rapid.SampledFrom([]int{1, 2, 3, 5}).Draw(rt, "minor")
		push := hub.Push{
			MessageID: "msg_1", URL: url + "/" + path + "?k=" + query, Minor: minor,
			Body:    bytes.Replace(response(t, minor), []byte(`"go"`), []byte(`"`+word.Draw(rt, "comment")+`"`), 1),
			Scheme:  rapid.SampledFrom([]string{"", "hmac", "bearer", "apikey", "basic"}).Draw(rt, "scheme"),
			Signing: hub.NewSecret(signing), Credential: hub.NewSecret(token),
			Algorithm: rapid.SampledFrom([]string{ma2h.AlgHMAC, ma2h.AlgHMAC, ma2h.AlgEd25519, "none"}).Draw(rt, "algorithm"),
		}
		p.set(rapid.SampledFrom(forms()).Draw(rt, "form"))
		opt := honest
		switch rapid.SampledFrom([]string{"", "", "", "", "", "user", "fragment", "space", "http", "port", "certificate", "private", "nobody", "line break", "half"}).Draw(rt, "trouble") {
		case "user":
			push.URL = strings.Replace(push.URL, "https://", "https://"+token+":"+signing+"@", 1)
		case "fragment":
			push.URL += "#" + token
		case "space":
			push.URL += " " + token
		case "http":
			push.URL = "http://" + path + ".example.com/" + query
		case "port":
			push.URL = "https://agent.example.com:" + path + "/"
		case "certificate":
			opt = noRoots
		case "private":
			opt, push.URL = private, "https://agent.example.com/"+path
		case "nobody":
			opt, push.URL = nobody, "https://agent.example.com/"+path
		case "line break":
			push.Credential = hub.NewSecret(token + "\r\n")
		case "half":
			push.Body = push.Body[:len(push.Body)-3]
		}
		err := callback.New(opt).Push(t.Context(), push)
		if e, ok := errors.AsType[*hub.DeliveryError](err); ok {
			codes[e.Code]++
		}
		var written strings.Builder
		slog.New(slog.NewJSONHandler(&written, nil)).Info("x", "err", err, "push", push.Signing, "credential", push.Credential)
		for ; err != nil; err = errors.Unwrap(err) {
			fmt.Fprintf(&written, "%v %+v %#v %q\n", err, err, err, err.Error())
		}
		if strings.Contains(written.String(), "s3cret") {
			rt.Fatalf("an error tells a secret: %s", written.String())
		}
		if minor := push.Minor; minor >= 3 && strings.Contains(written.String(), "v1=") {
			rt.Fatalf("an error tells a signature: %s", written.String())
		}
	})
	if logged.Len() > 0 {
		t.Errorf("the log has: %s", logged.String())
	}
	t.Logf("codes: %v", codes)
}
