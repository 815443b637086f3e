package web

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"beckon/hub"
	"beckon/templates"
)

// maxRadios is the most choices that are shown side by side; more make a list.
const maxRadios = 6

// How a datetime-local control writes a time.
const (
	localTime        = "2006-01-02T15:04"
	localTimeSeconds = localTime + ":05"
)

// formFields lays out an input ask. Controls are named by position, so that no
// name of the agent's meets one of ours.
func formFields(card *hub.Card, who *hub.Person) []templates.FormField {
	out := make([]templates.FormField, 0, len(card.Fields))
	for i, f := range card.Fields {
		name := "f" + strconv.Itoa(i+1)
		t := templates.FormField{Field: f, ID: name, Name: name, Control: control(f), Hint: templates.Hint(f)}
		if t.Title == "" {
			t.Title = f.Name
		}
		switch {
		case f.Type == hub.FieldBoolean:
			t.Choices = []templates.Choice{{Value: "true", Label: "Yes"}, {Value: "false", Label: "No"}}
		case len(f.Enum) > 0:
			for j, v := range f.Enum {
				label := v
				if j < len(f.EnumNames) && f.EnumNames[j] != "" {
					label = f.EnumNames[j]
				}
				t.Choices = append(t.Choices, templates.Choice{Value: v, Label: label})
			}
		}
		if t.Control == "radio" && !f.Required {
			t.Choices = append(t.Choices, templates.Choice{Value: "", Label: "No answer", Chosen: !f.HasDefault})
		}
		if t.Control == "datetime" {
			t.Zone = zoneOf(who).String()
			at, err := time.Parse(time.RFC3339, f.Default)
			t.Seconds = err == nil && !f.Sensitive && at.Second() != 0
		}
		if f.HasDefault && !f.Sensitive {
			set(&t, toControl(t, f.Default, who))
		}
		out = append(out, t)
	}
	return out
}

// control picks the HTML control of a field. A number is a text control: a
// browser empties a number control that it can't read, and what was typed
// would be lost.
func control(f hub.Field) string {
	switch {
	case f.Type == hub.FieldBoolean, len(f.Enum) > 0 && len(f.Enum) <= maxRadios:
		return "radio"
	case len(f.Enum) > 0:
		return "select"
	case f.Sensitive:
		return "password"
	case f.Type == hub.FieldNumber, f.Type == hub.FieldInteger:
		return "number"
	case strings.ContainsAny(f.Default, "\r\n"): // one line would lose them
		return "area"
	}
	switch f.Format {
	case "date":
		return "date"
	case "date-time":
		return "datetime"
	case "email":
		return "email"
	case "uri":
		return "url"
	case "":
		if f.Pattern == "" && (f.MaxLength == 0 || f.MaxLength > 200) {
			return "area"
		}
	}
	return "text"
}

// set makes v the value of a control.
func set(t *templates.FormField, v string) {
	for i := range t.Choices {
		t.Choices[i].Chosen = t.Choices[i].Value == v
	}
	t.Value = v
}

// refill puts back what was typed, unless it is sensitive.
func refill(t *templates.FormField, f url.Values) {
	if t.Sensitive {
		return
	}
	if f.Has(t.Name) {
		set(t, strings.ReplaceAll(f.Get(t.Name), "\r\n", "\n"))
	}
}

// readFields collects what was typed, by the schema's names. The hub reads an
// empty field as one that was not filled in.
func readFields(f url.Values, card *hub.Card, who *hub.Person) map[string]string {
	out := map[string]string{}
	for _, t := range formFields(card, who) {
		if !f.Has(t.Name) {
			continue
		}
		v := strings.ReplaceAll(f.Get(t.Name), "\r\n", "\n")
		out[t.Field.Name] = fromControl(t, v, who)
	}
	return out
}

// fromControl turns a control's value into the schema's. What stands as it was
// proposed goes back exactly so: a control shows line breaks and times in its
// own way. A date and time is by the reader's clock; one that the clock leaps
// over stays as it was typed, and the hub refuses it; of one that it shows twice
// the first is meant.
func fromControl(t templates.FormField, v string, who *hub.Person) string {
	if t.HasDefault && !t.Sensitive && v != "" && v == toControl(t, t.Default, who) {
		return t.Default
	}
	if t.Control != "datetime" {
		return v
	}
	for _, layout := range []string{localTime, localTimeSeconds} {
		at, err := time.ParseInLocation(layout, v, zoneOf(who))
		if err != nil || at.Format(layout) != v {
			continue
		}
		if first := at.Add(-time.Hour); first.Format(layout) == v {
			at = first
		}
		return at.Format(time.RFC3339)
	}
	return v
}

// toControl does the reverse, for a proposed value.
func toControl(t templates.FormField, v string, who *hub.Person) string {
	if t.Control != "datetime" {
		return strings.ReplaceAll(v, "\r\n", "\n")
	}
	at, err := time.Parse(time.RFC3339, v)
	if err != nil {
		return ""
	}
	if t.Seconds {
		return at.In(zoneOf(who)).Format(localTimeSeconds)
	}
	return at.In(zoneOf(who)).Format(localTime)
}

func zoneOf(who *hub.Person) *time.Location {
	if who == nil || who.Location == nil {
		return time.UTC
	}
	return who.Location
}
