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
	left := maxEntries
	dec := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	n, err := readNode(dec, 0, &left)
	if err != nil {
		s, _ := Cut(Text(string(v)), maxLeaf)
		return &Node{Leaf: true, Value: s}
	}
	return &n
}

func readNode(dec *jsontext.Decoder, depth int, left *int) (Node, error) {
	kind := dec.PeekKind()
	if kind != '{' && kind != '[' {
		tok, err := dec.ReadToken()
		if err != nil {
			return Node{}, err
		}
		return leaf(tok), nil
	}
	if depth == maxDepth {
		v, err := dec.ReadValue()
		if err != nil {
			return Node{}, err
		}
		s, _ := Cut(Line(string(v)), 200)
		return Node{Leaf: true, Value: s}, nil
	}
	if _, err := dec.ReadToken(); err != nil {
		return Node{}, err
	}
	n := Node{List: kind == '['}
	for i := 1; dec.PeekKind() != '}' && dec.PeekKind() != ']'; i++ {
		name := strconv.Itoa(i)
		if kind == '{' {
			tok, err := dec.ReadToken()
			if err != nil {
				return Node{}, err
			}
			name = short(tok.String())
		}
		if *left <= 0 {
			n.More++
			if err := dec.SkipValue(); err != nil {
				return Node{}, err
			}
			continue
		}
		*left--
		kid, err := readNode(dec, depth+1, left)
		if err != nil {
			return Node{}, err
		}
		kid.Name = name
		n.Kids = append(n.Kids, kid)
	}
	if _, err := dec.ReadToken(); err != nil {
		return Node{}, err
	}
	if len(n.Kids) == 0 && n.More == 0 {
		return Node{Leaf: true, Value: "(empty)"}, nil
	}
	return n, nil
}

func leaf(tok jsontext.Token) Node {
	s := tok.String()
	switch tok.Kind() {
	case 'n':
		s = "none"
	case 't':
		s = "yes"
	case 'f':
		s = "no"
	default:
		s, _ = Cut(Text(s), maxLeaf)
	}
	return Node{Leaf: true, Value: s}
}
