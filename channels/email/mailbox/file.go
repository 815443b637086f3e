package mailbox

import (
	"context"
	"errors"
	"slices"

	"github.com/emersion/go-imap/v2"
)

// file flags mails of a folder and moves them, now that they are committed and
// it is known what becomes of them. Nothing depends on it: a failure is logged,
// and refile tries again.
func (s *session) file(ctx context.Context, f *folder, which uids) {
	groups := make(map[Disposition]uids)
	for _, uid := range which {
		if d, ok := s.r.filing[f.cursor.key(f.name, uid)]; ok && f.cursor.unfiled.has(uid) {
			d = s.disposition(f, d)
			groups[d] = groups[d].with(uid)
		}
	}
	stay := false // some mails stay in the folder though nothing is left to be done
	for d, group := range groups {
		stay = stay || !s.moves(f, d)
		err := s.fileGroup(ctx, f, group, d)
		var no *imap.Error
		if len(group) > 1 && errors.As(err, &no) {
			// It may be about one of them.
			for _, uid := range group {
				err = errors.Join(err, s.fileGroup(ctx, f, uids{uid}, d))
			}
		}
		if err != nil && ctx.Err() == nil {
			s.r.log.Warn("mails are done but can't be moved; it is tried again",
				"folder", f.name, "uids", group.String(), "to", s.targets[d], "err", oneLine(err.Error()))
		}
	}
	if stay && ctx.Err() == nil {
		// What is stored says that they are to be moved.
		if err := s.r.hooks.SaveCursor(ctx, f.name, f.cursor.String()); err != nil {
			s.r.log.Debug("the cursor was not stored", "folder", f.name, "err", err)
		}
	}
}

// moves reports whether mails of a folder go to another one.
func (s *session) moves(f *folder, d Disposition) bool {
	target := s.targets[d]
	return target != "" && target != f.name && s.c.caps.Has(imap.CapMove)
}

// disposition returns what becomes of a mail in a folder.
func (s *session) disposition(f *folder, d Disposition) Disposition {
	switch d {
	case Processed, Rejected, Failed:
		return d
	case Unmatched:
		if f.first { // a junk folder's mail belongs to whoever empties it
			return d
		}
	}
	return Leave
}

// fileGroup flags and moves mails that go to the same place.
func (s *session) fileGroup(ctx context.Context, f *folder, group uids, d Disposition) error {
	var set imap.UIDSet
	for _, uid := range group {
		set.AddNum(imap.UID(uid))
	}
	if err := s.flag(ctx, f, set, d); err != nil {
		return err
	}
	if err := s.move(ctx, f, set, d); err != nil {
		return err
	}
	for _, uid := range group {
		s.filed(f, uid)
	}
	return nil
}

// filed forgets a mail that has nothing left to be done to it.
func (s *session) filed(f *folder, uid uint32) {
	f.cursor.unfiled = f.cursor.unfiled.without(uid)
	delete(s.r.filing, f.cursor.key(f.name, uid))
}

// flag marks mails as done where the server keeps such marks. A server that
// refuses is left in peace: the mark is for people who look into the folder.
func (s *session) flag(ctx context.Context, f *folder, set imap.UIDSet, d Disposition) error {
	var flags []imap.Flag
	if (d == Processed || d == Rejected) && (len(f.flags) == 0 || slices.Contains(f.flags, imap.FlagSeen)) {
		flags = append(flags, imap.FlagSeen)
	}
	if d != Leave && (slices.Contains(f.flags, imap.FlagWildcard) || slices.Contains(f.flags, imap.Flag(keyword))) {
		flags = append(flags, keyword)
	}
	if len(flags) == 0 {
		return nil
	}
	err := s.c.step(ctx, func() error {
		return s.c.client.Store(set, &imap.StoreFlags{
			Op: imap.StoreFlagsAdd, Silent: true, Flags: flags,
		}, nil).Close()
	})
	var no *imap.Error
	if errors.As(err, &no) {
		s.r.log.Debug("mails can't be flagged", "folder", f.name, "uids", set.String(), "err", serverSays(no))
		return nil
	}
	return err
}

// move moves mails to where their like goes. A server without MOVE (RFC 6851)
// keeps them where they are: copying and expunging could take other mail with it.
func (s *session) move(ctx context.Context, f *folder, set imap.UIDSet, d Disposition) error {
	if !s.moves(f, d) {
		return nil
	}
	target := s.targets[d]
	move := func() error {
		return s.c.step(ctx, func() error {
			_, err := s.c.client.Move(set, target).Wait()
			return err
		})
	}
	err := move()
	var no *imap.Error
	if errors.As(err, &no) && no.Code == imap.ResponseCodeTryCreate {
		// Somebody deleted the folder.
		if err := s.create(ctx, target); err != nil {
			return err
		}
		err = move()
	}
	return err
}

// refile flags and moves what was done before and could not be moved then. What
// became of a mail is forgotten when the process ends; then the handler, which
// had it before, says it again.
func (s *session) refile(ctx context.Context, f *folder) error {
	if len(f.cursor.unfiled) == 0 {
		return nil
	}
	unfiled := f.cursor.unfiled
	var set imap.UIDSet
	for _, uid := range unfiled {
		set.AddNum(imap.UID(uid))
	}
	there, err := s.find(ctx, &imap.SearchCriteria{UID: []imap.UIDSet{set}}, unfiled.has)
	if err != nil {
		return explain("look for mail in folder "+f.name, err)
	}
	for _, uid := range unfiled {
		_, isKnown := s.r.filing[f.cursor.key(f.name, uid)]
		switch {
		case !there.has(uid):
			s.filed(f, uid)
		case !isKnown:
			if _, err := s.handleAll(ctx, f, uids{uid}); err != nil {
				return err
			}
		}
	}
	s.file(ctx, f, f.cursor.unfiled)
	return nil
}
