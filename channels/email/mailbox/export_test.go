package mailbox

import (
	"context"
	"net"
)

// SetDialer makes a reader connect another way.
func (r *Reader) SetDialer(dial func(ctx context.Context, addr string) (net.Conn, error)) {
	r.dialer = dial
}
