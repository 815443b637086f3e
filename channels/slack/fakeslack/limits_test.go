package fakeslack_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"beckon/channels/slack/fakeslack"
)

type obj = map[string]any

// x is n characters of more than one byte, since limits count characters.
func x(n int) string { return strings.Repeat("é", n) }

func plain(s string) obj  { return obj{"type": "plain_text", "text": s} }
func mrkdwn(s string) obj { return obj{"type": "mrkdwn", "text": s} }

// many is a list of n things.
func many(n int, make func(i int) any) []any {
	out := []any{}
	for i := range n {
		out = append(out, make(i))
	}
	return out
}

func message(blocks ...any) obj   { return obj{"text": "t", "blocks": append([]any{}, blocks...)} }
func section(text any) obj        { return obj{"type": "section", "text": text} }
func actions(elements ...any) obj { return obj{"type": "actions", "elements": elements} }
func inputOf(el any) obj          { return obj{"type": "input", "label": plain("l"), "element": el} }

func option(i int) any  { return obj{"text": plain(fmt.Sprint("o", i)), "value": fmt.Sprint(i)} }
func rawText(i int) any { return obj{"type": "raw_text", "text": fmt.Sprint("c", i)} }
func divider(int) any   { return obj{"type": "divider"} }
func with(m obj, k string, v any) obj {
	c := obj{k: v}
	for key, val := range m {
		if key != k {
			c[key] = val
		}
	}
	return c
}

func button() obj { return obj{"type": "button", "text": plain("b"), "action_id": "a"} }
func selectOf(k string, v any) obj {
	return obj{"type": "static_select", "action_id": "s", k: v}
}

func modalView(k string, v any) obj {
	return with(obj{"type": "modal", "title": plain("t"), "submit": plain("s"), "blocks": []any{}}, k, v)
}

// confirmed is a button with a confirmation dialog.
func confirmed(k string, v any) obj {
	return message(actions(with(button(), "confirm", with(obj{"text": plain("t")}, k, v))))
}

// chart is a chart of so many series with so many points each.
func chart(series, points, label int) obj {
	return obj{"type": "data_visualization", "title": "t", "chart": obj{"type": "line", "series": many(series, func(int) any {
		return obj{"name": "n", "data": many(points, func(int) any { return obj{"label": x(label), "value": 1} })}
	})}}
}

// atLimit makes, for each limit, something that has n of it.
var atLimit = map[string]func(n int) obj{
	"message.blocks": func(n int) obj { return message(many(n, divider)...) },
	"view.blocks":    func(n int) obj { return modalView("blocks", many(n, divider)) },
	"message.attachments": func(n int) obj {
		return obj{"text": "t", "attachments": many(n, func(int) any { return obj{"text": "a"} })}
	},
	"message.characters": func(n int) obj {
		m := message()
		for ; n > 3000; n -= 3000 {
			m["blocks"] = append(m["blocks"].([]any), section(mrkdwn(x(3000))))
		}
		m["blocks"] = append(m["blocks"].([]any), obj{"type": "rich_text", "elements": []any{
			obj{"type": "rich_text_section", "elements": []any{obj{"type": "text", "text": x(n)}}},
		}})
		return m
	},
	"update.text": func(n int) obj { return obj{"text": x(n)} },
	"message.metadata": func(n int) obj {
		md := obj{"event_type": "e", "event_payload": obj{"k": ""}}
		raw, _ := json.Marshal(md)
		md["event_payload"] = obj{"k": strings.Repeat("a", n-len(raw))}
		return obj{"text": "t", "metadata": md}
	},
	"text":         func(n int) obj { return message(obj{"type": "context", "elements": []any{mrkdwn(x(n))}}) },
	"block_id":     func(n int) obj { return message(obj{"type": "divider", "block_id": x(n)}) },
	"action_id":    func(n int) obj { return message(actions(with(button(), "action_id", x(n)))) },
	"section.text": func(n int) obj { return message(section(mrkdwn(x(n)))) },
	"section.fields": func(n int) obj {
		return message(obj{"type": "section", "fields": many(n, func(int) any { return plain("f") })})
	},
	"section.field": func(n int) obj { return message(obj{"type": "section", "fields": []any{mrkdwn(x(n))}}) },
	"header.text":   func(n int) obj { return message(obj{"type": "header", "text": plain(x(n))}) },
	"header.level":  func(n int) obj { return message(obj{"type": "header", "text": plain("h"), "level": n}) },
	"actions.elements": func(n int) obj {
		return message(actions(many(n, func(i int) any { return with(button(), "action_id", fmt.Sprint(i)) })...))
	},
	"context.elements": func(n int) obj {
		return message(obj{"type": "context", "elements": many(n, func(int) any { return plain("c") })})
	},
	"context_actions.elements": func(n int) obj {
		return message(obj{"type": "context_actions", "elements": many(n, func(i int) any {
			return obj{"type": "icon_button", "icon": "trash", "text": plain("t"), "action_id": fmt.Sprint(i)}
		})})
	},
	"image.image_url": func(n int) obj { return message(obj{"type": "image", "alt_text": "a", "image_url": x(n)}) },
	"image.alt_text":  func(n int) obj { return message(obj{"type": "image", "alt_text": x(n), "image_url": "https://a.b"}) },
	"image.title": func(n int) obj {
		return message(obj{"type": "image", "alt_text": "a", "image_url": "https://a.b", "title": plain(x(n))})
	},
	"input.label": func(n int) obj {
		return message(with(inputOf(selectOf("options", many(1, option))), "label", plain(x(n))))
	},
	"input.hint": func(n int) obj {
		return message(with(inputOf(selectOf("options", many(1, option))), "hint", plain(x(n))))
	},
	"markdown.text": func(n int) obj { return message(obj{"type": "markdown", "text": x(n)}) },
	"table.rows": func(n int) obj {
		return message(obj{"type": "table", "rows": many(n, func(int) any { return many(1, rawText) })})
	},
	"table.cells": func(n int) obj {
		return message(obj{"type": "table", "rows": many(1, func(int) any { return many(n, rawText) })})
	},
	"table.column_settings": func(n int) obj {
		return message(obj{"type": "table", "rows": []any{many(1, rawText)}, "column_settings": many(n, func(int) any { return obj{"align": "left"} })})
	},
	"data_table.rows": func(n int) obj {
		return message(obj{"type": "data_table", "caption": "c", "rows": many(n, func(int) any { return many(1, rawText) })})
	},
	"data_table.columns": func(n int) obj {
		return message(obj{"type": "data_table", "caption": "c", "rows": many(2, func(int) any { return many(n, rawText) })})
	},
	"data_table.page_size": func(n int) obj {
		return message(obj{"type": "data_table", "caption": "c", "page_size": n, "rows": many(2, func(int) any { return many(1, rawText) })})
	},
	"data_table.content": func(n int) obj {
		cell := func(s string) []any { return []any{obj{"type": "raw_text", "text": s}} }
		return message(obj{"type": "data_table", "caption": "c", "rows": []any{cell("h"), cell(x(n - 1))}})
	},
	"data_visualization.title":  func(n int) obj { return message(with(chart(1, 1, 1), "title", x(n))) },
	"data_visualization.series": func(n int) obj { return message(chart(n, 1, 1)) },
	"data_visualization.data":   func(n int) obj { return message(chart(1, n, 1)) },
	"data_visualization.label":  func(n int) obj { return message(chart(1, 1, n)) },
	"alert.text":                func(n int) obj { return modalView("blocks", []any{obj{"type": "alert", "text": plain(x(n))}}) },
	"card.title":                func(n int) obj { return message(obj{"type": "card", "title": mrkdwn(x(n))}) },
	"card.body":                 func(n int) obj { return message(obj{"type": "card", "body": mrkdwn(x(n))}) },
	"card.actions": func(n int) obj {
		return message(obj{"type": "card", "actions": many(n, func(i int) any { return with(button(), "action_id", fmt.Sprint(i)) })})
	},
	"carousel.elements": func(n int) obj {
		return message(obj{"type": "carousel", "elements": many(n, func(int) any { return obj{"type": "card", "title": mrkdwn("t")} })})
	},
	"container.title": func(n int) obj {
		return message(obj{"type": "container", "title": plain(x(n)), "child_blocks": many(1, divider)})
	},
	"container.child_blocks": func(n int) obj {
		return message(obj{"type": "container", "title": plain("t"), "child_blocks": many(n, divider)})
	},

	"button.text":                func(n int) obj { return message(actions(with(button(), "text", plain(x(n))))) },
	"button.value":               func(n int) obj { return message(actions(with(button(), "value", x(n)))) },
	"button.url":                 func(n int) obj { return message(actions(with(button(), "url", x(n)))) },
	"button.accessibility_label": func(n int) obj { return message(actions(with(button(), "accessibility_label", x(n)))) },
	"button.visible_to_user_ids": func(n int) obj {
		return message(actions(with(button(), "visible_to_user_ids", many(n, func(i int) any { return fmt.Sprint("U", i) }))))
	},
	"confirm.title":  func(n int) obj { return confirmed("title", plain(x(n))) },
	"confirm.text":   func(n int) obj { return confirmed("text", mrkdwn(x(n))) },
	"confirm.button": func(n int) obj { return confirmed("deny", plain(x(n))) },
	"option.text": func(n int) obj {
		return message(actions(selectOf("options", []any{obj{"text": plain(x(n)), "value": "v"}})))
	},
	"option.value": func(n int) obj {
		return message(actions(selectOf("options", []any{obj{"text": plain("t"), "value": x(n)}})))
	},
	"option.description": func(n int) obj {
		return message(actions(selectOf("options", []any{obj{"text": plain("t"), "value": "v", "description": plain(x(n))}})))
	},
	"option.url": func(n int) obj {
		return message(actions(obj{"type": "overflow", "action_id": "o", "options": []any{obj{"text": plain("t"), "value": "v", "url": x(n)}}}))
	},
	"option_group.label": func(n int) obj {
		return message(actions(selectOf("option_groups", []any{obj{"label": plain(x(n)), "options": many(1, option)}})))
	},
	"option_group.options": func(n int) obj {
		return message(actions(selectOf("option_groups", []any{obj{"label": plain("g"), "options": many(n, option)}})))
	},
	"select.options": func(n int) obj { return message(actions(selectOf("options", many(n, option)))) },
	"select.option_groups": func(n int) obj {
		return message(actions(selectOf("option_groups", many(n, func(i int) any { return obj{"label": plain("g"), "options": many(1, option)} }))))
	},
	"placeholder": func(n int) obj {
		return message(actions(with(selectOf("options", many(1, option)), "placeholder", plain(x(n)))))
	},
	"select.max_selected_items": func(n int) obj {
		return message(actions(obj{"type": "multi_static_select", "options": many(1, option), "max_selected_items": n}))
	},
	"overflow.options":   func(n int) obj { return message(actions(obj{"type": "overflow", "options": many(n, option)})) },
	"checkboxes.options": func(n int) obj { return message(actions(obj{"type": "checkboxes", "options": many(n, option)})) },
	"plain_text_input.min_length": func(n int) obj {
		return message(inputOf(obj{"type": "plain_text_input", "min_length": n}))
	},
	"plain_text_input.max_length": func(n int) obj { return message(inputOf(obj{"type": "plain_text_input", "max_length": n})) },
	"file_input.max_files":        func(n int) obj { return modalView("blocks", []any{inputOf(obj{"type": "file_input", "max_files": n})}) },
	"rich_text_input.lines":       func(n int) obj { return message(inputOf(obj{"type": "rich_text_input", "max_lines": n})) },
	"rich_text_list.indent": func(n int) obj {
		return message(obj{"type": "rich_text", "elements": []any{obj{"type": "rich_text_list", "style": "bullet", "indent": n, "elements": []any{}}}})
	},
	"video.title": func(n int) obj {
		return message(obj{"type": "video", "video_url": "https://a.b", "thumbnail_url": "https://a.b", "alt_text": "a", "title": plain(x(n))})
	},
	"video.author_name": func(n int) obj {
		return message(obj{"type": "video", "video_url": "https://a.b", "thumbnail_url": "https://a.b", "alt_text": "a", "title": plain("t"), "author_name": x(n)})
	},

	"view.title":            func(n int) obj { return modalView("title", plain(x(n))) },
	"view.submit":           func(n int) obj { return modalView("submit", plain(x(n))) },
	"view.private_metadata": func(n int) obj { return modalView("private_metadata", x(n)) },
	"view.callback_id":      func(n int) obj { return modalView("callback_id", x(n)) },
	"view.external_id":      func(n int) obj { return modalView("external_id", x(n)) },
}

// validate picks the check for what it is.
func validate(limit string, doc obj) []fakeslack.Problem {
	raw, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	switch {
	case doc["type"] != nil:
		return fakeslack.ValidateView(raw)
	case strings.HasPrefix(limit, "update."):
		return fakeslack.ValidateUpdate(raw)
	}
	return fakeslack.ValidateMessage(raw)
}

// TestLimits: of everything that Slack bounds, the least and the most pass, and
// one less or one more fails with Slack's error, naming the limit.
func TestLimits(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, lim := range fakeslack.Limits() {
		names[lim.Name] = true
		t.Run(lim.Name, func(t *testing.T) {
			make := atLimit[lim.Name]
			switch {
			case make == nil:
				t.Fatal("no test reaches this limit")
			case lim.Source == "" || lim.Error == "" || lim.Unit == "":
				t.Fatalf("incomplete: %+v", lim)
			}
			for _, n := range []int{lim.Min, lim.Min + 1, lim.Max - 1, lim.Max} {
				if lim.Name == "message.metadata" && n < 100 {
					continue // braces and names take room
				}
				if lim.Name == "message.characters" && n == 0 || lim.Name == "data_table.content" && n < 2 {
					continue // an empty text is refused by itself
				}
				if p := validate(lim.Name, make(n)); len(p) > 0 {
					t.Errorf("%d %s: %v", n, lim.Unit, p)
				}
			}
			broken := func(n int) {
				t.Helper()
				p := validate(lim.Name, make(n))
				if len(p) == 0 {
					t.Fatalf("%d %s pass", n, lim.Unit)
				}
				want := lim.Error
				if make(n)["type"] != nil {
					want = "invalid_arguments" // inside a view
				}
				if p[0].Error != want || p[0].Limit != lim.Name {
					t.Errorf("%d %s: %+v, want %s of %s", n, lim.Unit, p[0], want, lim.Name)
				}
			}
			broken(lim.Max + 1)
			if lim.Min > 0 {
				broken(lim.Min - 1)
			}
		})
	}
	for name := range atLimit {
		if !names[name] {
			t.Errorf("a test for %s, which is no limit", name)
		}
	}
}

// TestRules: what Slack refuses that is no size.
func TestRules(t *testing.T) {
	t.Parallel()
	opts := many(2, option)
	tests := []struct {
		name string
		doc  obj
		want string // the error and part of the message; "" passes
	}{
		{"two blocks with one id", message(obj{"type": "divider", "block_id": "a"}, obj{"type": "divider", "block_id": "a"}), "invalid_blocks `block_id` a already exists"},
		{"one action id twice in a block", message(actions(button(), button())), "invalid_blocks `action_id` a already exists"},
		{"one action id in two blocks", message(actions(button()), actions(button())), ""},
		{"emoji with mrkdwn", message(section(with(mrkdwn("a"), "emoji", true))), "invalid_blocks invalid additional property: emoji"},
		{"verbatim with plain_text", message(section(with(plain("a"), "verbatim", true))), "invalid_blocks invalid additional property: verbatim"},
		{"mrkdwn on a button", message(actions(with(button(), "text", mrkdwn("a")))), "invalid_blocks must be one of: plain_text"},
		{"a style that is none", message(actions(with(button(), "style", "warning"))), "invalid_blocks must be one of: primary, danger"},
		{"an unknown field", message(actions(with(button(), "colour", "red"))), "invalid_blocks invalid additional property: colour"},
		{"an unknown block", message(obj{"type": "marquee"}), "invalid_blocks unsupported type: marquee"},
		{"an input among actions", message(actions(obj{"type": "plain_text_input"})), "invalid_blocks unsupported type: plain_text_input"},
		{"a button as an input", message(inputOf(button())), "invalid_blocks unsupported type: button"},
		{"an input in a message", message(inputOf(obj{"type": "plain_text_input"})), ""},
		{"a section without text", message(obj{"type": "section"}), "invalid_blocks must define either `text` or `fields`"},
		{"options and groups", message(actions(with(selectOf("options", opts), "option_groups", []any{}))), "invalid_blocks must define either `options` or `option_groups`"},
		{"an initial option that is none", message(actions(with(selectOf("options", opts), "initial_option", option(7)))), "invalid_blocks must exactly match one of the provided options"},
		{"an initial option that is one", message(actions(with(selectOf("options", opts), "initial_option", option(1)))), ""},
		{"number_input without its flag", message(inputOf(obj{"type": "number_input"})), "invalid_blocks missing required field: is_decimal_allowed"},
		{"a number for a number", message(inputOf(obj{"type": "number_input", "is_decimal_allowed": true, "min_value": 3})), "invalid_blocks must be a string that holds a number"},
		{"a date in words", message(actions(obj{"type": "datepicker", "initial_date": "today"})), "invalid_blocks must be in the format YYYY-MM-DD"},
		{"two tables", message(obj{"type": "table", "rows": []any{many(1, rawText)}}, obj{"type": "table", "rows": []any{many(1, rawText)}}), "invalid_attachments only_one_table_allowed"},
		{"three charts", message(chart(1, 1, 1), chart(1, 1, 1), chart(1, 1, 1)), "invalid_blocks no more than 2 data_visualization"},
		{"two plans", message(obj{"type": "plan", "title": "p"}, obj{"type": "plan", "title": "p"}), "invalid_blocks only one plan"},
		{"an alert in a message", message(obj{"type": "alert", "text": plain("a")}), "invalid_blocks block type alert is not allowed in a message"},
		{"markdown in a modal", modalView("blocks", []any{obj{"type": "markdown", "text": "a"}}), "invalid_arguments block type markdown is not allowed in a modal"},
		{"two markdown blocks together too long", message(obj{"type": "markdown", "text": x(6001)}, obj{"type": "markdown", "text": x(6000)}), "msg_too_long all markdown blocks"},
		{"a file block", message(obj{"type": "file", "source": "remote", "external_id": "x"}), "invalid_blocks file blocks can't be sent"},
		{"a file input in a message", message(inputOf(obj{"type": "file_input"})), "invalid_blocks file_input is not allowed in a message"},
		{"blocks that are no list", obj{"text": "t", "blocks": obj{}}, "invalid_blocks_format must be an array"},
		{"inputs without a submit button", modalView("submit", nil), ""},
		{"inputs without submit", with(modalView("submit", nil), "blocks", []any{inputOf(obj{"type": "plain_text_input"})}), "invalid_arguments must define `submit`"},
		{"a modal without a title", obj{"type": "modal", "blocks": []any{}}, "invalid_arguments missing required field: title"},
		{"a Home tab with a title", obj{"type": "home", "title": plain("t"), "blocks": []any{}}, "invalid_arguments invalid additional property: title"},
		{"two elements with focus", modalView("blocks", []any{
			inputOf(obj{"type": "plain_text_input", "focus_on_load": true}), inputOf(obj{"type": "plain_text_input", "focus_on_load": true}),
		}), "invalid_arguments only one element can have `focus_on_load`"},
		{"a view of more than 250 KB", modalView("blocks", many(90, func(int) any { return section(mrkdwn(x(3000))) })), "view_too_large"},
		{"metadata without a type", obj{"text": "t", "metadata": obj{"event_payload": obj{}}}, "invalid_metadata_schema missing required field: event_type"},
		{"metadata with depth", obj{"text": "t", "metadata": obj{"event_type": "e", "event_payload": obj{"a": obj{"b": obj{"c": 1}}}}}, "invalid_metadata_schema is nested too deeply"},
		{"metadata with one level", obj{"text": "t", "metadata": obj{"event_type": "e", "event_payload": obj{"a": obj{"b": 1}, "c": []any{1, obj{"d": true}}}}}, ""},
		{"markdown_text beside text", obj{"text": "t", "markdown_text": "m"}, "markdown_text_conflict"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := validate("", tt.doc)
			if tt.want == "" {
				if len(p) > 0 {
					t.Fatalf("refused: %v", p)
				}
				return
			}
			code, msg, _ := strings.Cut(tt.want, " ")
			if len(p) == 0 || p[0].Error != code || !strings.Contains(p[0].Message, msg) {
				t.Fatalf("problems = %v, want %s", p, tt.want)
			}
		})
	}
}
