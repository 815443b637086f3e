package inbound

import (
	"bytes"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	utf16 "golang.org/x/text/encoding/unicode"
)

// decodeText makes UTF-8 of text in the charset that its label names. The label
// is believed, unless the text shows that it is wrong: then UTF-8 if it is valid,
// else windows-1252, in which every byte is a character. What no screen shows
// (NUL and other control characters) is dropped.
func decodeText(b []byte, label string) string {
	return printable(toUTF8(b, strings.ToLower(strings.Trim(label, " \"'="))))
}

func toUTF8(b []byte, label string) string {
	switch {
	case bytes.HasPrefix(b, []byte("\xef\xbb\xbf")):
		return lenientUTF8(b[3:])
	case bytes.HasPrefix(b, []byte("\xff\xfe")), bytes.HasPrefix(b, []byte("\xfe\xff")):
		if s, err := utf16.UTF16(utf16.BigEndian, utf16.ExpectBOM).NewDecoder().Bytes(b); err == nil {
			return string(s)
		}
	}
	if western(label) {
		if utf8.Valid(b) && !shifted(b) {
			return string(b) // nothing written in Latin-1 looks like UTF-8
		}
		if shifted(b) {
			label = "iso-2022-jp"
		}
	}
	e := encodingOf(label)
	if e == nil {
		return lenientUTF8(b)
	}
	s, err := e.NewDecoder().Bytes(b)
	if err != nil || bytes.ContainsRune(s, utf8.RuneError) && utf8.Valid(b) {
		return lenientUTF8(b)
	}
	return string(s)
}

// western reports whether a label is one that programs put on anything.
func western(label string) bool {
	switch label {
	case "", "us-ascii", "ascii", "iso-8859-1", "iso8859-1", "latin1", "windows-1252", "cp1252", "iso-8859-15":
		return true
	}
	return false
}

// shifted reports whether text without 8-bit bytes has the escapes of
// iso-2022-jp.
func shifted(b []byte) bool {
	return bytes.Contains(b, []byte("\x1b$")) && bytes.Contains(b, []byte("\x1b("))
}

// encodingOf returns what a label stands for, nil for UTF-8 and for names that
// nobody knows.
func encodingOf(label string) encoding.Encoding {
	switch label {
	case "hz-gb-2312":
		return simplifiedchinese.HZGB2312 // the web's table has it as harmful
	case "iso-2022-jp-2", "iso-2022-jp-3", "iso-2022-jp-ms", "cp50220", "cp50221":
		return japanese.ISO2022JP
	case "cp932", "windows-31j":
		return japanese.ShiftJIS
	case "cp936":
		return simplifiedchinese.GBK
	case "cp850", "ibm850":
		return charmap.CodePage850
	case "cp437", "ibm437":
		return charmap.CodePage437
	case "us-ascii", "ascii", "":
		return nil
	}
	e, err := htmlindex.Get(label)
	if err != nil || e == encoding.Replacement {
		return nil
	}
	if name, _ := htmlindex.Name(e); name == "utf-8" {
		return nil
	}
	return e
}

// lenientUTF8 reads UTF-8, and what is none as windows-1252.
func lenientUTF8(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var out strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			r = charmap.Windows1252.DecodeByte(b[0])
		}
		out.WriteRune(r)
		b = b[n:]
	}
	return out.String()
}

// printable drops control characters, but for tab and line breaks.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return r
		case r == '\u0085':
			return '\n' // NEL
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}

// charsetReader is decodeText for the decoder of encoded words.
func charsetReader(label string, r io.Reader) (io.Reader, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return strings.NewReader(decodeText(b, label)), nil
}
