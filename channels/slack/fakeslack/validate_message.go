package fakeslack

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// validateMessage checks the parts of a message that have a form: text, blocks,
// attachments, metadata. Unknown arguments of a call are ignored, as Slack does.
func validateMessage(m object, update bool) []Problem {
	v := &validator{on: OnMessage, code: "invalid_blocks"}
	text, _ := m["text"].(string)
	md, _ := m["markdown_text"].(string)
	if update && utf8.RuneCountInString(text) > limitTable[updateText].Max {
		v.broken(updateText, "/text", "must be less than %d characters", limitTable[updateText].Max+1)
	}
	blocks, hasBlocks := m["blocks"]
	hasBlocks = hasBlocks && blocks != nil
	if md != "" {
		if text != "" || hasBlocks {
			v.code = "markdown_text_conflict"
			v.add("/markdown_text", "markdown_text can't be used with text or blocks")
			v.code = "invalid_blocks"
		}
		v.length("/markdown_text", md, markdownText)
	}
	if hasBlocks {
		v.blocks("/blocks", blocks)
	}
	if a, ok := m["attachments"]; ok && a != nil {
		v.attachments("/attachments", a)
	}
	if md, ok := m["metadata"]; ok && md != nil {
		v.metadata("/metadata", md)
	}
	return v.problems
}

// attachments are the secondary, older kind of content. Only what is in them
// and has limits is checked: their number and their blocks.
func (v *validator) attachments(at string, val any) {
	list, ok := val.([]any)
	if !ok {
		v.code = "invalid_attachments"
		v.add(at, "must be an array")
		v.code = "invalid_blocks"
		return
	}
	v.size(at, len(list), attachmentCount)
	for i, a := range list {
		m, ok := a.(object)
		if !ok {
			v.add(fmt.Sprintf("%s/%d", at, i), "must be an object")
			continue
		}
		if b, ok := m["blocks"]; ok {
			v.blocks(fmt.Sprintf("%s/%d/blocks", at, i), b)
		}
	}
}

// metadata: event_type and a flat event_payload, one level of objects and
// arrays (https://docs.slack.dev/messaging/message-metadata/).
func (v *validator) metadata(at string, val any) {
	defer func(code string) { v.code = code }(v.code)
	v.code = "invalid_metadata_format"
	m, ok := val.(object)
	if !ok {
		v.add(at, "must be an object")
		return
	}
	v.code = "invalid_metadata_schema"
	v.object(at, m, req("event_type", v.str), req("event_payload", func(at string, val any) {
		for name, x := range v.asObject(at, val) {
			v.metadataValue(at+"/"+name, x, 0)
		}
	}))
	raw, _ := json.Marshal(m)
	if lim := limitTable[metadataBytes]; len(raw) > lim.Max {
		v.broken(metadataBytes, at, "must be at most %d bytes", lim.Max)
	}
}

func (v *validator) metadataValue(at string, val any, depth int) {
	switch x := val.(type) {
	case string, bool, json.Number, float64:
	case object:
		if depth > 1 {
			v.add(at, "is nested too deeply")
			return
		}
		for name, y := range x {
			v.metadataValue(at+"/"+name, y, depth+2)
		}
	case []any:
		if depth > 0 {
			v.add(at, "is nested too deeply")
			return
		}
		for i, y := range x {
			v.metadataValue(fmt.Sprintf("%s/%d", at, i), y, depth+1)
		}
	default:
		v.add(at, "must be a string, a number, a boolean, an object or an array")
	}
}

// validateView checks a modal or a Home tab; size is that of its JSON.
func validateView(m object, size int) []Problem {
	v := &validator{code: "invalid_arguments"}
	const at = "/view"
	if size > maxViewBytes {
		v.code = "view_too_large"
		v.add(at, "must be at most %d bytes", maxViewBytes)
		v.code = "invalid_arguments"
	}
	common := []field{
		opt("private_metadata", v.text(viewMetadata)),
		opt("callback_id", v.text(viewCallback)),
		opt("external_id", v.text(viewExternal)),
		req("blocks", v.blocks),
	}
	switch m["type"] {
	case "modal":
		v.on = OnModal
		v.object(at, m, append(common,
			req("title", v.plain(viewTitle)), opt("submit", v.plain(viewButton)), opt("close", v.plain(viewButton)),
			opt("clear_on_close", v.boolean), opt("notify_on_close", v.boolean), opt("submit_disabled", v.boolean))...)
		if v.inputs > 0 && m["submit"] == nil {
			v.add(at, "must define `submit` when a modal has input blocks")
		}
	case "home":
		v.on = OnHome
		v.object(at, m, common...)
	default:
		v.add(at+"/type", "must be one of: modal, home")
	}
	return v.problems
}
