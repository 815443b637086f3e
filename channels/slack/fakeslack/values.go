package fakeslack

import (
	"fmt"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// valueKey names the field of a state value that holds what was entered, per
// kind of element; "" is an element without state.
func valueKey(kind string) string {
	switch kind {
	case "static_select", "external_select", "radio_buttons":
		return "selected_option"
	case "multi_static_select", "multi_external_select", "checkboxes":
		return "selected_options"
	case "users_select":
		return "selected_user"
	case "multi_users_select":
		return "selected_users"
	case "conversations_select":
		return "selected_conversation"
	case "multi_conversations_select":
		return "selected_conversations"
	case "channels_select":
		return "selected_channel"
	case "multi_channels_select":
		return "selected_channels"
	case "datepicker":
		return "selected_date"
	case "timepicker":
		return "selected_time"
	case "datetimepicker":
		return "selected_date_time"
	case "plain_text_input", "email_text_input", "url_text_input", "number_input":
		return "value"
	case "rich_text_input":
		return "rich_text_value"
	case "file_input":
		return "files"
	}
	return ""
}

// initialKey names the field of an element that holds its first value.
func initialKey(kind string) string {
	switch kind {
	case "static_select", "external_select", "radio_buttons":
		return "initial_option"
	case "multi_static_select", "multi_external_select", "checkboxes":
		return "initial_options"
	case "users_select":
		return "initial_user"
	case "multi_users_select":
		return "initial_users"
	case "conversations_select":
		return "initial_conversation"
	case "multi_conversations_select":
		return "initial_conversations"
	case "channels_select":
		return "initial_channel"
	case "multi_channels_select":
		return "initial_channels"
	case "datepicker":
		return "initial_date"
	case "timepicker":
		return "initial_time"
	case "datetimepicker":
		return "initial_date_time"
	}
	return "initial_value"
}

// emptyValue is the state value of an element before anything is entered.
func emptyValue(el object) object {
	kind, _ := el["type"].(string)
	v := object{"type": kind, valueKey(kind): cloneJSON(el[initialKey(kind)])}
	if v[valueKey(kind)] == nil && isMulti(kind) {
		v[valueKey(kind)] = []any{}
	}
	if tz := el["timezone"]; tz != nil {
		v["timezone"] = tz
	}
	return v
}

func isMulti(kind string) bool {
	return strings.HasPrefix(kind, "multi_") || kind == "checkboxes" || kind == "file_input"
}

// enter makes the state value of an element out of what a test or a form gives:
// a string (text, an option's value, a date), a list of strings, a time, a
// number; nil or "" is nothing.
func enter(el object, in any) (object, error) {
	kind, _ := el["type"].(string)
	key := valueKey(kind)
	if key == "" {
		return nil, fmt.Errorf("fakeslack: a %s takes no value", kind)
	}
	out := object{"type": kind, key: nil}
	if tz := el["timezone"]; tz != nil {
		out["timezone"] = tz
	}
	var err error
	switch {
	case isMulti(kind):
		out[key], err = enterMany(el, kind, in)
	case in == nil || in == "":
	case key == "selected_option":
		out[key], err = findOption(el, fmt.Sprint(in))
	case kind == "datetimepicker":
		out[key], err = enterTime(in)
	case kind == "rich_text_input":
		out[key] = richText(fmt.Sprint(in))
	default:
		out[key] = fmt.Sprint(in)
	}
	return out, err
}

func enterTime(in any) (any, error) {
	switch t := in.(type) {
	case time.Time:
		return t.Unix(), nil
	case string:
		n, err := strconv.ParseInt(t, 10, 64)
		return n, err
	}
	n, ok := asInt(in)
	if !ok {
		return nil, fmt.Errorf("fakeslack: %v is no time", in)
	}
	return int64(n), nil
}

func enterMany(el object, kind string, in any) ([]any, error) {
	var values []string
	switch x := in.(type) {
	case nil:
	case string:
		if x != "" {
			values = []string{x}
		}
	case []string:
		values = x
	default:
		return nil, fmt.Errorf("fakeslack: a %s takes a list of strings", kind)
	}
	if n, ok := asInt(el["max_selected_items"]); ok && len(values) > n {
		return nil, fmt.Errorf("fakeslack: no more than %d may be selected", n)
	}
	out := []any{}
	for _, v := range values {
		if valueKey(kind) != "selected_options" {
			out = append(out, v)
			continue
		}
		o, err := findOption(el, v)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// findOption finds an option by value, or else by its label.
func findOption(el object, value string) (object, error) {
	options := optionsOf(el)
	for _, o := range options {
		if m, ok := o.(object); ok && m["value"] == value {
			return copyJSON(m).(object), nil
		}
	}
	for _, o := range options {
		m, _ := o.(object)
		if t, ok := m["text"].(object); ok && t["text"] == value {
			return copyJSON(m).(object), nil
		}
	}
	return nil, fmt.Errorf("%w: there is no option %q", ErrGone, value)
}

// isEmpty says whether a state value holds nothing.
func isEmpty(v object) bool {
	kind, _ := v["type"].(string)
	switch x := v[valueKey(kind)].(type) {
	case nil:
		return true
	case string:
		return x == ""
	case []any:
		return len(x) == 0
	}
	return false
}

var emailForm = regexp.MustCompile(`^[^@\s]+@[^@\s]+\.[^@\s]+$`)

// objection is what Slack's client says about a value that does not fit, before
// anything is sent; "" is nothing.
func objection(block, el, v object) string {
	if isEmpty(v) {
		if block["optional"] == true {
			return ""
		}
		return "Please complete this required field."
	}
	s, _ := v["value"].(string)
	kind, _ := el["type"].(string)
	switch kind {
	case "plain_text_input":
		n := utf8.RuneCountInString(s)
		if low, ok := asInt(el["min_length"]); ok && n < low {
			return fmt.Sprintf("Must be at least %d characters.", low)
		}
		high, ok := asInt(el["max_length"])
		if !ok {
			high = limitTable[inputMax].Max
		}
		if n > high {
			return fmt.Sprintf("Must be at most %d characters.", high)
		}
	case "number_input":
		return numberObjection(el, s)
	case "email_text_input":
		if _, err := mail.ParseAddress(s); err != nil || !emailForm.MatchString(s) {
			return "Please enter a valid email address."
		}
	case "url_text_input":
		if u, err := url.Parse(s); err != nil || u.Host == "" {
			return "Please enter a valid URL."
		}
	}
	return ""
}

func numberObjection(el object, s string) string {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return "Please enter a number."
	}
	if el["is_decimal_allowed"] != true && n != float64(int64(n)) {
		return "Please enter a whole number."
	}
	bound := func(name string) (float64, bool) {
		b, ok := el[name].(string)
		f, err := strconv.ParseFloat(b, 64)
		return f, ok && err == nil
	}
	if low, ok := bound("min_value"); ok && n < low {
		return fmt.Sprintf("Must be at least %v.", low)
	}
	if high, ok := bound("max_value"); ok && n > high {
		return fmt.Sprintf("Must be at most %v.", high)
	}
	return ""
}

// stateValues is state.values: of every element with a state, what the person
// entered, or else its initial value. s.mu is held.
func (s *Server) stateValues(user, place string, blocks []object) object {
	filled := s.states[user+" "+place]
	out := object{}
	controls(blocks, func(b, el object) {
		kind, _ := el["type"].(string)
		if valueKey(kind) == "" {
			return
		}
		bid, _ := b["block_id"].(string)
		aid, _ := el["action_id"].(string)
		values, _ := out[bid].(object)
		if values == nil {
			values = object{}
			out[bid] = values
		}
		values[aid] = emptyValue(el)
		if f, ok := filled[bid+"/"+aid].(object); ok && f["type"] == kind {
			values[aid] = cloneJSON(f)
		}
	})
	return out
}

// setState notes what a person entered. s.mu is held.
func (s *Server) setState(user, place string, b, el, value object) {
	key := user + " " + place
	if s.states[key] == nil {
		s.states[key] = object{}
	}
	bid, _ := b["block_id"].(string)
	aid, _ := el["action_id"].(string)
	s.states[key][bid+"/"+aid] = value
}

// richText is what Slack's composer makes of plain text.
func richText(text string) object {
	return object{"type": "rich_text", "elements": []any{
		object{"type": "rich_text_section", "elements": []any{object{"type": "text", "text": text}}},
	}}
}

// emoji that people type and that are stored by name.
var emojiNames = strings.NewReplacer("👍", ":+1:", "👎", ":-1:", "✅", ":white_check_mark:", "❌", ":x:", "🎉", ":tada:", "🚀", ":rocket:", "👀", ":eyes:", "🙏", ":pray:")

var bareURL = regexp.MustCompile(`https?://[^\s<>|]+`)

// typed is what Slack stores of what a person types: the three characters
// escaped, URLs in angle brackets, emoji by name. Mentions that are written as
// <@U…>, as clients send them, stay.
func typed(text string) string {
	text = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
	text = mention.ReplaceAllString(text, "<$1>")
	return emojiNames.Replace(bareURL.ReplaceAllStringFunc(text, func(u string) string { return "<" + u + ">" }))
}

var mention = regexp.MustCompile(`&lt;(@[UW][A-Z0-9]+|#C[A-Z0-9]+)&gt;`)

// typedBlocks is the rich_text block of a person's message.
func typedBlocks(text string) []object {
	b := richText(text)
	b["block_id"] = randomHex(3)[:5]
	section := b["elements"].([]any)[0].(object)
	var parts []any
	rest := text
	for {
		at := mentionTyped.FindStringSubmatchIndex(rest)
		if at == nil {
			break
		}
		if at[0] > 0 {
			parts = append(parts, object{"type": "text", "text": rest[:at[0]]})
		}
		parts = append(parts, object{"type": "user", "user_id": rest[at[2]:at[3]]})
		rest = rest[at[1]:]
	}
	if rest != "" {
		parts = append(parts, object{"type": "text", "text": rest})
	}
	section["elements"] = parts
	return slices.Clone([]object{b})
}

var mentionTyped = regexp.MustCompile(`<@([UW][A-Z0-9]+)>`)
