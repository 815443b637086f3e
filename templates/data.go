package templates

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of a data Part on a page. What is beyond is left out, and that is
// said.
const (
	maxDepth   = 6
	maxEntries = 300
	maxLeaf    = 4000 // runes
)

// Tree turns JSON into what people read: names, values, numbered lists. The
// order is the agent's.
func Tree(v jsontext.Value) *Node {
	n, _ := readTree(v)
	return n
}

// readTree reports too whether anything was left out or cut.
func readTree(v jsontext.Value) (*Node, bool) {
	r := treeReader{
		dec:  jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
		left: maxEntries,
	}
	n, err := r.node(0)
	if err != nil {
		s, cut := Cut(Text(string(v)), maxLeaf)
		return &Node{Leaf: true, Value: s}, cut
	}
	return &n, r.cut
}

// treeReader reads one document.
type treeReader struct {
	dec  *jsontext.Decoder
	left int // entries that may still be shown
	cut  bool
}

// short cuts s and remembers that it did.
func (r *treeReader) short(s string, n int) string {
	s, cut := Cut(s, n)
	r.cut = r.cut || cut
	return s
}

func (r *treeReader) node(depth int) (Node, error) {
	kind := r.dec.PeekKind()
	if kind != '{' && kind != '[' {
		tok, err := r.dec.ReadToken()
		if err != nil {
			return Node{}, err
		}
		return Node{Leaf: true, Value: r.value(tok)}, nil
	}
	if depth == maxDepth {
		v, err := r.dec.ReadValue()
		if err != nil {
			return Node{}, err
		}
		return Node{Leaf: true, Value: r.short(Line(string(v)), 200)}, nil
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return Node{}, err
	}
	n := Node{List: kind == '['}
	for i := 1; r.dec.PeekKind() != '}' && r.dec.PeekKind() != ']'; i++ {
		if err := r.entry(&n, i, depth); err != nil {
			return Node{}, err
		}
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return Node{}, err
	}
	if len(n.Kids) == 0 && n.More == 0 {
		return Node{Leaf: true, Value: "(empty)"}, nil
	}
	return n, nil
}

// entry reads member or element number i of n.
func (r *treeReader) entry(n *Node, i, depth int) error {
	name := strconv.Itoa(i)
	if !n.List {
		tok, err := r.dec.ReadToken()
		if err != nil {
			return err
		}
		if name = r.short(Line(tok.String()), maxChoice); name == "" {
			name = "(no name)"
		}
	}
	if r.left <= 0 {
		n.More++
		r.cut = true
		return r.dec.SkipValue()
	}
	r.left--
	kid, err := r.node(depth + 1)
	if err != nil {
		return err
	}
	kid.Name = name
	n.Kids = append(n.Kids, kid)
	return nil
}

func (r *treeReader) value(tok jsontext.Token) string {
	switch tok.Kind() {
	case 'n':
		return "none"
	case 't':
		return "yes"
	case 'f':
		return "no"
	}
	if s := r.short(Text(tok.String()), maxLeaf); s != "" {
		return s
	}
	return "(empty)"
}
