package inbound

import (
	"context"
	"maps"
	"slices"
	"strings"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// world is a hub that asked Alice and Bob something, as a finder sees it.
type world struct {
	tokens, verps, ids, tags map[string]*Question
	gone                     map[string]bool // addresses of ours of which nothing is known
	seen                     map[string]bool
	err                      error // of every method
	asked                    int   // how often anything was looked up
}

const (
	authserv   = "mx.hub.test"
	aliceToken = "hub+qk7m2x4c9v1p8s3tdz5w@hub.test"
	bobToken   = "hub+q2222222222222222222@hub.test"
	otherToken = "hub+q3333333333333333333@hub.test"
	aliceVERP  = "hub+b.7f3k2m.9f3c2a@hub.test"
	aliceID    = "q-7f3k2m.alice.1@hub.test"
	aliceTag   = "Q-7F3K2M"
	sentText   = "Ship web-app 2.3?\n\n  1. Approve\n  2. Reject\n  3. Defer\n\nTo answer, reply to this mail with 1, 2 or 3 on the first line."
)

// choices is a card with those options.
func choices(labels ...string) *hub.Card {
	c := &hub.Card{MessageID: "msg_1", Type: ma2h.Ask, Mode: ma2h.Select, Status: ma2h.Open, Title: "Ship web-app 2.3?", CanAnswer: true, CanDecline: true, MayAnswer: true}
	for i, l := range labels {
		c.Options = append(c.Options, hub.CardOption{N: i + 1, Value: strings.ToLower(l), Label: l})
	}
	return c
}

func newWorld() *world {
	question := func(id, person, tag string, addresses ...string) *Question {
		return &Question{ID: id, Person: person, Addresses: addresses, Card: choices("Approve", "Reject", "Defer"), Subject: "[" + tag + "] Ship web-app 2.3?", Sent: []string{sentText}}
	}
	alice := question("msg_1", "alice", aliceTag, "alice@example.test", "Alice.Example@alias.test")
	return &world{
		tokens: map[string]*Question{
			aliceToken: alice, bobToken: question("msg_1", "bob", aliceTag, "bob@example.test"),
			otherToken: question("msg_2", "alice", "Q-222222", "alice@example.test"),
		},
		verps: map[string]*Question{aliceVERP: alice},
		ids:   map[string]*Question{aliceID: alice, "0102018f-abcd@eu-west-1.amazonses.com": alice},
		tags:  map[string]*Question{aliceTag: alice},
		gone:  map[string]bool{"hub+qgone000000000000000@hub.test": true},
		seen:  map[string]bool{},
	}
}

func (w *world) Address(_ context.Context, addr string) (Match, error) {
	w.asked++
	addr = strings.ToLower(addr)
	if q := w.tokens[addr]; q != nil {
		return Match{Found: true, Via: ViaToken, Question: q}, w.err
	}
	if q := w.verps[addr]; q != nil {
		return Match{Found: true, Via: ViaVERP, Question: q}, w.err
	}
	return Match{Ours: w.gone[addr]}, w.err
}

func (w *world) MessageID(_ context.Context, id string) (Match, error) {
	w.asked++
	q := w.ids[id]
	return Match{Found: q != nil, Question: q}, w.err
}

func (w *world) Subject(_ context.Context, tag string) (Match, error) {
	w.asked++
	q := w.tags[tag]
	return Match{Found: q != nil, Question: q}, w.err
}

func (w *world) Seen(_ context.Context, key string) (bool, error) { return w.seen[key], w.err }

// questions are all there are.
func (w *world) questions() []*Question { return slices.Collect(maps.Values(w.tokens)) }

// hubReader is the mailbox of that hub.
func hubReader(p Policy) *Reader {
	return &Reader{Addresses: []string{"hub@hub.test"}, Instance: "hub-1", Policy: p, AuthservID: authserv}
}

// letter is a mail in the making: header fields by name, and a body.
type letter struct {
	fields []string
	body   string
}

// reply is a plain reply of Alice's that is right in everything.
func aliceReply() letter {
	return letter{[]string{
		"Return-Path: <alice@example.test>",
		"Delivered-To: " + aliceToken,
		"Authentication-Results: " + authserv + "; dkim=pass header.d=example.test; spf=pass smtp.mailfrom=example.test; dmarc=pass header.from=example.test",
		"From: Alice Example <alice@example.test>",
		"To: Hub <" + aliceToken + ">",
		"Subject: Re: [" + aliceTag + "] Ship web-app 2.3?",
		"Date: Mon, 30 Nov 2026 14:01:00 +0000",
		"Message-ID: <1@mail.example.test>",
		"In-Reply-To: <" + aliceID + ">",
		"References: <" + aliceID + ">",
	}, "Approve\n\nOn Mon, 30 Nov 2026 at 13:00, Hub <hub@hub.test> wrote:\n\n> " + strings.ReplaceAll(sentText, "\n", "\n> ") + "\n"}
}

// with returns the letter with fields set: a value replaces the one that is there,
// "" removes it.
func (l letter) with(fields ...string) letter {
	l.fields = slices.Clone(l.fields)
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ":")
		at := slices.IndexFunc(l.fields, func(have string) bool {
			n, _, _ := strings.Cut(have, ":")
			return strings.EqualFold(n, name)
		})
		switch {
		case strings.TrimSpace(value) == "" && at >= 0:
			l.fields = slices.Delete(l.fields, at, at+1)
		case at >= 0:
			l.fields[at] = f
		case strings.TrimSpace(value) != "":
			l.fields = append(l.fields, f)
		}
	}
	return l
}

// add appends fields, whatever is there.
func (l letter) add(fields ...string) letter {
	l.fields = append(slices.Clone(l.fields), fields...)
	return l
}

// says replaces the body.
func (l letter) says(body string) letter {
	l.body = body
	return l
}

// bytes are what a server would hand over.
func (l letter) bytes() []byte {
	return crlf(strings.Join(l.fields, "\n") + "\n\n" + l.body)
}

// noAuth takes the server's results away.
func (l letter) noAuth() letter { return l.with("Authentication-Results:") }

// dmarc replaces the server's results.
func (l letter) results(results string) letter {
	return l.with("Authentication-Results: " + authserv + "; " + results)
}

// noToken leaves the ids as the only tie.
func (l letter) noToken() letter {
	return l.with("Delivered-To: hub@hub.test", "To: Hub <hub@hub.test>")
}
