package inbound

// maxNested bounds how deep signed mails are read within each other.
const maxNested = 3

// smime reads an application/pkcs7-mime part (RFC 8551 §3.5). What is signed holds
// a mail of its own, whose signature nobody checks: it proves nothing here. What is
// encrypted can't be read.
func (m *Mail) smime(content []byte) []body {
	inner, ok := signedContent(content)
	if !ok || m.nested >= maxNested {
		m.encrypted = "S/MIME"
		return nil
	}
	in := &Mail{raw: inner, nested: m.nested + 1}
	in.header, in.body = readHeader(inner)
	in.takeApart()
	m.attachments = append(m.attachments, in.attachments...)
	m.encrypted, m.tnef = in.encrypted, m.tnef || in.tnef
	return in.bodies
}

// signedContent returns what was signed in a CMS SignedData (RFC 5652 §5.1):
//
//	ContentInfo: SEQUENCE { OID signedData, [0] { SEQUENCE { version, SET of
//	algorithms, SEQUENCE { OID data, [0] { OCTET STRING … }}, … }}}
func signedContent(der []byte) ([]byte, bool) {
	const sequence, set, oid, integer, explicit = 0x30, 0x31, 0x06, 0x02, 0xa0
	r := ber{der, true}
	info := r.in(sequence)
	if id := info.next(oid); string(id) != "\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02" {
		return nil, false
	}
	wrapped := info.in(explicit)
	signed := wrapped.in(sequence)
	signed.next(integer)
	signed.next(set)
	encap := signed.in(sequence)
	encap.next(oid)
	content := encap.in(explicit)
	out := content.octets(0)
	return out, content.ok && len(out) > 0
}

// ber reads BER (X.690 §8.1), of which mail programs use more than DER allows.
type ber struct {
	rest []byte
	ok   bool
}

// next returns the content of the next element, which must have that tag.
func (b *ber) next(tag byte) []byte {
	t, content, rest, ok := element(b.rest, 0)
	if !b.ok || !ok || t != tag {
		b.ok = false
		return nil
	}
	b.rest = rest
	return content
}

// in returns a reader of the next element's content.
func (b *ber) in(tag byte) ber {
	content := b.next(tag)
	return ber{content, b.ok}
}

// maxBER bounds how deep elements are read within each other.
const maxBER = 16

// octets returns the OCTET STRING that comes next, which may be in pieces.
func (b *ber) octets(depth int) []byte {
	const primitive, constructed = 0x04, 0x24
	tag, content, rest, ok := element(b.rest, 0)
	if !b.ok || !ok || depth > maxBER || tag != primitive && tag != constructed {
		b.ok = false
		return nil
	}
	b.rest = rest
	if tag == primitive {
		return content
	}
	pieces := ber{content, true}
	var out []byte
	for len(pieces.rest) > 0 && pieces.ok {
		out = append(out, pieces.octets(depth+1)...)
	}
	b.ok = pieces.ok
	return out
}

// element splits off the first element.
func element(b []byte, depth int) (tag byte, content, rest []byte, ok bool) {
	if len(b) < 2 || b[0]&0x1f == 0x1f || depth > maxBER {
		return 0, nil, nil, false
	}
	tag = b[0]
	n, size := int(b[1]), 2
	switch {
	case n == 0x80:
		content, rest, ok = untilEnd(b[2:], depth)
		return tag, content, rest, ok
	case n > 0x84:
		return 0, nil, nil, false
	case n > 0x80:
		bytes := n - 0x80
		if len(b) < 2+bytes {
			return 0, nil, nil, false
		}
		n, size = 0, 2+bytes
		for _, c := range b[2:size] {
			n = n<<8 | int(c)
		}
	}
	if n < 0 || n > len(b)-size {
		return 0, nil, nil, false
	}
	return tag, b[size : size+n], b[size+n:], true
}

// untilEnd returns the content of an element of indefinite length.
func untilEnd(b []byte, depth int) (content, rest []byte, ok bool) {
	for at := b; len(at) >= 2; {
		if at[0] == 0 && at[1] == 0 {
			return b[:len(b)-len(at)], at[2:], true
		}
		_, _, next, ok := element(at, depth+1)
		if !ok {
			break
		}
		at = next
	}
	return nil, nil, false
}
