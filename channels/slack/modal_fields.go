package slack

import (
	"math/big"
	"strings"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"

	slackgo "github.com/slack-go/slack"
)

// maxModalFields leaves room for the modal's other blocks.
const maxModalFields = 90

// fitsModal reports whether Slack can take every answer that the ask allows;
// else it is answered on the page.
func fitsModal(c *hub.Card) bool {
	if c.PageOnly || c.Hidden {
		return false
	}
	if c.Type == ma2h.Task {
		return true
	}
	if c.Mode != ma2h.Input {
		return len(c.Options) > 0 && len(c.Options) <= maxOptions
	}
	if len(c.Fields) == 0 || len(c.Fields) > maxModalFields {
		return false
	}
	size := 0 // a view holds 250 KB of JSON; an option takes about 200 bytes
	for _, f := range c.Fields {
		if f.Sensitive || f.MinLength > maxTextObject || !showsProposal(c, f) {
			return false
		}
		size += 5*len(f.Title) + 5*len(f.Description) + 5*len(f.Default) + 600*len(f.Enum)
	}
	return size < 150_000
}

// showsProposal reports whether the field's input begins with exactly what the
// agent proposed: an ask may forbid to change it.
func showsProposal(c *hub.Card, f hub.Field) bool {
	if !f.HasDefault || f.Default == "" {
		return true
	}
	switch el := fieldElement(c, f, "").(type) {
	case *slackgo.PlainTextInputBlockElement:
		return el.InitialValue == f.Default && runeLen(f.Default) <= maxTextObject
	case *slackgo.NumberInputBlockElement:
		return el.InitialValue != ""
	case *slackgo.DatePickerBlockElement:
		return el.InitialDate != ""
	case *slackgo.DateTimePickerBlockElement:
		return el.InitialDateTime != 0
	case *slackgo.EmailTextInputBlockElement:
		return el.InitialValue != ""
	case *slackgo.URLTextInputBlockElement:
		return el.InitialValue != ""
	case *slackgo.RadioButtonsBlockElement:
		return el.InitialOption != nil
	case *slackgo.SelectBlockElement:
		return el.InitialOption != nil
	}
	return false
}

func fieldBlock(i int) string { return "f" + itoa(i+1) }

func fieldLabel(f hub.Field, i int) string {
	return line(f.Title, line(f.Name, "Field "+itoa(i+1)))
}

// fieldInput is one property of the schema as an input. Limits that Slack can't
// keep are said in the hint and kept by the hub.
func fieldInput(c *hub.Card, f hub.Field, i int) *slackgo.InputBlock {
	id := action{Kind: kindField, Option: i + 1, MessageID: "value"}.id()
	var words []string
	for _, s := range []string{line(f.Description, ""), templates.Hint(f), formatHint(f), cutHint(f)} {
		if s != "" {
			words = append(words, s)
		}
	}
	var hint *slackgo.TextBlockObject
	if len(words) > 0 {
		hint = plain(cutTo(strings.Join(words, " · "), maxLabel))
	}
	return slackgo.NewInputBlock(fieldBlock(i), plain(cutTo(fieldLabel(f, i), maxLabel)), hint, fieldElement(c, f, id)).WithOptional(!f.Required)
}

// formatHint names a format that has no control of its own.
func formatHint(f hub.Field) string {
	switch f.Format {
	case "", "date", "date-time", "email", "uri":
		return ""
	}
	return "format: " + cutTo(templates.Line(f.Format), 40)
}

// cutHint says that a list does not show its values in full.
func cutHint(f hub.Field) string {
	for i, v := range f.Enum {
		if runeLen(templates.Line(enumLabel(f.EnumNames, i, v))) > maxOptionText {
			return "long values are cut here; the page shows them in full"
		}
	}
	return ""
}

func enumLabel(names []string, i int, value string) string {
	if i < len(names) && names[i] != "" {
		return names[i]
	}
	return value
}

func fieldElement(c *hub.Card, f hub.Field, id string) slackgo.BlockElement {
	switch {
	case f.Type == hub.FieldBoolean:
		return radioOrSelect(id, f, []string{"true", "false"}, []string{"Yes", "No"})
	case len(f.Enum) > 0:
		return radioOrSelect(id, f, f.Enum, f.EnumNames)
	case f.Type == hub.FieldNumber || f.Type == hub.FieldInteger:
		return numberInput(id, f)
	}
	switch f.Format {
	case "date":
		el := slackgo.NewDatePickerBlockElement(id)
		if d, err := time.Parse(time.DateOnly, f.Default); err == nil && d.Year() > 0 {
			el.InitialDate = f.Default
		}
		return el
	case "date-time":
		el := slackgo.NewDateTimePickerBlockElement(id)
		if t, err := time.Parse(time.RFC3339, f.Default); err == nil && pickable(t) {
			el.InitialDateTime = t.Unix()
		}
		return el
	case "email":
		el := slackgo.NewEmailTextInputBlockElement(nil, id)
		if at := strings.Index(f.Default, "@"); at > 0 && templates.Line(f.Default) == f.Default && !strings.Contains(f.Default, " ") {
			el.InitialValue = f.Default
		}
		return el
	case "uri":
		el := slackgo.NewURLTextInputBlockElement(nil, id)
		if _, _, ok := templates.SafeURL(f.Default); ok && strings.HasPrefix(f.Default, "http") {
			el.InitialValue = f.Default
		}
		return el
	}
	return textInput(id, f)
}

func textInput(id string, f hub.Field) slackgo.BlockElement {
	el := slackgo.NewPlainTextInputBlockElement(nil, id)
	el.Multiline = f.Pattern == "" && f.Format == "" && (f.MaxLength == 0 || f.MaxLength > 200)
	el.InitialValue = templates.Text(f.Default)
	if !el.Multiline {
		el.InitialValue = templates.Line(f.Default)
	}
	if f.MaxLength > 0 && f.MaxLength <= maxTextObject {
		el.MaxLength = f.MaxLength
	}
	if f.MinLength > 0 && (el.MaxLength == 0 || f.MinLength <= el.MaxLength) {
		el.MinLength = f.MinLength
	}
	// A proposal outside its own limits is shown; the hub says what is wrong.
	if n := runeLen(el.InitialValue); n > 0 && (el.MaxLength > 0 && n > el.MaxLength || n < el.MinLength) {
		el.MinLength, el.MaxLength = 0, 0
	}
	return el
}

// numberInput passes on what Slack takes: decimals without an exponent.
func numberInput(id string, f hub.Field) slackgo.BlockElement {
	whole := f.Type == hub.FieldInteger
	el := slackgo.NewNumberInputBlockElement(nil, id, !whole)
	lo, hi := decimal(f.Minimum, whole), decimal(f.Maximum, whole)
	if lo != nil && hi != nil && lo.Cmp(hi) > 0 {
		lo, hi = nil, nil
	}
	v := decimal(f.Default, whole)
	if v != nil && (lo != nil && v.Cmp(lo) < 0 || hi != nil && v.Cmp(hi) > 0) {
		lo, hi = nil, nil
	}
	if lo != nil {
		el.MinValue = f.Minimum
	}
	if hi != nil {
		el.MaxValue = f.Maximum
	}
	if v != nil {
		el.InitialValue = f.Default
	}
	return el
}

// decimal reads a plain number, nil for any other form.
func decimal(s string, whole bool) *big.Rat {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || len(s) > 20 || strings.Count(digits, ".") > 1 || whole && strings.Contains(digits, ".") {
		return nil
	}
	for _, r := range digits {
		if (r < '0' || r > '9') && r != '.' {
			return nil
		}
	}
	if strings.HasPrefix(digits, ".") || strings.HasSuffix(digits, ".") {
		return nil
	}
	v, ok := new(big.Rat).SetString(s)
	if !ok {
		return nil
	}
	return v
}

// noAnswer is the value of a choice that takes an optional field's value away.
const noAnswer = "0"

// radioOrSelect offers values by their number from 1, so that no value of the
// agent's is too long for Slack.
func radioOrSelect(id string, f hub.Field, values, names []string) slackgo.BlockElement {
	var options []*slackgo.OptionBlockObject
	var initial *slackgo.OptionBlockObject
	for i, v := range values {
		o := slackgo.NewOptionBlockObject(itoa(i+1), plain(cutTo(line(enumLabel(names, i, v), "(empty)"), maxOptionText)), nil)
		options = append(options, o)
		if f.HasDefault && v == f.Default && initial == nil {
			initial = o
		}
	}
	if !f.Required {
		options = append(options, slackgo.NewOptionBlockObject(noAnswer, plain("No answer"), nil))
	}
	if len(options) <= maxChecks {
		el := slackgo.NewRadioButtonsBlockElement(id, options...)
		el.InitialOption = initial
		return el
	}
	el := &slackgo.SelectBlockElement{
		Type: slackgo.OptTypeStatic, ActionID: id, Placeholder: plain("Choose"), InitialOption: initial,
	}
	if len(options) <= maxOptions {
		el.Options = options
		return el
	}
	for i := 0; i < len(options); i += maxOptions {
		last := min(i+maxOptions, len(options))
		label := plain(itoa(i+1) + " to " + itoa(last))
		el.OptionGroups = append(el.OptionGroups, slackgo.NewOptionGroupBlockElement(label, options[i:last]...))
	}
	return el
}

// pickable reports a time that Slack's picker takes: ten digits of seconds.
func pickable(t time.Time) bool { return t.Unix() >= 1e9 && t.Unix() < 1e10 }

// readField turns an input's value into the schema's, as text. What was not
// touched comes back as the agent proposed it.
func readField(c *hub.Card, f hub.Field, a slackgo.BlockAction) string {
	switch a.Type {
	case slackgo.ActionType(slackgo.METDatepicker):
		return a.SelectedDate
	case slackgo.ActionType(slackgo.METDatetimepicker):
		return readTime(c, f, a.SelectedDateTime)
	case slackgo.ActionType(slackgo.METRadioButtons), slackgo.ActionType(slackgo.OptTypeStatic):
		n, _ := number(a.SelectedOption.Value)
		values := f.Enum
		if f.Type == hub.FieldBoolean {
			values = []string{"true", "false"}
		}
		if n < 1 || n > len(values) {
			return ""
		}
		return values[n-1]
	}
	return a.Value
}

// readTime writes the time that was picked by the reader's clock. The picker
// knows minutes.
func readTime(c *hub.Card, f hub.Field, unix int64) string {
	if unix == 0 {
		return ""
	}
	t := time.Unix(unix, 0)
	if d, err := time.Parse(time.RFC3339, f.Default); err == nil && f.HasDefault && d.Truncate(time.Minute).Equal(t.Truncate(time.Minute)) {
		return f.Default
	}
	loc := time.UTC
	if c.Reader != nil && c.Reader.Location != nil {
		loc = c.Reader.Location
	}
	return t.In(loc).Format(time.RFC3339)
}
