package extract

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// answers are what people write, one of them in each generated reply.
var answers = []string{
	"Approve", "2", "1.", "3)", "Yes", "👍", "Ja, bitte ausrollen.", "Oui", "はい、お願いします。", "Да, согласен", "כן, מאשרת", "نعم", "好的", "Reject.\nThe tests are red.", "Hold\n\nWe wait for Bob.\nHe is back on 3 December.",
	"Hi,\n\nApprove, please.\n\nThanks,\nAlice", "Please call +49 30 1234567 first", "4711 0815\n4711 0816", "- first\n- second", "1. yes\n2. no\n3. later", "Not sure: what does Bob say?", "OK\nOK\nOK", "Approve\nas said on 30 Nov", "It is https://example.test/x?y=1",
	"Só amanhã.", "Nej tack", "Γιατί όχι;", "Wait until the migration of the customer table has finished and then deploy it to the first region only, please.",
}

// rounds scales what is generated.
func rounds(small int) int {
	if n, err := strconv.Atoi(os.Getenv("BECKON_ROUNDS")); err == nil && n > 0 {
		return small * n
	}
	return small
}

// Any answer, below any banner, with any signature, above or below any quote,
// with any line ends, is read as it was written.
func TestCombined(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(list []string) string { return list[random.IntN(len(list))] }
	var heads, signatures []string
	for _, in := range introductions {
		heads = append(heads, in.line)
	}
	for _, in := range headerBlocks {
		heads = append(heads, in.lines)
	}
	for _, s := range signedTexts {
		if _, signature, ok := strings.Cut(s.body, "^^^\n"); ok {
			signatures = append(signatures, signature)
		}
	}
	for _, s := range mobileSignatures {
		signatures = append(signatures, s)
	}
	banners := []string{"", "", "", "[EXTERNAL]\n\n", "CAUTION: This email originated from outside of the organization.\n\n"}
	wrong := 0
	for range rounds(4000) {
		answer, head, signature := pick(answers), pick(heads), pick(signatures)
		if random.IntN(3) == 0 {
			signature = ""
		}
		gap := strings.Repeat("\n", 1+random.IntN(3))
		text := answer
		if signature != "" {
			text += "\n" + gap + signature
		}
		body, sent := "", ""
		switch random.IntN(6) {
		case 0: // alone
			body = text
		case 1: // above a marked quote
			body = text + "\n" + gap + head + gap + marked(ask)
		case 2: // above a quote without marks
			body = text + "\n" + gap + head + gap + "\n" + ask
		case 3: // below a marked quote
			body = head + "\n" + marked(ask) + "\n\n" + text
		case 4: // above, all of the quote marked
			body = text + "\n\n" + marked(head+gap+ask)
		case 5: // below a quote without marks, which we know
			body, sent = head+"\n\n"+ask+"\n\n"+text, ask
		}
		body = pick(banners) + body
		if random.IntN(4) == 0 {
			body = strings.ReplaceAll(body, "\n", "\r\n")
		}
		if random.IntN(4) == 0 {
			sent = ask
		}
		if r := Text(body, sent); r.Own != answer {
			if wrong++; wrong <= 20 {
				t.Errorf("%q\nreads as %q, want %q; cut %q", body, r.Own, answer, r.Cut)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d are wrong", wrong)
	}
}
