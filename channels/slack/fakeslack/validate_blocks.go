package fakeslack

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// surfaces says where a block may stand; what is not listed stands anywhere.
// Sources: the pages of the blocks and docs.slack.dev/blocks.json.
func surfaces(block string) []Surface {
	switch block {
	case "alert":
		return []Surface{OnModal}
	case "card", "carousel":
		return []Surface{OnMessage, OnHome}
	case "context_actions", "markdown", "table", "data_table", "data_visualization", "container", "task_card", "plan":
		return []Surface{OnMessage}
	}
	return []Surface{OnMessage, OnModal, OnHome}
}

// blocks checks a list of blocks and what holds for all of them together.
func (v *validator) blocks(at string, val any) {
	list, ok := val.([]any)
	if !ok {
		defer func(code string) { v.code = code }(v.code)
		if v.code == "invalid_blocks" {
			v.code = "invalid_blocks_format"
		}
		v.add(at, "must be an array")
		return
	}
	if v.on == OnMessage {
		v.size(at, len(list), messageBlocks)
	} else {
		v.size(at, len(list), viewBlocks)
	}
	for i, b := range list {
		v.block(fmt.Sprintf("%s/%d", at, i), b)
	}
	if v.on != OnMessage {
		return
	}
	if lim := limitTable[markdownText]; v.markdown > lim.Max {
		v.broken(markdownText, at, "all markdown blocks must be less than %d characters", lim.Max+1)
	} else if lim := limitTable[messageChars]; v.chars > lim.Max {
		v.broken(messageChars, at, "all text must be less than %d characters", lim.Max+1)
	}
	defer func(code string) { v.code = code }(v.code)
	if v.tables > 1 {
		v.code = "invalid_attachments"
		v.add(at, "only_one_table_allowed")
	}
	v.code = "invalid_blocks"
	if v.plans > 1 {
		v.add(at, "only one plan block is allowed")
	}
	if v.charts > 2 {
		v.add(at, "no more than 2 data_visualization blocks are allowed")
	}
}

func (v *validator) block(at string, val any) {
	m := v.asObject(at, val)
	if m == nil {
		return
	}
	kind, _ := m["type"].(string)
	before := len(v.problems)
	v.blockKind(at, kind, m)
	if len(v.problems) > before {
		return
	}
	if !slices.Contains(surfaces(kind), v.on) {
		v.add(at, "block type %s is not allowed in a %s", kind, v.on)
	}
	if id, ok := m["block_id"].(string); ok && id != "" && kind != "markdown" {
		if v.blockIDs == nil {
			v.blockIDs = map[string]bool{}
		}
		if v.blockIDs[id] {
			v.add(at+"/block_id", "`block_id` %s already exists", id)
		}
		v.blockIDs[id] = true
	}
}

func (v *validator) blockKind(at, kind string, m object) {
	id := opt("block_id", v.text(blockID))
	switch kind {
	case "section":
		v.object(at, m, id, opt("text", v.textOf(sectionText)), opt("fields", v.list(sectionFields, v.textOf(sectionField))),
			opt("accessory", v.element(sectionAccessories, nil)), opt("expand", v.boolean))
		if m["text"] == nil && m["fields"] == nil {
			v.add(at, "must define either `text` or `fields`")
		}
	case "header":
		v.object(at, m, id, req("text", v.plain(headerText)), opt("level", v.number(headerLevel)))
	case "divider":
		v.object(at, m, id)
	case "image":
		v.object(at, m, append(v.imageFields(), id, opt("title", v.plain(imageTitle)))...)
		v.imageSource(at, m)
	case "context":
		v.object(at, m, id, req("elements", v.list(contextElements, v.contextElement)))
	case "actions":
		ids := map[string]bool{}
		v.object(at, m, id, req("elements", v.list(actionsElements, v.element(actionElements, ids))))
	case "input":
		v.input(at, m, id)
	case "rich_text":
		v.object(at, m, id, req("elements", v.each(v.richElement)))
	case "markdown":
		v.object(at, m, opt("block_id", v.str), req("text", func(at string, val any) {
			s, _ := val.(string)
			v.markdown += utf8.RuneCountInString(s)
			v.chars += utf8.RuneCountInString(s)
			v.text(markdownText)(at, val)
		}))
	case "context_actions":
		v.object(at, m, id, req("elements", v.list(contextActions, v.element([]string{"feedback_buttons", "icon_button"}, map[string]bool{}))))
	case "video":
		v.object(at, m, id, req("video_url", v.str), req("thumbnail_url", v.str), req("alt_text", v.str),
			req("title", v.plain(videoTitle)), opt("title_url", v.str), opt("author_name", v.text(videoAuthor)),
			opt("provider_name", v.str), opt("provider_icon_url", v.str), opt("description", v.plain(textObject)))
	case "file":
		v.add(at, "file blocks can't be sent by apps")
	default:
		v.newerBlock(at, kind, m, id)
	}
}

// newerBlock holds the kinds that came in 2025 and 2026.
func (v *validator) newerBlock(at, kind string, m object, id field) {
	switch kind {
	case "table":
		v.tables++
		v.object(at, m, id, req("rows", v.list(tableRows, v.list(tableCells, v.cell))),
			opt("column_settings", v.list(tableColumns, v.columnSetting)))
	case "data_table":
		v.dataTable(at, m, id)
	case "data_visualization":
		v.charts++
		v.object(at, m, id, req("title", v.text(chartTitle)), req("chart", v.chart))
	case "alert":
		v.object(at, m, id, req("text", v.textOf(alertText)), opt("level", v.oneOf("default", "info", "warning", "error", "success")))
	case "card":
		v.card(at, m, id)
	case "carousel":
		v.object(at, m, id, req("elements", v.list(carouselCards, func(at string, val any) {
			if c := v.asObject(at, val); c != nil {
				v.card(at, c, id)
			}
		})))
	case "container":
		v.object(at, m, id, opt("title", v.plain(containerTitle)), opt("rich_text_title", v.block), opt("subtitle", v.textOf(containerTitle)),
			req("child_blocks", v.list(containerBlocks, v.childBlock)), opt("width", v.oneOf("narrow", "standard", "wide", "full")),
			opt("icon", v.contextElement), opt("is_collapsible", v.boolean), opt("default_collapsed", v.boolean), opt("has_header_divider", v.boolean))
	case "task_card":
		v.taskCard(at, m, id)
	case "plan":
		v.plans++
		v.object(at, m, id, req("title", v.str), opt("tasks", v.each(func(at string, val any) {
			if c := v.asObject(at, val); c != nil {
				v.taskCard(at, c, id)
			}
		})))
	default:
		v.add(at+"/type", "unsupported type: %s", kind)
	}
}

// childBlock is a block inside a container (@slack/types ContainerBlock).
func (v *validator) childBlock(at string, val any) {
	m := v.asObject(at, val)
	if m == nil {
		return
	}
	kind, _ := m["type"].(string)
	if !slices.Contains([]string{"actions", "context", "divider", "header", "image", "input", "rich_text", "section", "table", "video"}, kind) {
		v.add(at+"/type", "unsupported type: %s", kind)
		return
	}
	v.block(at, val)
}

func (v *validator) taskCard(at string, m object, id field) {
	v.object(at, m, id, req("task_id", v.str), req("title", v.str), opt("details", v.block), opt("output", v.block),
		opt("sources", v.each(v.anything)), req("status", v.oneOf("pending", "in_progress", "complete", "error")))
}

func (v *validator) card(at string, m object, id field) {
	if m["hero_image"] == nil && m["title"] == nil && m["body"] == nil && m["actions"] == nil {
		v.add(at, "must define one of `hero_image`, `title`, `actions`, `body`")
	}
	v.object(at, m, id, opt("hero_image", v.contextElement), opt("icon", v.contextElement), opt("slack_icon", v.anything),
		opt("title", v.textOf(cardTitle)), opt("subtitle", v.textOf(cardTitle)), opt("body", v.textOf(cardBody)),
		opt("subtext", v.textOf(cardBody)), opt("actions", v.list(cardActions, v.element([]string{"button"}, map[string]bool{}))))
}

func (v *validator) columnSetting(at string, val any) {
	if val == nil {
		return
	}
	if m := v.asObject(at, val); m != nil {
		v.object(at, m, opt("align", v.oneOf("left", "center", "right")), opt("is_wrapped", v.boolean))
	}
}

// cell of a table.
func (v *validator) cell(at string, val any) {
	m := v.asObject(at, val)
	if m == nil {
		return
	}
	switch m["type"] {
	case "raw_text":
		v.object(at, m, req("text", v.counted))
	case "raw_number":
		v.object(at, m, req("value", v.anything), req("text", v.counted))
	case "rich_text":
		v.object(at, m, opt("block_id", v.text(blockID)), req("elements", v.each(v.richElement)))
	default:
		v.add(at+"/type", "must be one of: raw_text, raw_number, rich_text")
	}
}

// counted is a string whose length counts toward the message's total.
func (v *validator) counted(at string, val any) {
	s, ok := val.(string)
	if !ok {
		v.add(at, "must be a string")
		return
	}
	if s == "" {
		v.add(at, "must be more than 0 characters")
	}
	v.chars += utf8.RuneCountInString(s)
}

func (v *validator) dataTable(at string, m object, id field) {
	before := v.chars
	v.object(at, m, id, req("caption", v.str), opt("page_size", v.number(dataPage)), opt("row_header_column_index", v.integer),
		req("rows", v.list(dataRows, v.list(dataColumns, func(at string, val any) {
			if c, ok := val.(object); ok && c["type"] == "button" {
				v.element([]string{"button"}, nil)(at, val)
				return
			}
			v.cell(at, val)
		}))))
	if n := v.chars - before; n > limitTable[dataChars].Max {
		v.broken(dataChars, at, "must be less than %d characters", limitTable[dataChars].Max+1)
	}
	v.chars = before // it has a budget of its own
}

// chart of a data_visualization: segments of a pie, or series of points.
func (v *validator) chart(at string, val any) {
	m := v.asObject(at, val)
	if m == nil {
		return
	}
	point := func(at string, val any) {
		if p := v.asObject(at, val); p != nil {
			v.object(at, p, req("label", v.text(chartLabel)), req("value", v.anything))
		}
	}
	if m["type"] == "pie" {
		v.object(at, m, req("segments", v.list(chartSeries, point)))
		return
	}
	v.oneOf("line", "bar", "area")(at+"/type", m["type"])
	v.object(at, m, opt("axis_config", v.anything), req("series", v.list(chartSeries, func(at string, val any) {
		if p := v.asObject(at, val); p != nil {
			v.object(at, p, req("name", v.text(chartLabel)), req("data", v.list(chartPoints, point)))
		}
	})))
}

// input block: https://docs.slack.dev/reference/block-kit/blocks/input-block.
func (v *validator) input(at string, m object, id field) {
	v.inputs++
	v.object(at, m, id, req("label", v.plain(inputLabel)), opt("hint", v.plain(inputHint)), opt("optional", v.boolean),
		opt("dispatch_action", v.boolean), req("element", v.element(inputElements, nil)))
	el, _ := m["element"].(object)
	if el["type"] == "file_input" {
		if m["dispatch_action"] == true {
			v.add(at, "`dispatch_action` can't be used with file_input")
		}
		if v.on != OnModal {
			v.add(at, "file_input is not allowed in a %s", v.on)
		}
	}
}
