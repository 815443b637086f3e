package fakeslack

import (
	"strings"
	"unicode/utf8"
)

// richElement is a part of a rich_text block. Text in it counts toward the
// message's total (github.com/getsentry/sentry/pull/64928).
func (v *validator) richElement(at string, val any) {
	m := v.asObject(at, val)
	if m == nil {
		return
	}
	border := opt("border", v.integer)
	switch m["type"] {
	case "rich_text_section":
		v.object(at, m, req("elements", v.each(v.richInline(false))))
	case "rich_text_quote":
		v.object(at, m, border, req("elements", v.each(v.richInline(false))))
	case "rich_text_preformatted":
		v.object(at, m, border, opt("language", v.str), req("elements", v.each(v.richInline(true))))
	case "rich_text_list":
		v.object(at, m, border, req("style", v.oneOf("bullet", "ordered")), opt("indent", v.number(richIndent)), opt("offset", v.integer),
			req("elements", v.each(func(at string, val any) {
				item := v.asObject(at, val)
				if item != nil && item["type"] != "rich_text_section" {
					v.add(at+"/type", "must be one of: rich_text_section")
					return
				}
				v.richElement(at, val)
			})))
	default:
		v.add(at+"/type", "unsupported type: %v", m["type"])
	}
}

// richInline is a run of text, a link, a mention. Preformatted text holds only
// text and links.
func (v *validator) richInline(preformatted bool) check {
	return func(at string, val any) {
		m := v.asObject(at, val)
		if m == nil {
			return
		}
		style := opt("style", v.richStyle)
		kind, _ := m["type"].(string)
		if preformatted && kind != "text" && kind != "link" {
			v.add(at+"/type", "must be one of: text, link")
			return
		}
		switch kind {
		case "text":
			v.object(at, m, style, req("text", v.counted))
		case "link":
			v.object(at, m, style, req("url", v.link), opt("text", v.str), opt("unsafe", v.boolean))
			s, _ := m["text"].(string)
			v.chars += utf8.RuneCountInString(s)
		case "emoji":
			v.object(at, m, style, req("name", v.str), opt("unicode", v.str), opt("url", v.str), opt("skin_tone", v.integer))
		case "user":
			v.object(at, m, style, req("user_id", v.str))
		case "usergroup":
			v.object(at, m, style, req("usergroup_id", v.str))
		case "channel":
			v.object(at, m, style, req("channel_id", v.str))
		case "team":
			v.object(at, m, style, req("team_id", v.str))
		case "broadcast":
			v.object(at, m, style, req("range", v.oneOf("here", "channel", "everyone")))
		case "color":
			v.object(at, m, style, req("value", v.str))
		case "date":
			v.object(at, m, style, req("timestamp", v.integer), req("format", v.str), opt("url", v.str), opt("fallback", v.str))
		default:
			v.add(at+"/type", "unsupported type: %s", kind)
		}
	}
}

func (v *validator) richStyle(at string, val any) {
	if m := v.asObject(at, val); m != nil {
		v.object(at, m, opt("bold", v.boolean), opt("italic", v.boolean), opt("strike", v.boolean), opt("code", v.boolean),
			opt("underline", v.boolean), opt("highlight", v.boolean), opt("client_highlight", v.boolean), opt("unlink", v.boolean))
	}
}

// link is a URL with a scheme.
func (v *validator) link(at string, val any) {
	if s, ok := val.(string); !ok || !strings.Contains(s, ":") {
		v.add(at, "must be a valid URL")
	}
}
