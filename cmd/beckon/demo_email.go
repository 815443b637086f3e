package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"beckon/channels/email/fakemail"
)

// demoMailPort is tried first, as demoPort.
const demoMailPort = "127.0.0.1:8426"

// The mail world of the demo: the person, and the hub's receiving server.
const (
	demoMailUser   = "you@phone.test"
	demoMailHost   = "hub.test"
	demoMailServer = "mx." + demoMailHost
)

// demoMailConfig is the config of the demo with mail, but for five values. The
// mail server of everybody takes the hub's mail, and replies come back by LMTP.
const demoMailConfig = `
listen: %q
store: %q
people:
  you: {name: You, email: ` + demoMailUser + `}
agents:
  demo/release-bot: {token_sha256: %s}
channels:
  email:
    from: beckon@` + demoMailHost + `
    smtp: {host: 127.0.0.1, port: %s, tls: none}
    listen: {address: %q, protocol: lmtp}
    authserv_id: ` + demoMailServer + `
routes:
  - ask: [you]
    post: [{web: you}, {email: you}]
`

// maxSocket bounds the path of a Unix socket, in bytes. Some systems take 104, with
// a NUL at the end.
const maxSocket = 100

// demoMail is a phone on this machine, and a mail server between it and the hub.
// It keeps nothing.
type demoMail struct {
	*fakemail.Server
	hub  string // where the hub takes mail, as its config says it
	web  net.Listener
	http *http.Server
	wg   sync.WaitGroup
}

// startDemoMail starts the phone. dir is where the hub may make a socket.
func startDemoMail(dir string) (*demoMail, error) {
	at, address, err := demoMailHub(dir)
	if err != nil {
		return nil, err
	}
	s, err := fakemail.New(fakemail.Options{
		People: []fakemail.Person{{Name: "You", Address: demoMailUser, Zone: localZone()}},
		Hub:    at, HubHost: demoMailHost, AuthservID: demoMailServer,
	})
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", demoMailPort)
	if err != nil {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen on this machine: %w", err), s.Close())
	}
	m := &demoMail{Server: s, hub: address, web: l, http: &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second}}
	m.wg.Go(func() { _ = m.http.Serve(l) })
	return m, nil
}

// demoMailHub is where the hub will take mail: a socket beside its database or,
// where the path of that is too long, a port that is free now.
func demoMailHub(dir string) (at, address string, err error) {
	path, err := filepath.Abs(filepath.Join(dir, "mail.sock"))
	if err != nil {
		return "", "", fmt.Errorf("find a place for the hub's mail socket: %w", err)
	}
	if strings.HasPrefix(path, "/") && len(path) <= maxSocket {
		return path, "unix:" + path, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", fmt.Errorf("listen on this machine: %w", err)
	}
	return l.Addr().String(), l.Addr().String(), l.Close()
}

// Close ends the phone, its page and its mail server.
func (m *demoMail) Close() {
	_ = m.Server.Close() // streams of the page end with it
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if m.http.Shutdown(ctx) != nil {
		_ = m.http.Close()
	}
	m.wg.Wait()
}

// page is where the person reads and replies.
func (m *demoMail) page() string {
	return "http://" + m.web.Addr().String() + "/as/" + url.PathEscape(demoMailUser)
}

// config is the demo's config with mail.
func (m *demoMail) config(listen, store, token string) string {
	_, port, _ := net.SplitHostPort(m.Addr()) // it listens there
	return fmt.Sprintf(demoMailConfig, listen, store, token, port, m.hub)
}
