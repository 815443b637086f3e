package slack

import (
	"strconv"
	"strings"

	"beckon/hub"
	"beckon/hub/ma2h"
	"beckon/templates"

	slackgo "github.com/slack-go/slack"
)

// maxPartsShown is how many pieces of context a message shows.
const maxPartsShown = 10

// parts shows the context: text with its first lines, data as its facts, files
// as links that nobody has checked.
func (r *renderer) parts() slackgo.Block {
	if r.c.Hidden || len(r.c.Context) == 0 {
		return nil
	}
	w := &richWriter{left: r.b.room(maxParts)}
	for i, p := range r.c.Context {
		if i == maxPartsShown || w.cut {
			r.b.say("context")
			break
		}
		w.flush()
		switch {
		case p.File != nil:
			w.file(p.File)
		case p.Data != nil:
			w.facts(p)
		default:
			r.partText(w, p.Text)
		}
	}
	if w.cut {
		r.b.say("context")
	}
	els := w.finish()
	r.b.left -= spoken(els)
	return richBlock(r.id("context"), els)
}

// partText quotes text, and only the beginning of a long one.
func (r *renderer) partText(w *richWriter, s string) {
	s = strings.TrimSpace(templates.Text(s))
	shown := s
	if lines := strings.SplitN(s, "\n", maxPartLines+1); len(lines) > maxPartLines {
		shown = strings.Join(lines[:maxPartLines], "\n") + " …"
	}
	shown = cutTo(shown, maxPartText)
	w.quotes++
	w.text(shown, richStyle{})
	w.flush()
	w.quotes--
	if shown != s {
		r.b.say("context")
	}
}

func (w *richWriter) file(f *ma2h.File) {
	w.text("▸ ", richStyle{})
	name := cutTo(line(f.Name, "file"), maxLabelText)
	w.link(f.URI, name, "", richStyle{})
	if kind := line(f.MimeType, ""); kind != "" {
		w.text(", "+cutTo(kind, 60), richStyle{})
	}
}

// facts names what data says, nested values by their size.
func (w *richWriter) facts(p hub.CardPart) {
	const most = 12
	tree := templates.Tree(p.Data)
	n := len(tree.Kids) + tree.More
	if tree.Leaf {
		w.text("▸ "+cutTo(line(tree.Value, "(empty)"), maxDescription), richStyle{})
		return
	}
	word := " facts: "
	if n == 1 {
		word = " fact: "
	}
	w.text("▸ "+strconv.Itoa(n)+word, richStyle{})
	for i, k := range tree.Kids {
		if i == most {
			break
		}
		if i > 0 {
			w.text(", ", richStyle{})
		}
		w.text(cutTo(line(k.Name, "(no name)"), 80), richStyle{Bold: true})
		v := cutTo(line(k.Value, "(empty)"), 120)
		if !k.Leaf {
			v = strconv.Itoa(len(k.Kids)+k.More) + " entries"
		}
		w.text(": "+v, richStyle{})
	}
	if n > most {
		w.text(" and "+strconv.Itoa(n-most)+" more on the page", richStyle{})
	}
}
