package mailbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
)

var (
	// errGone: the mail was moved or deleted by somebody else meanwhile.
	errGone = errors.New("the mail is not there any more")
	// errUnreadable: the server says that the mail is there and doesn't give it out.
	errUnreadable = errors.New("the server does not give the mail out")
)

// info is what the server says about a mail.
type info struct {
	seq   uint32 // its place in the folder now
	size  int64
	date  time.Time
	flags []string
}

// infos asks what mails are like. A mail that is missing in the answer is not
// missing in the folder: fetch finds out.
func (s *session) infos(ctx context.Context, wanted uids) (map[uint32]info, error) {
	var set imap.UIDSet
	for _, uid := range wanted {
		set.AddNum(imap.UID(uid))
	}
	var got []*imapclient.FetchMessageBuffer
	err := s.c.step(ctx, func() (err error) {
		got, err = s.c.client.Fetch(set, &imap.FetchOptions{UID: true, InternalDate: true, RFC822Size: true, Flags: true}).Collect()
		return err
	})
	if err != nil {
		return nil, err
	}
	all := make(map[uint32]info, len(got))
	for _, m := range got {
		about := info{seq: m.SeqNum, size: m.RFC822Size, date: m.InternalDate}
		for _, flag := range m.Flags {
			about.flags = append(about.flags, string(flag))
		}
		all[uint32(m.UID)] = about
	}
	return all, nil
}

// fetch returns a mail, or its beginning if it is too big. A server that sends
// the UID after the mail itself makes go-imap lose the mail without an error;
// so an empty answer is asked for once more, and then by the mail's place in the
// folder, which stands before everything else.
func (s *session) fetch(ctx context.Context, uid uint32, size int64) (raw []byte, truncated bool, err error) {
	byUID := imap.UIDSetNum(imap.UID(uid))
	for range 2 {
		got, err := s.body(ctx, byUID, size)
		if err != nil {
			return nil, false, err
		}
		if got.found {
			return got.raw, got.truncated, nil
		}
	}
	there, err := s.find(ctx, &imap.SearchCriteria{UID: []imap.UIDSet{byUID}}, func(u uint32) bool { return u == uid })
	if err != nil {
		return nil, false, err
	}
	if len(there) == 0 {
		return nil, false, errGone
	}
	infos, err := s.infos(ctx, there)
	if err != nil {
		return nil, false, err
	}
	if infos[uid].seq == 0 {
		return nil, false, errUnreadable
	}
	got, err := s.body(ctx, imap.SeqSetNum(infos[uid].seq), size)
	if err != nil {
		return nil, false, err
	}
	if !got.found || got.uid != uid { // it may have moved up by now
		return nil, false, errUnreadable
	}
	s.r.log.Debug("the server sends UIDs late; a mail was fetched by its number", "uid", uid)
	return got.raw, got.truncated, nil
}

// body is a mail that was fetched.
type body struct {
	found     bool
	uid       uint32
	raw       []byte
	truncated bool
}

// body fetches one mail, and marks nothing as read.
func (s *session) body(ctx context.Context, which imap.NumSet, size int64) (body, error) {
	section := &imap.FetchItemBodySection{Peek: true}
	if size > s.r.conf.MaxSize {
		section.Partial = &imap.SectionPartial{Offset: 0, Size: beginning}
	}
	var got body
	// A slow line gets the time for 32 KB a second.
	limit := s.c.limit + time.Duration(min(max(size, 0), s.r.conf.MaxSize)>>15)*time.Second
	err := s.c.do(ctx, limit, func() error {
		cmd := s.c.client.Fetch(which, &imap.FetchOptions{UID: true, BodySection: []*imap.FetchItemBodySection{section}})
		for m := cmd.Next(); m != nil; m = cmd.Next() {
			if err := got.read(m, s.r.conf.MaxSize, section.Partial != nil); err != nil {
				// The connection broke in the middle of a mail. The client's own
				// goroutine goes on with the stream then, so nothing of the command
				// may be touched any more, not even to close it.
				_ = s.c.raw.Close()
				return err
			}
		}
		return cmd.Close()
	})
	return got, err
}

// read takes the items of one message. Every one must be read to its end, for
// the client waits for that, and none after an error.
func (b *body) read(m *imapclient.FetchMessageData, most int64, part bool) error {
	for item := m.Next(); item != nil; item = m.Next() {
		switch item := item.(type) {
		case imapclient.FetchItemDataUID:
			b.uid = uint32(item.UID)
		case imapclient.FetchItemDataBodySection:
			if item.Literal == nil {
				continue // NIL: the server has no such thing
			}
			raw, cut, err := readLiteral(item.Literal, most)
			if err != nil {
				return err
			}
			b.found, b.raw, b.truncated = true, raw, cut || part
		}
	}
	return nil
}

// readLiteral reads a mail. If it is bigger than most, whatever the server said
// before, only its beginning is kept.
func readLiteral(lit imap.LiteralReader, most int64) (raw []byte, cut bool, err error) {
	want := lit.Size()
	if want > most {
		want, cut = min(most, beginning), true
	}
	var buf bytes.Buffer
	buf.Grow(int(min(want, beginning)) + bytes.MinRead)
	// An end before its time is no error to io.Copy, and no reading goes on after
	// it: see body.
	n, err := io.Copy(&buf, io.LimitReader(lit, want))
	if err == nil && n == want {
		var rest int64
		rest, err = io.Copy(io.Discard, lit)
		n += rest
	}
	if err == nil && n < lit.Size() {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, false, fmt.Errorf("%d of %d bytes of the mail came: %w", n, lit.Size(), err)
	}
	return buf.Bytes(), cut, nil
}
