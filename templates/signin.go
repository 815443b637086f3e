package templates

import (
	"time"

	"beckon/hub"
)

// SignInPage is shown to somebody whom the hub doesn't know, or knows only now.
// It says nothing of what they were looking for, nor who there is.
type SignInPage struct {
	Page
	Kind  string      // one of [SignInKinds]
	To    string      // path that a sign-in leads to
	Login string      // what the company login is called; "" when there is none
	Start string      // path that the company login begins at, with a query
	Links bool        // the hub can send links
	Who   string      // whom a link was asked for, as it was typed
	Lost  string      // what somebody had typed, for "lapsed"
	Was   *hub.Person // who had signed in before, for "switched"
}

// SignInKinds are the things that signin.html has words for.
func SignInKinds() []string {
	return []string{
		"",         // sign in by one of the ways that there are
		"expired",  // the same, since the link has run out
		"lapsed",   // the same, since the sign-in had run out when an answer was sent
		"sent",     // if there is such a person, a link is on its way
		"busy",     // too many links were asked for
		"stale",    // this login was begun elsewhere, or too long ago, or is over
		"denied",   // the company login did not say who it is
		"stranger", // it did, but the hub doesn't know them
		"down",     // it can't be reached
		"failed",   // what it said can't be trusted
		"switched", // somebody else had signed in here before
	}
}

func sampleSignIns(page Page) []any {
	var all []any
	for _, kind := range SignInKinds() {
		p := SignInPage{Page: Page{CSS: page.CSS}, Kind: kind, To: "/i/msg_1"}
		if kind == "switched" {
			p.Page, p.Was = page, &hub.Person{ID: "bob", Name: "Bob Roy", Location: time.UTC}
		}
		full := p
		full.Login, full.Start, full.Links, full.Who = "Company login", "/oidc/start?to=/i/msg_1", true, "alice@example.com"
		full.Lost = "typed"
		all = append(all, &p, &full)
	}
	return all
}
