package mailbox

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// cursor is how far a folder has been read. Its text is what [Mail.Cursor]
// holds; it is stored by the hub and has no meaning there.
type cursor struct {
	validity uint32 // the UIDVALIDITY that the UIDs belong to
	epoch    uint32 // how often UIDs were used again under the same UIDVALIDITY
	base     uint32 // every mail up to this UID is done
	done     uids   // mails above base that are done
	unfiled  uids   // mails that are done and may not have been flagged and moved yet
	// Mails below until that arrived before since are nothing new: they stood in
	// the folder when its UIDs became void, or when it was first read.
	until uint32
	since int64 // days since 1970, in UTC
}

// top is the highest UID that is done.
func (c cursor) top() uint32 {
	if len(c.done) > 0 {
		return max(c.base, c.done[len(c.done)-1])
	}
	return c.base
}

func (c cursor) isDone(uid uint32) bool { return uid <= c.base || c.done.has(uid) }

// with returns the cursor that stands when a mail is done. lowest is the lowest
// UID that is still to do, 0 for none.
func (c cursor) with(uid, lowest uint32) cursor {
	c.unfiled = c.unfiled.with(uid)
	if len(c.unfiled) > window {
		c.unfiled = c.unfiled[len(c.unfiled)-window:]
	}
	if c.isDone(uid) {
		return c // handled once more, to be moved; that says nothing about the others
	}
	c.done = c.done.with(uid)
	base := c.base
	if top := c.top(); top > window {
		base = max(base, top-window)
	}
	if lowest > 0 {
		base = min(base, lowest-1)
	}
	if base > c.base {
		c.base = base
		c.done = slices.DeleteFunc(slices.Clone(c.done), func(u uint32) bool { return u <= base })
	}
	return c
}

// caughtUp returns the cursor that stands when nothing below until is left to do.
func (c cursor) caughtUp() cursor {
	if c.until > 0 {
		c.base = max(c.base, c.until-1)
		base := c.base
		c.done = slices.DeleteFunc(slices.Clone(c.done), func(u uint32) bool { return u <= base })
		c.until, c.since = 0, 0
	}
	return c
}

// anew returns the cursor of a folder whose next UID is next, read back to a
// time, or from now on if the time is zero.
func anew(validity, epoch, next uint32, since time.Time) cursor {
	c := cursor{validity: validity, epoch: epoch}
	if since.IsZero() {
		c.base = next - 1
		return c
	}
	c.until, c.since = next, since.Unix()/86400
	return c
}

// day returns since as a time.
func (c cursor) day() time.Time { return time.Unix(c.since*86400, 0).UTC() }

// key names a mail.
func (c cursor) key(folder string, uid uint32) string {
	validity := strconv.FormatUint(uint64(c.validity), 10)
	if c.epoch > 0 {
		validity += "." + strconv.FormatUint(uint64(c.epoch), 10)
	}
	return folder + "/" + validity + "/" + strconv.FormatUint(uint64(uid), 10)
}

// String writes the cursor: a version, and its fields in their order.
func (c cursor) String() string {
	return fmt.Sprintf("1 %d %d %d %s %s %d %d", c.validity, c.epoch, c.base, c.done, c.unfiled, c.until, c.since)
}

// parseCursor reads what String wrote.
func parseCursor(s string) (cursor, error) {
	var c cursor
	var version, done, unfiled string
	n, err := fmt.Sscanf(s, "%s %d %d %d %s %s %d %d", &version, &c.validity, &c.epoch, &c.base, &done, &unfiled, &c.until, &c.since)
	if err != nil || n != 8 || version != "1" {
		return cursor{}, fmt.Errorf("%q is not a cursor of a mailbox", s)
	}
	if c.done, err = parseUIDs(done); err == nil {
		c.unfiled, err = parseUIDs(unfiled)
	}
	if err != nil {
		return cursor{}, fmt.Errorf("%q is not a cursor of a mailbox: %w", s, err)
	}
	return c, nil
}

// uids is a small set of UIDs, sorted. Its methods leave it as it is.
type uids []uint32

func (s uids) has(uid uint32) bool {
	_, ok := slices.BinarySearch(s, uid)
	return ok
}

func (s uids) with(uid uint32) uids {
	i, ok := slices.BinarySearch(s, uid)
	if ok {
		return s
	}
	return slices.Insert(slices.Clone(s), i, uid)
}

func (s uids) without(uid uint32) uids {
	i, ok := slices.BinarySearch(s, uid)
	if !ok {
		return s
	}
	return slices.Delete(slices.Clone(s), i, i+1)
}

// String writes the set as IMAP does, "3,5-8", and "-" for the empty one.
func (s uids) String() string {
	if len(s) == 0 {
		return "-"
	}
	var out strings.Builder
	for i := 0; i < len(s); {
		j := i
		for j+1 < len(s) && s[j+1] == s[j]+1 {
			j++
		}
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprint(&out, s[i])
		if j > i {
			fmt.Fprintf(&out, "-%d", s[j])
		}
		i = j + 1
	}
	return out.String()
}

// mostUIDs is how many UIDs a cursor can hold. It holds about [window].
const mostUIDs = 100_000

func parseUIDs(s string) (uids, error) {
	if s == "-" {
		return nil, nil
	}
	var set uids
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(part, "-")
		a, err := strconv.ParseUint(first, 10, 32)
		b := a
		if err == nil && isRange {
			b, err = strconv.ParseUint(last, 10, 32)
		}
		if err != nil || a == 0 || b < a || b-a > mostUIDs || len(set) > mostUIDs || len(set) > 0 && uint32(a) <= set[len(set)-1] {
			return nil, fmt.Errorf("%q is not a set of UIDs", s)
		}
		for uid := a; uid <= b; uid++ {
			set = append(set, uint32(uid))
		}
	}
	return set, nil
}
