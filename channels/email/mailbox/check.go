package mailbox

import (
	"context"
	"fmt"

	"github.com/emersion/go-imap/v2"
)

// Finding is one result of [Reader.Check].
type Finding struct {
	OK   bool
	What string // "imap login", "imap folder INBOX"
	Msg  string // what is wrong and what to do when not OK, else what was seen
}

// Check logs in and looks whether everything that Run needs is there. It makes
// the folders that mails are moved to, and reads no mail.
func (r *Reader) Check(ctx context.Context) []Finding {
	c, err := r.connect(ctx)
	if err != nil {
		t := explain("connect to "+r.conf.Addr, err)
		if t.kind == auth {
			return []Finding{{OK: true, What: "imap connection"}, {What: "imap login", Msg: t.text}}
		}
		return []Finding{{What: "imap connection", Msg: t.text}}
	}
	defer c.close(ctx)
	all := []Finding{{OK: true, What: "imap connection"}, {OK: true, What: "imap login", Msg: "as " + r.conf.Username}}
	all = append(all, capability(c, imap.CapIdle, "mail is noticed at once", fmt.Sprintf("the server has no IDLE, so mail is noticed after %s at most", r.conf.Timing.Poll)),
		capability(c, imap.CapMove, "mails that are done are moved", "the server has no MOVE, so mails that are done are only flagged"))

	s := &session{r: r, c: c}
	if err := s.open(ctx); err != nil {
		return append(all, Finding{What: "imap folders", Msg: explain("look for the folders", err).text})
	}
	for _, f := range s.folders {
		var selected *imap.SelectData
		err := c.step(ctx, func() (err error) {
			selected, err = c.client.Select(f.name, &imap.SelectOptions{ReadOnly: true}).Wait()
			return err
		})
		finding := Finding{OK: err == nil, What: "imap folder " + f.name}
		if err != nil {
			finding.Msg = explain("open it", err).text
		} else {
			finding.Msg = fmt.Sprintf("%d mails", selected.NumMessages)
		}
		all = append(all, finding)
	}
	for _, d := range []Disposition{Processed, Rejected, Unmatched, Failed} {
		if name := s.targets[d]; name != "" {
			all = append(all, Finding{OK: true, What: "imap folder " + name, Msg: fmt.Sprintf("for %s mails", d)})
		}
	}
	if text := s.problems(); text != "" {
		all = append(all, Finding{What: "imap folders", Msg: text})
	}
	return all
}

// capability says what the server can do. Nothing here is needed.
func capability(c *conn, what imap.Cap, with, without string) Finding {
	f := Finding{OK: true, What: "imap " + string(what), Msg: with}
	if !c.caps.Has(what) {
		f.Msg = without
	}
	return f
}
