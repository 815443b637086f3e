package fakeslack

import (
	"fmt"
	"html"
	"html/template"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// funcs are what the template may call.
func (s *Server) funcs() template.FuncMap {
	return template.FuncMap{
		"text":     s.textHTML,
		"mrkdwn":   s.mrkdwnHTML,
		"rich":     s.richHTML,
		"str":      func(v any) string { x, _ := v.(string); return x },
		"label":    label,
		"anchor":   func(ts string) string { return "p" + removeDot(ts) },
		"elements": elementsOf,
		"control":  newPageControl,
		"options":  pageOptions,
		"keys":     sortedKeys[[]string],
		"objects":  func(v any) []object { l, _ := v.([]any); return asObjects(l) },
		"one":      func(c *blockCtx, b object) blockOne { return blockOne{c, b} },
		"list":     func(v any) []any { l, _ := v.([]any); return l },
		"initial": func(name string) string {
			for _, r := range name {
				return strings.ToUpper(string(r))
			}
			return "?"
		},
		"emoji":  func(name string) string { return emojiHTML(":" + name + ":") },
		"under":  func(v *pageView) *blockCtx { return &blockCtx{Blocks: v.Blocks, View: v} },
		"within": func(m pageMessage) *blockCtx { return &blockCtx{Blocks: m.Blocks, Msg: &m} },
		"nested": func(c *blockCtx, v any) *blockCtx { n := *c; l, _ := v.([]any); n.Blocks = asObjects(l); return &n },
		"visible": func(c *blockCtx, el object) bool {
			ids, ok := el["visible_to_user_ids"].([]any)
			return !ok || slices.Contains(ids, any(c.page().User.ID))
		},
	}
}

// blockCtx is a list of blocks and where it stands.
type blockCtx struct {
	Blocks []object
	View   *pageView
	Msg    *pageMessage
}

// blockOne is one block and where it stands.
type blockOne struct {
	C *blockCtx
	B object
}

func (c *blockCtx) page() *pageData {
	if c.View != nil {
		return c.View.Page
	}
	return c.Msg.Page
}

// Modal says whether the blocks are in a modal, whose fields are one form.
func (c *blockCtx) Modal() bool { return c.View != nil && c.View.Type == "modal" }

// Action is where a form of these blocks is sent.
func (c *blockCtx) Action(do string) string {
	p := c.page()
	return "/as/" + p.User.ID + "/" + p.Place + "/" + do
}

// Error is the objection to a block of a form.
func (c *blockCtx) Error(b object) string {
	id, _ := b["block_id"].(string)
	if !c.Modal() {
		return ""
	}
	return c.page().Flash.Errors[id]
}

// pageControl is one element ready to be drawn.
type pageControl struct {
	Ctx     *blockCtx
	El      object
	Kind    string
	Block   string
	ID      string
	Label   string
	Value   string   // what is entered, for text and dates
	Chosen  []string // values of the chosen options
	Confirm string   // the question of its confirmation dialog
}

func newPageControl(c *blockCtx, b, el object) *pageControl {
	k := &pageControl{Ctx: c, El: el, Label: label(el["text"])}
	k.Kind, _ = el["type"].(string)
	k.Block, _ = b["block_id"].(string)
	k.ID, _ = el["action_id"].(string)
	if conf, ok := el["confirm"].(object); ok {
		k.Confirm = label(conf["text"])
	}
	var values object
	if c.View != nil {
		values = c.View.Values
	} else {
		values = c.Msg.Values
	}
	inBlock, _ := values[k.Block].(object)
	v, _ := inBlock[k.ID].(object)
	switch x := v[valueKey(k.Kind)].(type) {
	case string:
		k.Value, k.Chosen = x, []string{x}
	case object:
		if k.Kind == "rich_text_input" {
			k.Value = strings.TrimSpace(plainRich(x))
		} else {
			s, _ := x["value"].(string)
			k.Chosen = []string{s}
		}
	case []any:
		for _, o := range x {
			switch y := o.(type) {
			case object:
				s, _ := y["value"].(string)
				k.Chosen = append(k.Chosen, s)
			case string:
				k.Chosen = append(k.Chosen, y)
			}
		}
	default:
		if n, ok := asInt(x); ok && k.Kind == "datetimepicker" {
			k.Value = time.Unix(int64(n), 0).In(location(c.page().User.TZ)).Format("2006-01-02T15:04")
		}
	}
	return k
}

// Name is the form field of the element.
func (k *pageControl) Name() string { return "f:" + k.Kind + ":" + k.Block + "/" + k.ID }

// Is says whether the element is one of some kinds.
func (k *pageControl) Is(kinds ...string) bool { return slices.Contains(kinds, k.Kind) }

// Has says whether an option is chosen.
func (k *pageControl) Has(value string) bool { return slices.Contains(k.Chosen, value) }

// Multiple says whether several may be chosen.
func (k *pageControl) Multiple() bool { return isMulti(k.Kind) }

// InputType is the HTML type of a text field.
func (k *pageControl) InputType() string {
	switch k.Kind {
	case "email_text_input":
		return "email"
	case "url_text_input":
		return "url"
	case "datepicker":
		return "date"
	case "timepicker":
		return "time"
	case "datetimepicker":
		return "datetime-local"
	}
	return "text"
}

// pageOption is one option to choose.
type pageOption struct{ Value, Label, Description, Group string }

// pageOptions lists the options of an element: its own, or the workspace's.
func pageOptions(k *pageControl) []pageOption {
	var out []pageOption
	add := func(list []any, group string) {
		for _, o := range asObjects(list) {
			v, _ := o["value"].(string)
			out = append(out, pageOption{v, label(o["text"]), label(o["description"]), group})
		}
	}
	own, _ := k.El["options"].([]any)
	add(own, "")
	groups, _ := k.El["option_groups"].([]any)
	for _, g := range asObjects(groups) {
		list, _ := g["options"].([]any)
		add(list, label(g["label"]))
	}
	switch {
	case strings.HasSuffix(k.Kind, "users_select"):
		for _, u := range k.Ctx.page().Users {
			out = append(out, pageOption{Value: u.ID, Label: u.RealName})
		}
	case strings.HasSuffix(k.Kind, "channels_select"), strings.HasSuffix(k.Kind, "conversations_select"):
		for _, p := range k.Ctx.page().Places {
			out = append(out, pageOption{Value: p.ID, Label: p.Name})
		}
	}
	return out
}

// label is the bare text of a text object.
func label(v any) string {
	m, _ := v.(object)
	s, _ := m["text"].(string)
	return s
}

// elementsOf lists the elements of a block.
func elementsOf(b object) []object {
	list, _ := b["elements"].([]any)
	if b["type"] == "card" {
		list, _ = b["actions"].([]any)
	}
	return asObjects(list)
}

// textHTML draws a text object.
func (s *Server) textHTML(v any) template.HTML {
	m, _ := v.(object)
	str, _ := m["text"].(string)
	if m["type"] == "mrkdwn" {
		return s.mrkdwnHTML(str)
	}
	out := html.EscapeString(str)
	if m["emoji"] != false {
		out = emojiHTML(out)
	}
	return template.HTML(strings.ReplaceAll(out, "\n", "<br>")) //nolint:gosec // escaped above
}

var (
	codeBlock  = regexp.MustCompile("(?s)```(.*?)```")
	codeSpan   = regexp.MustCompile("`([^`\n]+)`")
	control    = regexp.MustCompile(`<([^<>\n]*)>`)
	bold       = regexp.MustCompile(`(^|[\s(>_~])\*([^*\n]+)\*`)
	italic     = regexp.MustCompile(`(^|[\s(>*~])_([^_\n]+)_`)
	strike     = regexp.MustCompile(`(^|[\s(>*_])~([^~\n]+)~`)
	quote      = regexp.MustCompile(`(?m)^&gt; ?(.*)$`)
	blockBreak = regexp.MustCompile(`(?:<br>)?(<pre>|<q>)|(</pre>|</q>)<br>`)
	emojiForm  = regexp.MustCompile(`:([a-z0-9_+-]+):`)
)

// mrkdwnHTML draws Slack's markup (https://docs.slack.dev/messaging/formatting-message-text).
// Text arrives with its three characters escaped; what is not escaped and not
// in angle brackets is escaped here.
func (s *Server) mrkdwnHTML(text string) template.HTML {
	var kept []string
	keep := func(h string) string {
		kept = append(kept, h)
		return "\x00" + strconv.Itoa(len(kept)-1) + "\x00"
	}
	escape := func(t string) string { return html.EscapeString(html.UnescapeString(t)) }
	text = strings.ReplaceAll(text, "\x00", "")
	text = codeBlock.ReplaceAllStringFunc(text, func(m string) string {
		return keep("<pre>" + escape(strings.Trim(m[3:len(m)-3], "\n")) + "</pre>")
	})
	text = codeSpan.ReplaceAllStringFunc(text, func(m string) string { return keep("<code>" + escape(m[1:len(m)-1]) + "</code>") })
	text = control.ReplaceAllStringFunc(text, func(m string) string { return keep(s.controlHTML(m[1 : len(m)-1])) })
	text = escape(text)
	text = bold.ReplaceAllString(text, "$1<b>$2</b>")
	text = italic.ReplaceAllString(text, "$1<i>$2</i>")
	text = strike.ReplaceAllString(text, "$1<s>$2</s>")
	text = quote.ReplaceAllString(text, "<q>$1</q>")
	text = emojiHTML(text)
	text = strings.ReplaceAll(text, "\n", "<br>")
	for i := len(kept) - 1; i >= 0; i-- {
		text = strings.ReplaceAll(text, "\x00"+strconv.Itoa(i)+"\x00", kept[i])
	}
	text = blockBreak.ReplaceAllString(text, "$1$2") // these stand on lines of their own anyway
	return template.HTML(text)                       //nolint:gosec // every part was escaped
}

// controlHTML draws what stands between angle brackets.
func (s *Server) controlHTML(in string) string {
	target, name, _ := strings.Cut(in, "|")
	mention := func(t string) string { return `<span class="mention">` + html.EscapeString(t) + `</span>` }
	switch {
	case strings.HasPrefix(target, "@"):
		return mention("@" + s.nameOf(target[1:], name))
	case strings.HasPrefix(target, "#"):
		return mention("#" + s.nameOf(target[1:], name))
	case strings.HasPrefix(target, "!date^"):
		return html.EscapeString(name)
	case strings.HasPrefix(target, "!"):
		cmd, _, _ := strings.Cut(target[1:], "^")
		return mention("@" + cmd)
	case strings.HasPrefix(target, "http://"), strings.HasPrefix(target, "https://"), strings.HasPrefix(target, "mailto:"):
		if name == "" {
			name = target
		}
		return `<a href="` + html.EscapeString(html.UnescapeString(target)) + `" target="_blank" rel="noopener noreferrer">` +
			html.EscapeString(html.UnescapeString(name)) + `</a>`
	}
	return html.EscapeString("<" + in + ">")
}

// nameOf a user or a channel. The template runs without the lock.
func (s *Server) nameOf(id, otherwise string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.users[id] != nil:
		return s.users[id].RealName
	case s.channels[id] != nil:
		return s.channels[id].Name
	case otherwise != "":
		return otherwise
	}
	return id
}

// emojiHTML turns the few names that the fake knows into characters.
func emojiHTML(text string) string {
	return emojiForm.ReplaceAllStringFunc(text, func(m string) string {
		if c, ok := map[string]string{
			"+1": "👍", "-1": "👎", "white_check_mark": "✅", "heavy_check_mark": "✔️", "x": "❌", "warning": "⚠️", "tada": "🎉",
			"rocket": "🚀", "eyes": "👀", "pray": "🙏", "hourglass": "⌛", "stopwatch": "⏱️", "lock": "🔒", "bell": "🔔",
			"no_entry": "⛔", "information_source": "ℹ️", "question": "❓", "wave": "👋", "thumbsup": "👍", "thumbsdown": "👎",
		}[strings.Trim(m, ":")]; ok {
			return c
		}
		return m
	})
}

// richHTML draws the elements of a rich_text block.
func (s *Server) richHTML(v any) template.HTML {
	list, _ := v.([]any)
	var b strings.Builder
	for _, e := range asObjects(list) {
		inner, _ := e["elements"].([]any)
		switch e["type"] {
		case "rich_text_list":
			tag, start := "ul", ""
			if e["style"] == "ordered" {
				skipped, _ := asInt(e["offset"])
				tag, start = "ol", fmt.Sprintf(` start="%d"`, skipped+1)
			}
			indent, _ := asInt(e["indent"])
			fmt.Fprintf(&b, `<%s class="indent%d"%s>`, tag, indent, start)
			for _, item := range asObjects(inner) {
				l, _ := item["elements"].([]any)
				fmt.Fprintf(&b, "<li>%s</li>", s.runsHTML(l))
			}
			fmt.Fprintf(&b, "</%s>", tag)
		case "rich_text_preformatted":
			fmt.Fprintf(&b, "<pre>%s</pre>", s.runsHTML(inner))
		case "rich_text_quote":
			fmt.Fprintf(&b, "<q>%s</q>", s.runsHTML(inner))
		default:
			fmt.Fprintf(&b, "<div>%s</div>", s.runsHTML(inner))
		}
	}
	return template.HTML(b.String()) //nolint:gosec // every run was escaped
}

// runsHTML draws runs of text; they are literal, so nothing in them is markup.
func (s *Server) runsHTML(list []any) string {
	var b strings.Builder
	for _, r := range asObjects(list) {
		str := func(k string) string { x, _ := r[k].(string); return x }
		var h string
		switch r["type"] {
		case "link":
			name := str("text")
			if name == "" {
				name = str("url")
			}
			h = html.EscapeString(name)
			if u := str("url"); strings.HasPrefix(u, "http") || strings.HasPrefix(u, "mailto:") {
				h = `<a href="` + html.EscapeString(u) + `" target="_blank" rel="noopener noreferrer">` + h + `</a>`
			}
		case "user":
			h = `<span class="mention">@` + html.EscapeString(s.nameOf(str("user_id"), "")) + `</span>`
		case "channel":
			h = `<span class="mention">#` + html.EscapeString(s.nameOf(str("channel_id"), "")) + `</span>`
		case "broadcast":
			h = `<span class="mention">@` + html.EscapeString(str("range")) + `</span>`
		case "emoji":
			h = emojiHTML(":" + html.EscapeString(str("name")) + ":")
		case "date":
			h = html.EscapeString(str("fallback"))
		default:
			h = strings.ReplaceAll(html.EscapeString(str("text")), "\n", "<br>")
		}
		style, _ := r["style"].(object)
		for _, t := range [][2]string{{"code", "code"}, {"bold", "b"}, {"italic", "i"}, {"strike", "s"}, {"underline", "u"}} {
			if style[t[0]] == true {
				h = "<" + t[1] + ">" + h + "</" + t[1] + ">"
			}
		}
		b.WriteString(h)
	}
	return b.String()
}

// plainRich is the bare text of a rich_text value.
func plainRich(v any) string {
	switch x := v.(type) {
	case object:
		s, _ := x["text"].(string)
		list, _ := x["elements"].([]any)
		for _, e := range list {
			s += plainRich(e)
		}
		return s
	}
	return ""
}
