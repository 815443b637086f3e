package fakeslack

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

func itoa(n int) string { return strconv.Itoa(n) }

// indexOf reads a decimal number, -1 if it is none.
func indexOf(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}

// json is a user as Slack's API gives it. The e-mail address needs the scope
// users:read.email and is withheld for strangers of another company.
func (u *User) json(s *Server, scopes []string) object {
	stranger := u.TeamID != s.team.ID
	profile := object{
		"real_name": u.RealName, "real_name_normalized": u.RealName, "display_name": u.Name, "display_name_normalized": u.Name,
		"title": "", "phone": "", "team": u.TeamID, "avatar_hash": "g0", "status_text": "", "status_emoji": "",
	}
	if u.Email != "" && !stranger && slices.Contains(scopes, "users:read.email") {
		profile["email"] = u.Email
	}
	o := object{
		"id": u.ID, "team_id": u.TeamID, "name": u.Name, "deleted": u.Deleted, "profile": profile,
		"is_bot": u.Bot, "is_app_user": false, "updated": s.clock.now().Unix(),
	}
	if stranger {
		o["is_stranger"] = true
	}
	if u.Deleted {
		return o
	}
	_, offset := s.clock.now().In(location(u.TZ)).Zone()
	for k, v := range map[string]any{
		"real_name": u.RealName, "tz": u.TZ, "tz_label": u.TZ, "tz_offset": offset, "is_admin": false, "is_owner": false,
		"is_primary_owner": false, "is_restricted": u.Guest, "is_ultra_restricted": u.Guest, "color": "9f69e7",
		"is_email_confirmed": true,
	} {
		o[k] = v
	}
	return o
}

func location(name string) *time.Location {
	if l, err := time.LoadLocation(name); err == nil {
		return l
	}
	return time.UTC
}

func (s *Server) usersInfo(c *call) (object, error) {
	u := s.users[c.str("user")]
	if u == nil {
		return nil, fail("user_not_found")
	}
	if !s.sharesWorkspace(c.app, u) {
		return nil, fail("user_not_visible")
	}
	return object{"user": u.json(s, c.app.Scopes)}, nil
}

func (s *Server) usersList(c *call) (object, error) {
	var list []any
	for _, id := range s.userOrder {
		if u := s.users[id]; s.sharesWorkspace(c.app, u) {
			list = append(list, u.json(s, c.app.Scopes))
		}
	}
	page, next, err := paginate(c, list, 1000)
	return object{"members": page, "cache_ts": s.clock.now().Unix(), "response_metadata": object{"next_cursor": next}}, err
}

// usersLookupByEmail does not find strangers, nor accounts that are deactivated.
func (s *Server) usersLookupByEmail(c *call) (object, error) {
	mail := c.str("email")
	for _, id := range s.userOrder {
		u := s.users[id]
		if mail != "" && strings.EqualFold(u.Email, mail) && u.TeamID == s.team.ID && !u.Deleted {
			return object{"user": u.json(s, c.app.Scopes)}, nil
		}
	}
	return nil, fail("users_not_found")
}
