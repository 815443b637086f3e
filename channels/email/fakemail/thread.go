package fakemail

import "slices"

// threads groups mails as mail programs do: what names a mail in References or
// In-Reply-To belongs to it, also when that mail is not here. What was sent for a
// mail belongs to it in any case. The mails of a thread stand in their order, and
// threads in that of their first mails.
func threads(mails []*Mail) [][]*Mail {
	var out [][]*Mail
	of := map[string]int{} // thread by message id
	for _, m := range mails {
		at := -1
		ids := slices.Clone(m.References)
		for _, id := range []string{m.about, m.MessageID} {
			if id != "" {
				ids = append(ids, id)
			}
		}
		for _, id := range ids {
			t, ok := of[id]
			switch {
			case !ok || t == at:
			case at < 0:
				at = t
			default: // m joins two threads
				at, t = min(at, t), max(at, t)
				out[at] = merged(out[at], out[t])
				out[t] = nil
				for k, v := range of {
					if v == t {
						of[k] = at
					}
				}
			}
		}
		if at < 0 {
			out = append(out, nil)
			at = len(out) - 1
		}
		out[at] = append(out[at], m)
		for _, id := range ids {
			of[id] = at
		}
	}
	return slices.DeleteFunc(out, func(t []*Mail) bool { return t == nil })
}

func merged(a, b []*Mail) []*Mail {
	all := slices.Concat(a, b)
	slices.SortStableFunc(all, func(x, y *Mail) int { return x.At.Compare(y.At) })
	return all
}
