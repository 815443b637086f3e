package inbound

import (
	"context"
	"fmt"
	"slices"
)

// maxLookups bounds what one mail makes us look up in each way.
const maxLookups = 50

// lookup is what a mail's addresses, ids and tags belong to.
type lookup struct {
	found []Match // surest way first, each way in the mail's order
	ours  bool    // something has the shape of ours and is not known
}

// find asks the finder for everything in the mail that may name a question of ours.
func (r *Reader) find(ctx context.Context, m *Mail, env Envelope, f Finder) (lookup, error) {
	var l lookup
	ask := func(list []string, find func(context.Context, string) (Match, error), via Via) error {
		for _, s := range list[:min(len(list), maxLookups)] {
			match, err := find(ctx, s)
			if err != nil {
				return fmt.Errorf("find what a mail belongs to: %w", err)
			}
			l.ours = l.ours || match.Ours
			if match.Found && match.Question != nil {
				if match.Via == "" {
					match.Via = via
				}
				l.found = append(l.found, match)
			}
		}
		return nil
	}
	addresses := slices.DeleteFunc(m.recipients(env), func(a string) bool { return !r.atOurDomain(a) || r.isPlain(a) })
	if err := ask(addresses, f.Address, ViaToken); err != nil {
		return l, err
	}
	if err := ask(m.ids(), f.MessageID, ViaMessageID); err != nil {
		return l, err
	}
	// A tag is no secret, so it names nothing in a mail to an address of ours
	// that says otherwise.
	if len(l.found) == 0 && !slices.ContainsFunc(addresses, r.isOurs) {
		if err := ask(tags(m.Subject()), f.Subject, ViaSubject); err != nil {
			return l, err
		}
	}
	slices.SortStableFunc(l.found, func(a, b Match) int { return viaRank(a.Via) - viaRank(b.Via) })
	return l, nil
}

// ids are those of the mails that this one is about: that it answers, or that a
// report returns.
func (m *Mail) ids() []string {
	out := m.header.answered()
	if m.report != "" || m.returned != nil {
		h, _ := readHeader(m.disposition)
		out = append(out, messageIDs(h.first("original-message-id"))...)
		out = append(out, messageIDs(m.returned.first("message-id"))...)
		out = append(out, m.returned.answered()...)
	}
	return unique(out)
}

// isPlain reports whether an address is one of ours with nothing added.
func (r *Reader) isPlain(addr string) bool {
	return slices.ContainsFunc(r.Addresses, func(a string) bool { return canonical(a) == canonical(addr) })
}

func viaRank(v Via) int { return slices.Index([]Via{ViaToken, ViaVERP, ViaMessageID, ViaSubject}, v) }

// best picks what the mail belongs to. When several people were asked the same, a
// reply to all names all of them: then it is the one whose From it has. Other says
// that the mail names another question as surely.
func (l lookup) best(from string) (best Match, other bool) {
	if len(l.found) == 0 {
		return Match{}, false
	}
	best = l.found[0]
	for _, m := range l.found {
		if m.Via == best.Via && !best.Question.has(from) && m.Question.has(from) {
			best = m
		}
	}
	for _, m := range l.found {
		if m.Question.ID != best.Question.ID && m.Question.has(from) == best.Question.has(from) && (m.Via == best.Via && best.Via == ViaToken || best.Via == ViaSubject && m.Via == ViaSubject) {
			other = true
		}
	}
	return best, other
}

// has reports whether an address is one of the person's.
func (q *Question) has(addr string) bool {
	addr = canonical(addr)
	return addr != "" && slices.ContainsFunc(q.Addresses, func(a string) bool { return canonical(a) == addr })
}
