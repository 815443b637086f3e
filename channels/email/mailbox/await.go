package mailbox

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"
)

// Header is a header field and a text that stands in it.
type Header struct{ Name, Value string }

// Astray is the error for a mail that lies where nobody looks for answers.
type Astray struct {
	Folder string // as the server calls it
}

func (e *Astray) Error() string { return "it lies in " + e.Folder + ", which is not read" }

const (
	// awaitBack is how old a mail may be that is waited for: searches go by the
	// day, and by the clock of the server.
	awaitBack = 48 * time.Hour
	// awaitFirst and awaitMost are the pauses between two looks.
	awaitFirst = 250 * time.Millisecond
	awaitMost  = 5 * time.Second
)

// roleJunk is the folder of what a server takes for spam (RFC 6154).
const roleJunk = imap.MailboxAttrJunk

// Await waits until a mail with one of these headers lies in the mailbox, and
// returns its folder: one that is read, or one where mails go once they are
// done, since a hub may read the mailbox meanwhile. Nothing is changed, but that
// the folders are made which mails are to be moved to.
//
// The error is an [*Astray] for a mail in the server's folder for spam, if that
// is not read. A refused login and a server that was never reached end the wait
// at once; everything else lasts until ctx ends, whose error it then is, too.
func (r *Reader) Await(ctx context.Context, headers ...Header) (folder string, err error) {
	w := &watch{r: r, headers: headers, since: time.Now().Add(-awaitBack), pause: awaitFirst}
	for {
		folder, err := w.connection(ctx)
		var astray *Astray
		if err == nil || errors.As(err, &astray) {
			return folder, err
		}
		if ctx.Err() == nil {
			t := explain("look for the mail", err)
			if t.kind == auth || !w.reached {
				return "", t
			}
			w.trouble = t
			if w.rest(ctx) {
				continue
			}
		}
		return "", w.nowhere(ctx)
	}
}

// watch is what Await knows from one connection to the next.
type watch struct {
	r       *Reader
	headers []Header
	since   time.Time
	pause   time.Duration
	reached bool     // the server was, and its folders are as they must be
	folders []string // that were looked into, once all were
	trouble error    // since then
}

// rest sleeps until the next look, and reports false when ctx ended.
func (w *watch) rest(ctx context.Context) bool {
	d := w.pause
	w.pause = min(2*w.pause, awaitMost)
	return sleep(ctx, d)
}

// nowhere is the error for a mail that did not come in time.
func (w *watch) nowhere(ctx context.Context) error {
	text := "not every folder could be looked into"
	if w.folders != nil {
		text = "it is not in " + strings.Join(w.folders, ", ")
	}
	if w.trouble != nil {
		text += "; last, " + w.trouble.Error()
	}
	return newTrouble(network, context.Cause(ctx), "%s", text)
}

// connection looks again and again until the connection ends.
func (w *watch) connection(ctx context.Context) (string, error) {
	c, err := w.r.connect(ctx)
	if err != nil {
		return "", err
	}
	defer c.close(ctx)
	s := &session{r: w.r, c: c}
	if err := s.open(ctx); err != nil {
		return "", explain("look for the folders", err)
	}
	w.reached = true
	places := s.places()
	junk, err := s.lookUpRole(ctx, roleJunk)
	var no *imap.Error
	if err != nil && !errors.As(err, &no) {
		return "", err
	}
	if slices.Contains(places, junk) {
		junk = ""
	}
	for {
		folder, err := w.look(ctx, s, places)
		if folder != "" || err != nil {
			return folder, err
		}
		if junk != "" {
			there, err := w.isIn(ctx, s, junk)
			switch {
			case there:
				return "", &Astray{junk}
			case err != nil && !errors.As(err, &no):
				return "", err
			}
		}
		if !w.rest(ctx) {
			return "", ctx.Err()
		}
	}
}

// places are the folders where a mail may lie that came in as it should.
func (s *session) places() []string {
	var all []string
	for _, f := range s.folders {
		all = append(all, f.name)
	}
	for _, d := range []Disposition{Processed, Rejected, Unmatched, Failed} {
		if name := s.targets[d]; name != "" && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// look looks into every folder once. A folder that can't be looked into is passed
// over, for mail may yet arrive in another.
func (w *watch) look(ctx context.Context, s *session, places []string) (folder string, err error) {
	var trouble error
	for _, name := range places {
		there, err := w.isIn(ctx, s, name)
		var no *imap.Error
		switch {
		case there:
			return name, nil
		case errors.As(err, &no):
			trouble = explain("look into folder "+name, err)
		case err != nil:
			return "", err
		}
	}
	w.folders, w.trouble = places, trouble
	return "", nil
}

// isIn looks for the mail in one folder, which is opened anew each time, since
// that is what surely shows new mail. An [*imap.Error] is about the folder, or
// about every header: some servers search for few of them only.
func (w *watch) isIn(ctx context.Context, s *session, name string) (there bool, err error) {
	err = s.c.step(ctx, func() error {
		_, err := s.c.client.Select(name, &imap.SelectOptions{ReadOnly: true}).Wait()
		return err
	})
	if err != nil {
		return false, err
	}
	for i, h := range w.headers {
		found, e := s.find(ctx, &imap.SearchCriteria{
			Since: w.since, Header: []imap.SearchCriteriaHeaderField{{Key: h.Name, Value: h.Value}},
		}, func(uint32) bool { return true })
		var no *imap.Error
		switch {
		case e == nil && len(found) > 0:
			return true, nil
		case e != nil && !errors.As(e, &no):
			return false, e
		case i == 0 || e == nil:
			err = e
		}
	}
	return false, err
}
