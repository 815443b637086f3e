package slack

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	slackgo "github.com/slack-go/slack"
)

// draw writes rich text so that a test can read it: styles as letters, what
// stands apart with its kind.
func draw(els []slackgo.RichTextElement) string {
	var b strings.Builder
	inline := func(list []slackgo.RichTextSectionElement) {
		for _, e := range list {
			switch e := e.(type) {
			case *slackgo.RichTextSectionTextElement:
				b.WriteString(styled(e.Text, e.Style))
			case *slackgo.RichTextSectionLinkElement:
				b.WriteString(styled("<"+e.URL+"|"+e.Text+">", e.Style))
			}
		}
		b.WriteByte('\n')
	}
	for _, e := range els {
		switch e := e.(type) {
		case *slackgo.RichTextSection:
			inline(e.Elements)
		case *slackgo.RichTextQuote:
			b.WriteString("quote: ")
			inline(e.Elements)
		case *slackgo.RichTextPreformatted:
			fmt.Fprintf(&b, "code%d: ", e.Border)
			inline(e.Elements)
		case *richList:
			fmt.Fprintf(&b, "%s indent %d offset %d\n", e.Style, e.Indent, e.Offset)
			b.WriteString(strings.ReplaceAll("- "+strings.TrimSuffix(draw(e.Elements), "\n"), "\n", "\n- ") + "\n")
		}
	}
	return b.String()
}

func styled(s string, st *richStyle) string {
	if st == nil {
		return s
	}
	mark := ""
	for _, m := range []struct {
		on   bool
		name string
	}{{st.Bold, "b"}, {st.Italic, "i"}, {st.Strike, "s"}, {st.Code, "c"}} {
		if m.on {
			mark += m.name
		}
	}
	return "{" + mark + ":" + s + "}"
}

func TestMarkdown(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"paragraphs", "one\ntwo\n\nthree", "one two\n\nthree\n"},
		{"hard break", "one  \ntwo", "one\ntwo\n"},
		{"styles", "**b** *i* ~~s~~ `c` ***bi***", "{b:b} {i:i} {s:s} {c:c} {bi:bi}\n"},
		{"heading", "# Title\ntext", "{b:Title}\n\ntext\n"},
		{"escapes", `\*no\* &amp; &lt;b&gt; \&amp;`, "*no* & <b> &amp;\n"},
		{"literal control", "<!channel> <@U1> <#C1> @here :tada:", "<!channel> <@U1> <#C1> @here :tada:\n"},
		{"raw html", "a <b>x</b>\n\n<script>alert(1)</script>", "a <b>x</b>\n\n<script>alert(1)</script>\n"},
		{"entity that hides", "a &#x202E;b &#x200B;c", "a \uFFFDb c\n"},
		{"code is not touched", "```go\n# x *y* <z> &amp; \\*\n  indent\n```", "code0: # x *y* <z> &amp; \\*\n  indent\n"},
		{"tilde fence", "~~~\n**a**\n~~~", "code0: **a**\n"},
		{"indented code", "text\n\n    **a**", "text\ncode0: **a**\n"},
		{"code span", "`**a** &lt;`", "{c:**a** &lt;}\n"},
		{"unclosed fence", "```\nabc", "code0: abc\n"},
		{"list", "- a\n- **b**\n", "bullet indent 0 offset 0\n- a\n- {b:b}\n"},
		{"ordered from 3", "3. a\n4. b", "ordered indent 0 offset 2\n- a\n- b\n"},
		{"nested", "1. a\n   - x\n2. b", "ordered indent 0 offset 0\n- a\nbullet indent 1 offset 0\n- x\nordered indent 0 offset 1\n- b\n"},
		{"code in an item", "1. a\n\n   ```\n   c\n   ```\n2. b", "ordered indent 0 offset 0\n- a\ncode0: c\nordered indent 0 offset 1\n- b\n"},
		{"quote", "> a\n> b\n\nc", "quote: a b\nc\n"},
		{"code in a quote", "> a\n>\n> ```\n> c\n> ```", "quote: a\ncode1: c\n"},
		{"link", "[the log](https://ci.example.com/l)", "<https://ci.example.com/l|the log> (ci.example.com)\n"},
		{"link that lies", "[https://bank.com](https://evil.example)", "<https://evil.example|https://bank.com> (evil.example)\n"},
		{"link with a prefix of the host", "[https://evil.example.com](https://evil.example)", "<https://evil.example|https://evil.example.com> (evil.example)\n"},
		{"honest link", "<https://a.example/x>", "<https://a.example/x|https://a.example/x>\n"},
		{"bare link", "see https://a.example/x.", "see <https://a.example/x|https://a.example/x>.\n"},
		{"pipe in a link", "[a|b](https://a.example/x|y)", "<https://a.example/x%7Cy|a|b> (a.example)\n"},
		{"script link", "[x](javascript:alert(1))", "x (link left out)\n"},
		{"image", "![graph](https://ci.example.com/g.png)", "<https://ci.example.com/g.png|graph> (picture at ci.example.com)\n"},
		{"table", "| a | bb |\n|---|---|\n| ccc | d |", "code0: a    bb\n-------\nccc  d\n"},
		{"rule", "a\n\n---\n\nb", "a\n\n———\n\nb\n"},
		{"nothing to see", "\u200B\n\n&#8203;", ""},
		{"empty fence", "```\n```\na", "a\n"},
		{"empty items", "1.\n2. b\n3.", "ordered indent 0 offset 1\n- b\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			els, cut := richMarkdown(tt.in, 10000)
			if diff := cmp.Diff(tt.want, draw(els)); diff != "" || cut {
				t.Errorf("cut %v (-want +got):\n%s", cut, diff)
			}
		})
	}
}

func TestMarkdownIsCut(t *testing.T) {
	for _, in := range []string{
		strings.Repeat("word ", 5000),
		strings.Repeat("*a* `b` ", 5000),
		strings.Repeat("- item\n", 5000),
		strings.Repeat("> ", 5000) + "deep",
		strings.Repeat("- ", 3000) + "deep",
		strings.Repeat("[", 20000),
		strings.Repeat("[a](https://example.com/x) ", 2000),
		strings.Repeat("|a", 3000) + "\n" + strings.Repeat("|-", 3000) + "\n" + strings.Repeat("|\n", 3000),
		"```\n" + strings.Repeat("code\n", 5000),
	} {
		els, cut := richMarkdown(in, 1000)
		// A link's target is shown nowhere and counts all the same.
		if n := spoken(els); n > 1000+maxElements*30 || !cut && !strings.Contains(draw(els), "deep") {
			t.Errorf("%.20q: %d characters, cut %v", in, n, cut)
		}
		if b := richBlock("b", els); b != nil {
			checkMessage(t, []slackgo.Block{b}, "text")
		}
	}
}

// No Markdown makes anything but text and links to where one may link.
func FuzzMarkdown(f *testing.F) {
	f.Add("# a\n\n- **b** [c](https://d.example)\n\n```\ne\n```\n> f\n\n|g|\n|-|\n|h|", 100)
	f.Add("<!channel> \\* &#x202E; ![x](javascript:y)", 3000)
	f.Fuzz(func(t *testing.T, src string, room int) {
		if room < 0 || room > maxBody || len(src) > 20000 {
			return
		}
		els, _ := richMarkdown(src, room)
		if len(els) == 0 {
			return
		}
		raw, err := json.Marshal(slackgo.NewRichTextBlock("b", els...))
		if err != nil {
			t.Fatal(err)
		}
		var tree any
		if err := json.Unmarshal(raw, &tree); err != nil {
			t.Fatal(err)
		}
		checkInert(t, tree)
		checkMessage(t, []slackgo.Block{slackgo.NewRichTextBlock("b", els...)}, "text")
	})
}

// checkInert fails on whatever could mention, call out or load.
func checkInert(t testing.TB, v any) {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			checkInert(t, e)
		}
	case map[string]any:
		switch v["type"] {
		case "user", "usergroup", "channel", "broadcast", "team", "emoji", "image", "markdown":
			t.Errorf("agent text became %v", v)
		case "link":
			if u, _ := v["url"].(string); !strings.HasPrefix(u, "http://") && !strings.HasPrefix(u, "https://") && !strings.HasPrefix(u, "mailto:") {
				t.Errorf("agent text became a link to %q", u)
			}
		}
		for _, e := range v {
			checkInert(t, e)
		}
	}
}
