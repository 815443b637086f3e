package listener

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
)

// listen opens the address.
func (l *Listener) listen(ctx context.Context) (net.Listener, error) {
	var lc net.ListenConfig
	if !l.conf.isSocket() {
		return lc.Listen(ctx, "tcp", l.conf.Addr)
	}
	if err := clearSocket(ctx, l.conf.Addr); err != nil {
		return nil, err
	}
	ln, err := lc.Listen(ctx, "unix", l.conf.Addr)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(l.conf.Addr, l.conf.SocketMode); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return ln, nil
}

// clearSocket removes the socket that a hub left which did not end well. It
// removes nothing else: not a file of another kind, and not a socket on which
// somebody listens.
func clearSocket(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s is there and is not a socket; take it away or choose another path", path)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		_ = conn.Close()
		return fmt.Errorf("somebody listens on %s already; is another hub running?", path)
	case errors.Is(err, syscall.ECONNREFUSED):
		return os.Remove(path)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return fmt.Errorf("%s is there, and whether somebody listens on it can't be found out: %w", path, err)
	}
}
