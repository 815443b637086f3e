package main

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"beckon/hub/admin"
	"beckon/hub/client"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// eventsCmd shows the history of a message to an operator. It ends with 1 when
// the hash chain does not hold: somebody changed the database.
type eventsCmd struct {
	ID   string `arg:"" help:"The message, such as msg_01J…"`
	JSON bool   `help:"Print JSON."`
	remote
}

func (c *eventsCmd) Run(ctx context.Context, sh *shell) error {
	s, err := c.connect()
	if err != nil {
		return err
	}
	h, err := call(sh, s, func() (*admin.History, error) { return s.Events(ctx, c.ID) })
	if err != nil {
		return err
	}
	if c.JSON {
		err = sh.printJSON(h)
	} else {
		err = eventRows(sh, h).write(sh)
	}
	switch {
	case err != nil:
		return err
	case !h.Verified:
		return &exitError{client.ExitInternal, "the history was changed: " + oneLine(h.Problem)}
	}
	sh.say("the chain holds over %s", count(len(h.Events), "event"))
	return nil
}

func eventRows(sh *shell, h *admin.History) *table {
	t := &table{head: []string{"#", "TIME", "EVENT", "ACTOR", "DETAILS"}, flex: 4, state: -1}
	for _, e := range h.Events {
		actor, details := eventWords(e.Content)
		if e.Erased {
			details = "(erased)"
		}
		t.add(strconv.FormatInt(e.Seq, 10), sh.when(e.At), e.Kind, actor, details)
	}
	return t
}

// eventWords takes who did it out of an event's content, and writes the rest as
// NAME=VALUE.
func eventWords(content jsontext.Value) (actor, details string) {
	var all map[string]jsontext.Value
	if json.Unmarshal(content, &all) != nil {
		return "", string(content)
	}
	take := func(name, prefix string) string {
		v := optionalText(all[name])
		if v == "" {
			return ""
		}
		delete(all, name)
		return prefix + v
	}
	// The agent is the actor of its own submit only.
	actor = cmp.Or(take("actor", ""), take("operator", "operator:"), take("agent", "agent:"))
	var words []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		words = append(words, name+"="+valueText(all[name]))
	}
	return actor, strings.Join(words, " ")
}
