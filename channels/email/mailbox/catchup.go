package mailbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/emersion/go-imap/v2"
)

// session is what a reader knows while it is connected.
type session struct {
	r       *Reader
	c       *conn
	names   names
	folders []*folder
	targets map[Disposition]string // as the server calls them; "" for none
	broken  map[string]string      // folder as configured: what is wrong with it
}

// folder is a folder that is read.
type folder struct {
	name   string // as the server calls it
	first  bool   // where mail arrives; IDLE waits there
	cursor cursor
	loaded bool
	flags  []imap.Flag // that may be set and stay
	// pending are the mails that are not done; the cursor never passes the lowest.
	pending uids
}

// most is how many mails are looked at before the server is asked again.
const most = 10_000

// round catches up with every folder, and ends with the first one selected.
func (s *session) round(ctx context.Context, first bool) error {
	began := time.Now()
	order := slices.Concat(s.folders[1:], s.folders[:1])
	if first && len(s.folders) > 1 {
		order = slices.Concat(s.folders[:1], order)
	}
	for _, f := range order {
		err := s.read(ctx, f)
		var no *imap.Error
		if errors.As(err, &no) && !f.first && !isBusy(no) {
			s.broken[f.name] = fmt.Sprintf("folder %s can't be read: %s", f.name, serverSays(no))
			continue
		}
		if err != nil {
			return explain("read folder "+f.name, err)
		}
		delete(s.broken, f.name)
	}
	// A mail that was due and not tried is not there any more.
	maps.DeleteFunc(s.r.attempts, func(_ string, a *attempt) bool { return !a.next.After(began) })
	return nil
}

// read selects a folder and catches up with it.
func (s *session) read(ctx context.Context, f *folder) error {
	var selected *imap.SelectData
	err := s.c.step(ctx, func() (err error) {
		selected, err = s.c.client.Select(f.name, nil).Wait()
		return err
	})
	if err != nil {
		return err
	}
	f.flags = selected.PermanentFlags
	if err := s.place(ctx, f, selected); err != nil {
		return err
	}
	// First, for what a cursor remembers of it is little.
	if err := s.refile(ctx, f); err != nil {
		return err
	}
	return s.catchUp(ctx, f)
}

// place makes sure that the cursor is one of the folder as it is now.
func (s *session) place(ctx context.Context, f *folder, now *imap.SelectData) error {
	stored := ""
	if !f.loaded {
		var err error
		if stored, err = s.r.hooks.LoadCursor(ctx, f.name); err != nil {
			return newTrouble(ours, err, "the hub can't say how far folder %s was read: %s", f.name, oneLine(err.Error()))
		}
	}
	next := uint32(now.UIDNext)
	if next == 0 { // it need not be said (RFC 3501 section 6.3.1)
		all, err := s.search(ctx, 1, 0, time.Time{})
		if err != nil {
			return err
		}
		next = 1
		if len(all) > 0 {
			next = all[len(all)-1] + 1
		}
	}
	fresh, why := s.start(f, stored, now.UIDValidity, next, now.UIDNext != 0)
	if why != "" {
		s.r.log.Info(why, "folder", f.name, "uidvalidity", now.UIDValidity, "uidnext", next)
		if err := s.r.hooks.SaveCursor(ctx, f.name, fresh.String()); err != nil {
			return newTrouble(ours, err, "the hub can't keep how far folder %s was read: %s", f.name, oneLine(err.Error()))
		}
	}
	f.cursor, f.loaded = fresh, true
	return nil
}

// start returns the cursor to go on from, and why if it is another than the one
// that is known. said: the server said which UID comes next.
func (s *session) start(f *folder, stored string, validity, next uint32, said bool) (cursor, string) {
	back := time.Now().Add(-rescan)
	c := f.cursor
	if !f.loaded {
		var err error
		if stored == "" {
			if s.r.conf.Backfill > 0 {
				return anew(validity, 0, next, time.Now().Add(-s.r.conf.Backfill)), "the folder is read for the first time, with what is in it"
			}
			return anew(validity, 0, next, time.Time{}), "the folder is read for the first time, from now on"
		}
		if c, err = parseCursor(stored); err != nil {
			return anew(validity, 0, next, back), "the cursor of the folder is damaged; the last 14 days are read again"
		}
	}
	switch {
	case c.validity != validity:
		return anew(validity, 0, next, back), "the server numbers the folder anew; the last 14 days are read again"
	case said && next <= c.top():
		// A server that was restored from a backup gives UIDs out twice.
		return anew(validity, c.epoch+1, next, back), "the server uses UIDs again; the last 14 days are read again"
	}
	return c, ""
}

// search returns the UIDs in a range that arrived at or after a time, sorted. A
// last of 0 is the end of the folder, whatever it is.
func (s *session) search(ctx context.Context, first, last uint32, since time.Time) (uids, error) {
	var set imap.UIDSet
	set.AddRange(imap.UID(first), imap.UID(last))
	return s.find(ctx, &imap.SearchCriteria{UID: []imap.UIDSet{set}, Since: since}, func(uid uint32) bool {
		// "n:*" always includes the last mail, whatever its UID (RFC 3501 section 6.4.8).
		return uid >= first && (last == 0 || uid <= last)
	})
}

// find runs a search and keeps what is wanted.
func (s *session) find(ctx context.Context, criteria *imap.SearchCriteria, want func(uint32) bool) (uids, error) {
	var found *imap.SearchData
	err := s.c.step(ctx, func() (err error) {
		found, err = s.c.client.UIDSearch(criteria, nil).Wait()
		return err
	})
	if err != nil {
		return nil, err
	}
	set, _ := found.All.(imap.UIDSet)
	var out uids
	for _, part := range set {
		for uid := part.Start; uid != 0 && uid <= part.Stop && len(out) < most; uid++ {
			if want(uint32(uid)) {
				out = append(out, uint32(uid))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// toDo returns the mails that are not done, and reports whether there may be
// more.
func (s *session) toDo(ctx context.Context, f *folder) (work uids, more bool, err error) {
	c := f.cursor
	if c.until > c.base+1 {
		old, err := s.search(ctx, c.base+1, c.until-1, c.day())
		if err != nil {
			return nil, false, err
		}
		more = len(old) == most
		work = slices.DeleteFunc(old, c.isDone)
		if len(work) == 0 && !more {
			f.cursor = c.caughtUp()
		}
	}
	found, err := s.search(ctx, max(c.base+1, c.until), 0, time.Time{})
	if err != nil {
		return nil, false, err
	}
	more = more || len(found) == most
	f.pending = append(work, slices.DeleteFunc(found, c.isDone)...)
	return f.pending, more, nil
}

// after returns the cursor that stands when a mail is done.
func (f *folder) after(uid uint32) cursor {
	rest := f.pending.without(uid)
	if len(rest) == 0 {
		return f.cursor.with(uid, 0)
	}
	return f.cursor.with(uid, rest[0])
}

// catchUp handles every mail of the selected folder that is not done.
func (s *session) catchUp(ctx context.Context, f *folder) error {
	for {
		s.c.quiet()
		work, more, err := s.toDo(ctx, f)
		if err != nil {
			return explain("look for mail in folder "+f.name, err)
		}
		progress, err := s.handleAll(ctx, f, work)
		if err != nil {
			return err
		}
		if (!more || !progress) && len(s.c.wake) == 0 {
			return nil
		}
	}
}

// handleAll handles mails in the order of their UIDs, which is the order of
// their arrival. It reports whether any is done.
func (s *session) handleAll(ctx context.Context, f *folder, work uids) (progress bool, err error) {
	now := time.Now()
	due := slices.DeleteFunc(slices.Clone(work), func(uid uint32) bool {
		a := s.r.attempts[f.cursor.key(f.name, uid)]
		return a != nil && a.next.After(now)
	})
	// What the cursor remembers to be unfiled is window mails at most.
	for chunk := range slices.Chunk(due, window) {
		some, err := s.handleChunk(ctx, f, chunk)
		progress = progress || some
		if err != nil {
			return progress, err
		}
	}
	return progress, nil
}

// handleChunk handles some mails, and then moves those that are done.
func (s *session) handleChunk(ctx context.Context, f *folder, chunk uids) (progress bool, err error) {
	infos, err := s.infos(ctx, chunk)
	if err != nil {
		return false, explain("look at mail in folder "+f.name, err)
	}
	defer s.file(ctx, f, chunk)
	for _, uid := range chunk {
		done, err := s.handleOne(ctx, f, infos[uid], uid)
		if err != nil {
			return progress, err
		}
		if done {
			f.pending, progress = f.pending.without(uid), true
		}
	}
	return progress, nil
}

// handleOne fetches a mail and has it handled. The error is for the connection;
// what is wrong with the mail is counted.
func (s *session) handleOne(ctx context.Context, f *folder, about info, uid uint32) (done bool, err error) {
	if err := s.r.mine(); err != nil {
		return false, err
	}
	after := f.after(uid)
	m := Mail{
		Key: after.key(f.name, uid), Folder: f.name, UIDValidity: after.validity, UID: uid,
		Date: about.date, Size: about.size, Flags: about.flags, Cursor: after.String(),
	}
	if a := s.r.attempts[m.Key]; a != nil && a.fetched >= fetchTries {
		return s.deliver(ctx, f, m, after, errUnreadable)
	}
	m.Raw, m.Truncated, err = s.fetch(ctx, uid, about.size)
	switch {
	case err == nil:
		return s.deliver(ctx, f, m, after, nil)
	case errors.Is(err, errGone):
		delete(s.r.attempts, m.Key)
		return true, nil
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	}
	// A mail that ends the connection whenever it is fetched must not stop the
	// others, so that is counted too.
	a := s.r.tried(m.Key)
	if a.fetched++; a.fetched >= fetchTries {
		a.next = time.Now()
	}
	s.r.log.Warn("a mail can't be fetched; it is tried again", "key", m.Key, "err", oneLine(err.Error()))
	if errors.Is(err, errUnreadable) {
		return false, nil
	}
	return false, explain("fetch a mail from folder "+f.name, err)
}

// deliver has a mail handled, or set aside if it could not be fetched.
func (s *session) deliver(ctx context.Context, f *folder, m Mail, after cursor, unread error) (done bool, err error) {
	d, slow, err := Failed, false, unread
	if unread == nil {
		d, slow, err = s.r.handle(ctx, m)
	}
	if err != nil {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		var temp *temporary
		if errors.As(err, &temp) && !slow {
			return false, newTrouble(ours, err, "the hub can't take mail now: %s", oneLine(err.Error()))
		}
		if unread == nil && s.again(m, err, slow) {
			return false, nil
		}
		if e := s.r.setAside(ctx, m, err); e != nil {
			return false, newTrouble(ours, e, "the hub can't set a mail aside that it can't handle: %s", oneLine(e.Error()))
		}
		s.r.log.Error("a mail could not be handled and is set aside", "key", m.Key, "err", err)
		d = Failed
	}
	delete(s.r.attempts, m.Key)
	f.cursor = after
	s.r.filing[m.Key] = d
	s.r.log.Debug("a mail is done", "key", m.Key, "disposition", string(d))
	return true, nil
}

// again counts a try in vain and reports whether there is to be another. A
// handler that used up its time may have waited for something that comes back.
func (s *session) again(m Mail, err error, slow bool) bool {
	a := s.r.tried(m.Key)
	left := 0
	if slow {
		a.slow++
		left = fetchTries - a.slow
	} else {
		a.handled++
		left = tries - a.handled
	}
	if left <= 0 {
		return false
	}
	s.r.log.Warn("a mail could not be handled; it is tried again", "key", m.Key, "err", err)
	return true
}

// recovered makes an error of a panic.
func recovered(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
	}
}
