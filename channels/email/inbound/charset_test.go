package inbound

import "testing"

func TestDecodeText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, label, want string }{
		{"UTF-8", "Grüße", "utf-8", "Grüße"},
		{"UTF-8 by its other name, in quotes", "Grüße", "\"UTF8\"", "Grüße"},
		{"Latin-1", "Gr\xfc\xdfe", "iso-8859-1", "Grüße"},
		{"Latin-1 as programs mean it", "\x93Ja\x94 \x80", "iso-8859-1", "“Ja” €"},
		{"Cyrillic", "\xc4\xe0", "windows-1251", "Да"},
		{"KOI8-R", "\xe4\xc1", "koi8-r", "Да"},
		{"Japanese, 7 bits with a state", "\x1b$B$O$$\x1b(B", "iso-2022-jp", "はい"},
		{"the same, labelled as ASCII", "\x1b$B$O$$\x1b(B ok", "us-ascii", "はい ok"},
		{"the same, not labelled", "\x1b$B$O$$\x1b(B", "", "はい"},
		{"Shift_JIS", "\x82\xcd\x82\xa2", "shift_jis", "はい"},
		{"GB 18030", "\xca\xc7", "gb18030", "是"},
		{"GB 2312", "\xca\xc7", "gb2312", "是"},
		{"HZ", "~{JG~}", "hz-gb-2312", "是"},
		{"Big5", "\xacO", "big5", "是"},
		{"EUC-KR", "\xb3\xd7", "euc-kr", "네"},
		{"a name that nobody knows, UTF-8 within", "Grüße", "x-unknown", "Grüße"},
		{"a name that nobody knows", "Gr\xfc\xdfe", "x-unknown-8bit", "Grüße"},
		{"no name, UTF-8 within", "Grüße", "", "Grüße"},
		{"no name", "Gr\xfc\xdfe", "", "Grüße"},
		{"UTF-8 that is called Latin-1", "Grüße", "iso-8859-1", "Grüße"},
		{"UTF-8 that is called ASCII", "Grüße", "us-ascii", "Grüße"},
		{"UTF-8 with a foreign footer", "Grüße\nGr\xfc\xdfe", "utf-8", "Grüße\nGrüße"},
		{"UTF-8 that is called Japanese", "はい", "iso-2022-jp", "はい"},
		{"a byte order mark", "\xef\xbb\xbfJa", "utf-8", "Ja"},
		{"UTF-16 with a mark", "\xff\xfeJ\x00a\x00", "utf-16", "Ja"},
		{"control characters", "a\x00b\x07c\x1b[0m\td\r\n", "utf-8", "abc[0m\td\r\n"},
		{"control characters of one byte's terminals", "a\u009b2J\u0085b", "utf-8", "a2J\nb"},
		{"nothing", "", "utf-8", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := decodeText([]byte(tt.in), tt.label); got != tt.want {
				t.Errorf("decodeText(%q, %q) = %q, want %q", tt.in, tt.label, got, tt.want)
			}
		})
	}
}
