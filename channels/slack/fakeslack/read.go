package fakeslack

import "strings"

// Control is one interactive element of a message or a view.
type Control struct {
	Block, Action string // block_id, action_id
	Type          string // "button", "static_select"
	Label         string // the text of a button, the label of an input
	Value         string // of a button
	URL           string // of a button that opens a page
	Style         string // of a button: "primary", "danger" or ""
	Options       []string
}

// Controls lists the interactive elements of a message, in order.
func (m Message) Controls() []Control { return controlsOf(m.Blocks) }

// Controls lists the interactive elements of a view, in order.
func (v View) Controls() []Control { return controlsOf(v.Blocks) }

// Read is all the text that a person reads in a message, a line for each text:
// its blocks, or its text if it has none.
func (m Message) Read() string {
	if len(m.Blocks) == 0 {
		return m.Text
	}
	return readBlocks(m.Blocks)
}

// Read is all the text that a person reads in a view, its title first.
func (v View) Read() string { return strings.TrimSpace(v.Title + "\n" + readBlocks(v.Blocks)) }

func controlsOf(blocks []object) []Control {
	var out []Control
	controls(blocks, func(b, el object) {
		str := func(m object, name string) string { s, _ := m[name].(string); return s }
		c := Control{
			Block: str(b, "block_id"), Action: str(el, "action_id"), Type: str(el, "type"), Label: label(el["text"]),
			Value: str(el, "value"), URL: str(el, "url"), Style: str(el, "style"),
		}
		if b["type"] == "input" {
			c.Label = label(b["label"])
		}
		for _, o := range asObjects(optionsOf(el)) {
			c.Options = append(c.Options, str(o, "value"))
		}
		out = append(out, c)
	})
	return out
}

// readBlocks joins every text of blocks in reading order.
func readBlocks(blocks []object) string {
	var lines []string
	for _, b := range blocks {
		readInto(&lines, b)
	}
	return strings.Join(lines, "\n")
}

// readInto adds the texts of one block or element.
func readInto(lines *[]string, v any) {
	switch x := v.(type) {
	case []any:
		for _, y := range x {
			readInto(lines, y)
		}
	case object:
		if s, ok := x["text"].(string); ok && s != "" {
			*lines = append(*lines, s)
		} else if kind, _ := x["type"].(string); strings.HasPrefix(kind, "rich_text_") && kind != "rich_text_list" && kind != "rich_text_input" {
			*lines = append(*lines, plainRich(x))
			return
		}
		for _, k := range []string{
			"title", "subtitle", "label", "text", "fields", "accessory", "element", "elements", "options", "option_groups",
			"description", "body", "actions", "child_blocks", "rows", "hint",
		} {
			if _, isText := x[k].(string); !isText {
				readInto(lines, x[k])
			}
		}
	}
}
