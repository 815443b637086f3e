package templates

import (
	"testing"
	"unicode"
)

// An entity is a way to write what the cleaning of the source would take out.
func TestMarkdownEntities(t *testing.T) {
	t.Parallel()
	for _, src := range []string{"a &#x202E;b", "[x&#x2066;y](https://example.com)", "**&#8238;**", "&#xE0041;", "| &#x202D; |\n|---|\n| &#8237; |", "&#x200B;&#0;"} {
		out := string(Markdown(src))
		for _, r := range out {
			if isBidiControl(r) || isInvisible(r) || (unicode.IsControl(r) && r != '\n') {
				t.Errorf("Markdown(%q) holds %U: %q", src, r, out)
			}
		}
	}
}
