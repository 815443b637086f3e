package extract

import "testing"

// A line of ours is known whatever its link leads to now: a personal link is
// another one each time that it is written.
func TestOursWithAnotherLink(t *testing.T) {
	t.Parallel()
	const (
		head = "\n\n________________________________\nFrom: Beckon <hub@example.com>\nSent: Tuesday, December 1, 2026 7:20 PM\nTo: Alice <alice@example.com>\nSubject: Which name?\n\n"
		ours = "Which name?\n\nTo answer, reply to this mail.\n\nOr open the page: https://beckon.example.com/l/"
	)
	for name, tt := range map[string]struct{ body, want string }{
		"as it was":      {head + ours + "abc\n", ""},
		"another":        {head + ours + "xyz-123\n", ""},
		"in brackets":    {head + "Which name?\n\nTo answer, reply to this mail.\n\nOr open the page: <https://beckon.example.com/l/xyz>\n", ""},
		"a real answer":  {"Falcon" + head + ours + "xyz\n", "Falcon"},
		"a link answers": {"https://example.com/falcon" + head + ours + "xyz\n", "https://example.com/falcon"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Text(tt.body, ours+"abc\n"); got.Text != tt.want {
				t.Errorf("%q, want %q", got.Text, tt.want)
			}
		})
	}
}
