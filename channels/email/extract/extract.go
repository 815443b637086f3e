package extract

import "strings"

// MaxBytes bounds the body that is read, in bytes. What follows is not looked
// at, and Result.Truncated says so.
const MaxBytes = 256 << 10

// HTMLID is the id of the element that holds all of a mail of ours. Mail
// programs keep it, some with a prefix, when they quote the mail, so that HTML
// knows the quote. It is one mark among many, since people delete it and write
// below it.
const HTMLID = "beckon-mail"

// Result is what was found in a body.
type Result struct {
	// Text is what the person wrote, whole and in order. A quote that they
	// answer piece by piece stays in it, marked with "> ".
	Text string
	// Own is Text without what it quotes: this is to be read for an answer.
	Own string
	// First is the first line of Own that is not blank.
	First string
	// Cut says in a few words each what was taken away and by which rule, in
	// the order of the body. It is for logs, and holds nothing of the text.
	Cut []string
	// Truncated says that the body was longer than MaxBytes.
	Truncated bool
}

// Empty reports whether the person wrote nothing.
func (r *Result) Empty() bool { return r.Own == "" }

// Text reads a plain text body. What we sent in this thread, as plain text,
// helps to tell our lines from theirs.
func Text(body string, sent ...string) Result {
	var r Result
	if len(body) > MaxBytes {
		body, r.Truncated = body[:MaxBytes], true
	}
	r.Text = strings.TrimSpace(body)
	r.Own = r.Text
	r.First, _, _ = strings.Cut(r.Own, "\n")
	return r
}

// HTML reads an HTML body.
func HTML(body string, sent ...string) Result { return Text(body, sent...) }

// Body reads a mail that has a plain text body, an HTML body, or both.
func Body(text, html string, sent ...string) Result {
	if strings.TrimSpace(text) != "" {
		if r := Text(text, sent...); !r.Empty() || html == "" {
			return r
		}
	}
	return HTML(html, sent...)
}

// Join makes one body of the inline text parts of a mail.
func Join(parts ...string) string { return strings.Join(parts, "\n") }

// Flowed turns a format=flowed body (RFC 3676) into one with a line a
// paragraph. delSp is the parameter DelSp=yes.
func Flowed(body string, delSp bool) string { return body }
