package fakeslack

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// Which elements stand where: the unions of @slack/types.
var (
	selectElements     = []string{"static_select", "external_select", "users_select", "conversations_select", "channels_select", "multi_static_select", "multi_external_select", "multi_users_select", "multi_conversations_select", "multi_channels_select"}
	pickElements       = append([]string{"checkboxes", "radio_buttons", "datepicker", "datetimepicker", "timepicker"}, selectElements...)
	actionElements     = append([]string{"button", "overflow", "workflow_button", "rich_text_input", "icon_button"}, pickElements...)
	sectionAccessories = slices.DeleteFunc(append([]string{"button", "overflow", "workflow_button", "image"}, pickElements...), func(s string) bool { return s == "datetimepicker" })
	inputElements      = append([]string{"plain_text_input", "number_input", "email_text_input", "url_text_input", "rich_text_input", "file_input"}, pickElements...)
)

var (
	dateForm = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)
	timeForm = regexp.MustCompile(`^([01]\d|2[0-3]):[0-5]\d$`)
)

// plain is a plain_text object that limit id holds.
func (v *validator) plain(id limitID) check { return v.textObject(id, true) }

// textOf is a plain_text or a mrkdwn object.
func (v *validator) textOf(id limitID) check { return v.textObject(id, false) }

func (v *validator) textObject(id limitID, plainOnly bool) check {
	return func(at string, val any) {
		m := v.asObject(at, val)
		if m == nil {
			return
		}
		s, _ := m["text"].(string)
		v.chars += utf8.RuneCountInString(s)
		switch {
		case m["type"] == "plain_text":
			v.object(at, m, req("text", v.text(id)), opt("emoji", v.boolean))
		case m["type"] == "mrkdwn" && !plainOnly:
			// emoji is for plain_text only, verbatim for mrkdwn only.
			v.object(at, m, req("text", v.text(id)), opt("verbatim", v.boolean))
		case plainOnly:
			v.add(at+"/type", "must be one of: plain_text")
		default:
			v.add(at+"/type", "must be one of: plain_text, mrkdwn")
		}
	}
}

func (v *validator) imageFields() []field {
	return []field{opt("image_url", v.text(imageURL)), opt("slack_file", v.anything), req("alt_text", v.text(imageAlt))}
}

func (v *validator) imageSource(at string, m object) {
	if (m["image_url"] == nil) == (m["slack_file"] == nil) {
		v.add(at, "must define either `image_url` or `slack_file`")
	}
}

// contextElement is an image or a text.
func (v *validator) contextElement(at string, val any) {
	m := v.asObject(at, val)
	if m == nil {
		return
	}
	switch m["type"] {
	case "image":
		v.object(at, m, v.imageFields()...)
		v.imageSource(at, m)
	case "plain_text", "mrkdwn":
		v.textOf(textObject)(at, val)
	default:
		v.add(at+"/type", "unsupported type: %v", m["type"])
	}
}

// element is one of the allowed kinds; ids are the action ids of its block,
// which are unique in there.
func (v *validator) element(allowed []string, ids map[string]bool) check {
	return func(at string, val any) {
		m := v.asObject(at, val)
		if m == nil {
			return
		}
		kind, _ := m["type"].(string)
		if !slices.Contains(allowed, kind) {
			v.add(at+"/type", "unsupported type: %s", kind)
			return
		}
		v.elementKind(at, kind, m)
		if id, ok := m["action_id"].(string); ok && id != "" && ids != nil {
			if ids[id] {
				v.add(at+"/action_id", "`action_id` %s already exists for this block", id)
			}
			ids[id] = true
		}
		if m["focus_on_load"] == true {
			if v.focus != "" {
				v.add(at+"/focus_on_load", "only one element can have `focus_on_load`")
			}
			v.focus = at
		}
	}
}

func (v *validator) elementKind(at, kind string, m object) {
	id, confirm := opt("action_id", v.text(actionID)), opt("confirm", v.confirm)
	hold, focus := opt("placeholder", v.plain(placeholder)), opt("focus_on_load", v.boolean)
	dispatch := opt("dispatch_action_config", v.dispatchConfig)
	switch kind {
	case "button":
		v.object(at, m, id, confirm, req("text", v.plain(buttonText)), opt("value", v.text(buttonValue)), opt("url", v.text(buttonURL)),
			opt("style", v.oneOf("primary", "danger")), opt("accessibility_label", v.text(buttonLabel)),
			opt("visible_to_user_ids", v.list(buttonVisible, v.str)))
	case "workflow_button":
		v.object(at, m, id, confirm, req("text", v.plain(buttonText)), req("workflow", v.anything),
			opt("style", v.oneOf("primary", "danger")), opt("accessibility_label", v.text(buttonLabel)))
	case "icon_button":
		v.object(at, m, id, confirm, req("icon", v.str), req("text", v.plain(buttonText)), opt("value", v.text(buttonValue)),
			opt("accessibility_label", v.text(buttonLabel)), opt("visible_to_user_ids", v.list(buttonVisible, v.str)))
	case "feedback_buttons":
		v.object(at, m, id, req("positive_button", v.feedback), req("negative_button", v.feedback))
	case "overflow":
		v.object(at, m, id, confirm, req("options", v.list(overflowOptions, v.option(true, true))))
	case "checkboxes":
		v.object(at, m, id, confirm, focus, req("options", v.list(boxOptions, v.option(false, false))), opt("initial_options", v.initials(m, optionsOf(m))))
	case "radio_buttons":
		v.object(at, m, id, confirm, focus, req("options", v.list(boxOptions, v.option(false, false))), opt("initial_option", v.initial(optionsOf(m))))
	case "datepicker":
		v.object(at, m, id, confirm, focus, hold, opt("initial_date", v.form(dateForm, "must be in the format YYYY-MM-DD")))
	case "timepicker":
		v.object(at, m, id, confirm, focus, hold, opt("initial_time", v.form(timeForm, "must be in the format HH:mm")), opt("timezone", v.timezone))
	case "datetimepicker":
		v.object(at, m, id, confirm, focus, opt("initial_date_time", v.unixTime))
	case "plain_text_input":
		v.object(at, m, id, focus, hold, dispatch, opt("initial_value", v.str), opt("multiline", v.boolean),
			opt("min_length", v.number(inputMin)), opt("max_length", v.number(inputMax)))
	case "number_input":
		v.object(at, m, id, focus, hold, dispatch, req("is_decimal_allowed", v.boolean),
			opt("initial_value", v.numeric), opt("min_value", v.numeric), opt("max_value", v.numeric))
	case "email_text_input", "url_text_input":
		v.object(at, m, id, focus, hold, dispatch, opt("initial_value", v.str))
	case "rich_text_input":
		v.object(at, m, id, focus, hold, dispatch, opt("initial_value", v.block), opt("min_lines", v.number(richLines)), opt("max_lines", v.number(richLines)))
	case "file_input":
		v.object(at, m, id, opt("filetypes", v.each(v.str)), opt("max_files", v.number(fileCount)))
	case "image":
		v.object(at, m, v.imageFields()...)
		v.imageSource(at, m)
	default:
		v.menu(at, kind, m, id, confirm, hold, focus)
	}
}

// menu is one of the select menus.
func (v *validator) menu(at, kind string, m object, fields ...field) {
	if len(kind) > 6 && kind[:6] == "multi_" {
		fields = append(fields, opt("max_selected_items", v.number(selectedItems)))
	}
	switch kind {
	case "static_select", "multi_static_select":
		fields = append(fields, opt("options", v.list(selectOptions, v.option(true, false))), opt("option_groups", v.list(selectGroups, v.group)))
		if (m["options"] == nil) == (m["option_groups"] == nil) {
			v.add(at, "must define either `options` or `option_groups`")
		}
		fields = append(fields, v.initialField(kind, m, optionsOf(m)))
	case "external_select", "multi_external_select":
		fields = append(fields, opt("min_query_length", v.integer), v.initialField(kind, m, nil))
	case "users_select":
		fields = append(fields, opt("initial_user", v.str))
	case "multi_users_select":
		fields = append(fields, opt("initial_users", v.each(v.str)))
	case "channels_select":
		fields = append(fields, opt("initial_channel", v.str), opt("response_url_enabled", v.boolean))
	case "multi_channels_select":
		fields = append(fields, opt("initial_channels", v.each(v.str)))
	case "conversations_select", "multi_conversations_select":
		fields = append(fields, opt("initial_conversation", v.str), opt("initial_conversations", v.each(v.str)),
			opt("default_to_current_conversation", v.boolean), opt("response_url_enabled", v.boolean), opt("filter", v.anything))
	}
	v.object(at, m, fields...)
}

func (v *validator) initialField(kind string, m object, options []any) field {
	if kind[:6] == "multi_" {
		return opt("initial_options", v.initials(m, options))
	}
	return opt("initial_option", v.initial(options))
}

// optionsOf lists the options of an element, those of its groups included.
func optionsOf(m object) []any {
	list, _ := m["options"].([]any)
	groups, _ := m["option_groups"].([]any)
	for _, g := range groups {
		if gm, ok := g.(object); ok {
			more, _ := gm["options"].([]any)
			list = append(list[:len(list):len(list)], more...)
		}
	}
	return list
}

// option: https://docs.slack.dev/reference/block-kit/composition-objects/option-object.
func (v *validator) option(plainOnly, withURL bool) check {
	return func(at string, val any) {
		m := v.asObject(at, val)
		if m == nil {
			return
		}
		fields := []field{
			req("text", v.textObject(optionText, plainOnly)), opt("value", v.text(optionValue)),
			opt("description", v.textObject(optionDescription, plainOnly)),
		}
		if withURL {
			fields = append(fields, opt("url", v.text(optionURL)))
		}
		v.object(at, m, fields...)
	}
}

func (v *validator) group(at string, val any) {
	if m := v.asObject(at, val); m != nil {
		v.object(at, m, req("label", v.plain(groupLabel)), req("options", v.list(groupOptions, v.option(true, false))))
	}
}

// initial is an option that must equal one of the options.
func (v *validator) initial(options []any) check {
	return func(at string, val any) {
		if options != nil && !slices.ContainsFunc(options, func(o any) bool { return reflect.DeepEqual(o, val) }) {
			v.add(at, "must exactly match one of the provided options")
		}
	}
}

func (v *validator) initials(m object, options []any) check {
	return func(at string, val any) {
		v.each(v.initial(options))(at, val)
		list, _ := val.([]any)
		if n, ok := asInt(m["max_selected_items"]); ok && len(list) > n {
			v.add(at, "no more than %d items allowed", n)
		}
	}
}

func (v *validator) confirm(at string, val any) {
	if m := v.asObject(at, val); m != nil {
		v.object(at, m, opt("title", v.plain(confirmTitle)), req("text", v.textOf(confirmText)), opt("confirm", v.plain(confirmButton)),
			opt("deny", v.plain(confirmButton)), opt("style", v.oneOf("primary", "danger")))
	}
}

func (v *validator) feedback(at string, val any) {
	if m := v.asObject(at, val); m != nil {
		v.object(at, m, req("text", v.plain(buttonText)), req("value", v.text(buttonValue)), opt("accessibility_label", v.text(buttonLabel)))
	}
}

func (v *validator) dispatchConfig(at string, val any) {
	if m := v.asObject(at, val); m != nil {
		v.object(at, m, opt("trigger_actions_on", v.each(v.oneOf("on_enter_pressed", "on_character_entered"))))
	}
}

// form is a string of a certain form.
func (v *validator) form(re *regexp.Regexp, message string) check {
	return func(at string, val any) {
		if s, ok := val.(string); !ok || !re.MatchString(s) {
			v.add(at, "%s", message)
		}
	}
}

func (v *validator) timezone(at string, val any) {
	s, _ := val.(string)
	if _, err := time.LoadLocation(s); err != nil || s == "" {
		v.add(at, "must be an IANA time zone")
	}
}

// unixTime is ten digits of seconds.
func (v *validator) unixTime(at string, val any) {
	if n, ok := asInt(val); !ok || len(strconv.Itoa(n)) != 10 {
		v.add(at, "must be a UNIX timestamp of 10 digits")
	}
}

// numeric is a number inside a string.
func (v *validator) numeric(at string, val any) {
	s, ok := val.(string)
	if _, err := strconv.ParseFloat(s, 64); !ok || err != nil || !json.Valid([]byte(s)) {
		v.add(at, "must be a string that holds a number")
	}
}
