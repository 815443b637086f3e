package api

import (
	"net/http"
	"strings"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// agent makes a handler of one that acts for an authenticated agent, within
// that agent's rate limit.
func (a *API) agent(h func(*exchange, *http.Request, *hub.Agent) error) handler {
	return func(x *exchange, r *http.Request) error {
		token, err := credential(r)
		if err != nil {
			return err
		}
		d := a.o.Hub.Directory()
		agent := d.AgentByToken(token)
		switch {
		case agent != nil && token != "":
		case token != "" && d.OperatorByToken(token) != nil:
			return &hub.Error{
				Code: ma2h.CodeNotAuthorized,
				Msg:  "this is an operator's credential, which works on /admin/v1; /v1 takes an agent's",
			}
		default:
			return a.unauthenticated(x, r, token)
		}
		x.who = agent.ID
		if wait := a.limits.agent(agent.ID, d.Limits.RequestsPerMinute); wait > 0 {
			return &hub.Error{
				Code: ma2h.CodeRateLimited, RetryAfter: wait,
				Msg: "too many requests of " + agent.ID + "; try again after Retry-After",
			}
		}
		return h(x, r, agent)
	}
}

// operator makes a handler of one that acts for an authenticated operator.
func (a *API) operator(h func(*exchange, *http.Request, *hub.Operator) error) handler {
	return func(x *exchange, r *http.Request) error {
		token, err := credential(r)
		if err != nil {
			return err
		}
		d := a.o.Hub.Directory()
		op := d.OperatorByToken(token)
		switch {
		case op != nil && token != "":
		case token != "" && d.AgentByToken(token) != nil:
			return &hub.Error{
				Code: ma2h.CodeNotAuthorized,
				Msg:  "this is an agent's credential, which works on /v1; /admin/v1 takes an operator's",
			}
		default:
			return a.unauthenticated(x, r, token)
		}
		x.who = "operator:" + op.ID
		return h(x, r, op)
	}
}

// unauthenticated is the 401, or the 429 of an address that has had too many.
// A request with a good credential is never held back by it.
func (a *API) unauthenticated(x *exchange, r *http.Request, token string) error {
	if wait := a.limits.failure(a.remote(r)); wait > 0 {
		return &hub.Error{
			Code: ma2h.CodeRateLimited, RetryAfter: wait,
			Msg: "too many requests without a valid credential; try again after Retry-After",
		}
	}
	challenge, msg := `Bearer realm="beckon"`, "no credential: send Authorization: Bearer TOKEN or X-API-Key: TOKEN"
	if token != "" {
		challenge += `, error="invalid_token"`
		msg = "the credential is not one that this hub knows"
	}
	x.Header().Set("WWW-Authenticate", challenge)
	return &hub.Error{Code: ma2h.CodeUnauthenticated, Msg: msg}
}

// credential reads the token from Authorization: Bearer or X-API-Key (spec
// §9.1), "" when there is neither. Two different tokens are a mistake that the
// hub does not guess about.
func credential(r *http.Request) (string, error) {
	var token string
	for _, v := range r.Header["Authorization"] {
		scheme, t, _ := strings.Cut(strings.TrimSpace(v), " ")
		if !strings.EqualFold(scheme, "Bearer") {
			continue // another scheme is for somebody else, such as a proxy
		}
		if t = strings.TrimSpace(t); token != "" && t != token {
			return "", twoCredentials()
		}
		token = t
	}
	for _, v := range r.Header["X-Api-Key"] {
		t := strings.TrimSpace(v)
		if token != "" && t != "" && t != token {
			return "", twoCredentials()
		}
		if t != "" {
			token = t
		}
	}
	return token, nil
}

func twoCredentials() error {
	return &hub.Error{
		Code: ma2h.CodeValidation,
		Msg:  "the request has two different credentials; send one of Authorization and X-API-Key",
	}
}
