package extract

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// hostile are bodies that make readers slow which look back.
var hostile = []struct {
	name string
	make func(n int) string // about n bytes
}{
	{"one line", func(n int) string { return strings.Repeat("a", n) }},
	{"one line of words", func(n int) string { return strings.Repeat("on 3 May 2026 at 10:00 a@b.cc wrote ", n/36) }},
	{"quote marks", func(n int) string { return strings.Repeat("> ", n/2) }},
	{"quote marks without space", func(n int) string { return strings.Repeat(">", n) }},
	{"lines of quote marks", func(n int) string { return strings.Repeat(strings.Repeat(">", 99)+"\n", n/100) }},
	{"introductions", func(n int) string {
		return strings.Repeat("On Mon, Nov 30, 2026 at 1:00 PM Hub <hub@hub.example.test> wrote:\n", n/67)
	}},
	{"introductions with quotes", func(n int) string {
		return strings.Repeat("On Mon, Nov 30, 2026 at 1:00 PM Hub <hub@hub.example.test> wrote:\n> x\n", n/71) + "\nApprove\n> x\n"
	}},
	{"beginnings of introductions", func(n int) string { return strings.Repeat("On Mon, Nov 30, 2026 at 1:00 PM Hub <\n", n/38) }},
	{"signatures and introductions", func(n int) string {
		return strings.Repeat("-- \nAlice\nOn 30/11/2026 13:00, Hub wrote:\n", n/45)
	}},
	{"signatures and quotes", func(n int) string { return strings.Repeat("> x\n-- \nAlice\n", n/14) }},
	{"header fields", func(n int) string { return strings.Repeat("From: a@b.cc\n", n/13) }},
	{"header fields and text", func(n int) string { return strings.Repeat("From: a@b.cc\nx\n", n/15) }},
	{"colons", func(n int) string { return "from:" + strings.Repeat(":a", n/2) }},
	{"separators", func(n int) string { return strings.Repeat("-----Original Message-----\n", n/27) }},
	{"dashes", func(n int) string { return strings.Repeat("--\n", n/3) }},
	{"rules", func(n int) string { return strings.Repeat("----\nx\n", n/7) }},
	{"angle brackets", func(n int) string { return strings.Repeat("<", n) }},
	{"angle brackets, lines", func(n int) string { return strings.Repeat("<a@b.cc\n", n/8) }},
	{"square brackets", func(n int) string { return strings.Repeat("[http://", n/8) }},
	{"at signs", func(n int) string { return strings.Repeat("a@", n/2) }},
	{"digits", func(n int) string { return strings.Repeat("1.1.", n/4) }},
	{"sign-offs", func(n int) string { return "x\n" + strings.Repeat("Best regards,\nAlice\n\n", n/21) }},
	{"mobile signatures", func(n int) string { return strings.Repeat("Sent from my iPhone\n\n", n/21) }},
	{"almost mobile signatures", func(n int) string { return strings.Repeat("Sent from the phone of Bob, as it is\n", n/37) }},
	{"banners", func(n int) string { return strings.Repeat("[EXTERNAL]\n\n", n/12) }},
	{"disclaimers", func(n int) string { return "x\n\n" + strings.Repeat("confidential, for the recipient ", n/32) }},
	{"postscripts", func(n int) string { return strings.Repeat("x\n\nPS: x\n\n", n/10) }},
	{"initials", func(n int) string { return strings.Repeat("AW> x\nB> y\n", n/11) }},
	{"fences", func(n int) string { return strings.Repeat("```\n", n/4) }},
	{"blank lines", func(n int) string { return strings.Repeat("\n", n) }},
	{"invisible", func(n int) string { return strings.Repeat("\u200b", n/3) }},
	{"expanding", func(n int) string { return strings.Repeat("\ufdfa", n/3) }},
	{"carriage returns", func(n int) string { return strings.Repeat("\r", n) }},
	{"NUL", func(n int) string { return strings.Repeat("\x00", n) }},
	{"not UTF-8", func(n int) string { return strings.Repeat("\xff", n) }},
	{"PGP", func(n int) string { return strings.Repeat(pgpSigned+"\nHash: x\n\nx\n", n/48) }},
	{"citations and text", func(n int) string { return strings.Repeat("> a\nb\n", n/6) }},
	{"torn quotes", func(n int) string {
		return strings.Repeat("> "+strings.Repeat("word ", 15)+"\nand\n", n/82)
	}},
	{"long mail", longMail},
}

var hostileHTML = []struct {
	name string
	make func(n int) string
}{
	{"open elements", func(n int) string { return strings.Repeat("<div>", n/5) + "Approve" }},
	{"blockquotes", func(n int) string { return strings.Repeat("<blockquote>", n/12) + "x" }},
	{"blockquotes with text", func(n int) string { return "Approve" + strings.Repeat("<blockquote>x", n/13) }},
	{"closed blockquotes", func(n int) string {
		return "a" + strings.Repeat("<blockquote>", n/25) + strings.Repeat("</blockquote>", n/25)
	}},
	{"inline elements", func(n int) string { return strings.Repeat("<b><i>", n/6) + "x" }},
	{"wrong ends", func(n int) string {
		return "<div><td>" + strings.Repeat("<span>", n/12) + strings.Repeat("</div>", n/12)
	}},
	{"ends only", func(n int) string { return strings.Repeat("</div>", n/6) }},
	{"paragraphs in spans", func(n int) string { return strings.Repeat("<p><span>", n/9) }},
	{"lists", func(n int) string { return strings.Repeat("<ol><li>", n/8) }},
	{"list points", func(n int) string { return "<ol>" + strings.Repeat("<span><li>", n/10) }},
	{"tables", func(n int) string { return strings.Repeat("<table><tr><td>x", n/16) }},
	{"unclosed tag", func(n int) string { return "Approve<div " + strings.Repeat("a=b ", n/4) }},
	{"attributes", func(n int) string { return "<div " + strings.Repeat("class=gmail_quote ", n/18) + ">" }},
	{"long attribute", func(n int) string { return `<div style="` + strings.Repeat("border-top:", n/11) + `">` }},
	{"entities", func(n int) string { return strings.Repeat("&lt;&gt;&amp", n/12) }},
	{"comments", func(n int) string { return strings.Repeat("<!--", n/4) }},
	{"breaks", func(n int) string { return strings.Repeat("<br>", n/4) }},
	{"marks", func(n int) string { return strings.Repeat(`<div class="gmail_quote">x</div>`, n/32) }},
	{"style", func(n int) string { return "<style>" + strings.Repeat("x", n) }},
	{"pre", func(n int) string { return "<pre>" + strings.Repeat("x\n", n/2) }},
	{"deep marks", func(n int) string {
		return strings.Repeat(`<div class="gmail_quote"><div class=gmail_attr>On 1.1.2026 10:00 a@b.cc wrote:</div><blockquote>`, n/105)
	}},
}

// longMail is an answer above a thread of n bytes.
func longMail(n int) string {
	var b strings.Builder
	b.WriteString("Approve\n\nBest regards,\nAlice\n\n")
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%sOn Mon, Nov %d, 2026 at 1:00 PM Hub %d <hub@hub.example.test> wrote:\n", strings.Repeat(">", i%9), 1+i%30, i)
		for range 40 {
			fmt.Fprintf(&b, "%s The quick brown fox %d jumps over the lazy dog.\n", strings.Repeat(">", 1+i%9), i)
		}
	}
	return b.String()
}

// sizes returns how many bytes hostile bodies have: a small number, for it runs
// with the race detector too, or the one of the issue.
func sizes() int {
	if n, err := strconv.Atoi(os.Getenv("BECKON_ROUNDS")); err == nil && n > 1 {
		return 767 << 10
	}
	return 16 << 10
}

// Whatever the body, it is read in a time that grows with its length only: twice
// the length takes about twice the time. How long that is isn't asserted, but
// that it ends is.
func TestHostile(t *testing.T) {
	t.Parallel()
	n := sizes()
	ours := strings.Repeat("The quick brown fox jumps over the lazy dog.\n", 200)
	for _, h := range hostile {
		body := h.make(n)
		start := time.Now()
		r := Text(body, ours)
		took := time.Since(start)
		if r.Truncated != (len(body) > MaxBytes) {
			t.Errorf("%s: truncated is %v of %d bytes", h.name, r.Truncated, len(body))
		}
		if took > 300*time.Millisecond {
			t.Logf("%s: %v", h.name, took)
		}
		HTML(body, ours)
		Flowed(body, true)
	}
	for _, h := range hostileHTML {
		body := h.make(n)
		start := time.Now()
		HTML(body, ours)
		if took := time.Since(start); took > 300*time.Millisecond {
			t.Logf("%s: %v", h.name, took)
		}
		Text(body, ours)
	}
	HTML(strings.Repeat("<blockquote>x", 80_000) + "Approve")
	HTML(strings.Repeat("<blockquote>", 100_000))
	if r := Text(longMail(767<<10), ours); r.Text != "Approve" || !r.Truncated {
		t.Errorf("a long mail reads as %q, truncated %v", r.Text, r.Truncated)
	}
}

// The generated mail of 767 KB, and the worst of the bodies above.
func BenchmarkLongMail(b *testing.B) {
	body := longMail(767 << 10)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if r := Text(body); r.First != "Approve" {
			b.Fatal(r.First)
		}
	}
}

func BenchmarkHostile(b *testing.B) {
	for _, h := range hostile {
		body := h.make(767 << 10)
		b.Run(h.name, func(b *testing.B) {
			for b.Loop() {
				Text(body)
			}
		})
	}
	for _, h := range hostileHTML {
		body := h.make(767 << 10)
		b.Run("HTML "+h.name, func(b *testing.B) {
			for b.Loop() {
				HTML(body)
			}
		})
	}
}
