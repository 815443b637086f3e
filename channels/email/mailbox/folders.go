package mailbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/emersion/go-imap/v2"
)

// names is how a server names folders.
type names struct {
	separator string // "" when it has no folders in folders
	prefix    string // of every folder of the user but INBOX, such as "INBOX."
}

// server returns the names that a configured name may have at the server, the
// likeliest first and the one to create last.
func (n names) server(name string) []string {
	if strings.EqualFold(name, "INBOX") {
		return []string{"INBOX"}
	}
	local := name
	if n.separator != "" && n.separator != "/" {
		local = strings.ReplaceAll(name, "/", n.separator)
	}
	all := []string{name, local}
	if n.prefix != "" && !strings.HasPrefix(local, n.prefix) {
		all = append(all, n.prefix+local)
	}
	return slices.Compact(all)
}

// open finds the folders that are read, and those where mails go, which it makes
// if they are not there. Only the first folder is needed.
func (s *session) open(ctx context.Context) error {
	s.broken, s.targets = make(map[string]string), make(map[Disposition]string)
	if err := s.askNames(ctx); err != nil {
		return err
	}
	for i, name := range s.r.conf.Folders {
		server, err := s.lookUp(ctx, name)
		var no *imap.Error
		switch {
		case errors.As(err, &no):
			s.broken[name] = fmt.Sprintf("folder %s can't be found: %s", name, serverSays(no))
		case err != nil:
			return err
		case server == "":
			s.broken[name] = fmt.Sprintf("there is no folder %s in the mailbox", name)
		default:
			s.folders = append(s.folders, &folder{name: server, first: i == 0})
			continue
		}
		if i == 0 {
			return newTrouble(network, nil, "%s; make it, or change the folders in the config", s.broken[name])
		}
	}
	for _, d := range []Disposition{Processed, Rejected, Unmatched, Failed} {
		if err := s.openTarget(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// openTarget finds or makes the folder for a disposition.
func (s *session) openTarget(ctx context.Context, d Disposition) error {
	name := s.r.conf.target(d)
	if name == "" {
		return nil
	}
	server, err := s.lookUp(ctx, name)
	if err == nil && server == "" {
		all := s.names.server(name)
		server = all[len(all)-1]
		err = s.create(ctx, server)
	}
	var no *imap.Error
	if errors.As(err, &no) {
		s.broken[name] = fmt.Sprintf("folder %s can't be made: %s", name, serverSays(no))
		s.r.log.Warn("mails stay where they are", "disposition", string(d), "err", s.broken[name])
		return nil
	}
	s.targets[d] = server
	return err
}

// create makes a folder and subscribes to it, so that people see it.
func (s *session) create(ctx context.Context, server string) error {
	err := s.c.step(ctx, func() error { return s.c.client.Create(server, nil).Wait() })
	var no *imap.Error
	if errors.As(err, &no) && no.Code == imap.ResponseCodeAlreadyExists {
		err = nil
	}
	if err != nil {
		return err
	}
	err = s.c.step(ctx, func() error { return s.c.client.Subscribe(server).Wait() })
	if errors.As(err, &no) {
		return nil
	}
	return err
}

// askNames asks how the server names folders.
func (s *session) askNames(ctx context.Context) error {
	root, err := s.list(ctx, "", nil)
	if err != nil {
		return err
	}
	if len(root) > 0 && root[0].Delim != 0 {
		s.names.separator = string(root[0].Delim)
	}
	if !s.c.caps.Has(imap.CapNamespace) {
		return nil
	}
	var data *imap.NamespaceData
	err = s.c.step(ctx, func() (err error) {
		data, err = s.c.client.Namespace().Wait()
		return err
	})
	var no *imap.Error
	if errors.As(err, &no) {
		return nil
	}
	if err == nil && len(data.Personal) > 0 {
		s.names.prefix = data.Personal[0].Prefix
		if d := data.Personal[0].Delim; d != 0 {
			s.names.separator = string(d)
		}
	}
	return err
}

// lookUp returns what the server calls a folder, "" if there is none.
func (s *session) lookUp(ctx context.Context, name string) (string, error) {
	if strings.HasPrefix(name, `\`) {
		return s.lookUpRole(ctx, imap.MailboxAttr(name))
	}
	for _, candidate := range s.names.server(name) {
		found, err := s.list(ctx, candidate, nil)
		if err != nil {
			return "", err
		}
		for _, f := range found {
			if f.Mailbox == candidate && isFolder(f) {
				return candidate, nil
			}
		}
	}
	return "", nil
}

// lookUpRole returns the folder that has a role (RFC 6154). Only the folders
// with a role are asked for if possible: go-imap gives the connection up when
// any name in the answer is badly encoded.
func (s *session) lookUpRole(ctx context.Context, role imap.MailboxAttr) (string, error) {
	var options *imap.ListOptions
	if s.c.caps.Has(imap.CapSpecialUse) && s.c.caps.Has(imap.CapListExtended) {
		options = &imap.ListOptions{SelectSpecialUse: true}
	} else if s.r.noList.Load() {
		return "", &imap.Error{Type: imap.StatusResponseTypeNo, Text: "the list of folders can't be read; name the folder instead of its role"}
	}
	found, err := s.list(ctx, "*", options)
	if err != nil {
		var no *imap.Error
		if ctx.Err() == nil && !errors.As(err, &no) {
			s.r.noList.Store(true) // the next connection does without
		}
		return "", err
	}
	for _, f := range found {
		if isFolder(f) && slices.ContainsFunc(f.Attrs, func(a imap.MailboxAttr) bool { return strings.EqualFold(string(a), string(role)) }) {
			return f.Mailbox, nil
		}
	}
	return "", nil
}

func isFolder(f *imap.ListData) bool {
	return !slices.Contains(f.Attrs, imap.MailboxAttrNoSelect) && !slices.Contains(f.Attrs, imap.MailboxAttrNonExistent)
}

func (s *session) list(ctx context.Context, pattern string, options *imap.ListOptions) (found []*imap.ListData, err error) {
	err = s.c.step(ctx, func() (err error) {
		found, err = s.c.client.List("", pattern, options).Collect()
		return err
	})
	return found, err
}

// problems says what is wrong though mail is read, "" for nothing.
func (s *session) problems() string {
	return strings.Join(slices.Sorted(maps.Values(s.broken)), "; ")
}
