package store

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"

	"beckon/hub"
)

const sqlInsertInbound = `INSERT INTO inbound (channel, account, key, message_id, at, raw)
VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (channel, account, key) DO NOTHING`

const sqlForgetInbound = `DELETE FROM inbound WHERE (channel, account, key) IN
(SELECT channel, account, key FROM inbound WHERE message_id = '' AND at < $1 ORDER BY at LIMIT $2)`

const sqlInbound = `SELECT channel, account, key, at, raw FROM inbound WHERE message_id = $1
ORDER BY at, channel, account, key LIMIT $2`

func scanInbound(r scanner) (in hub.Inbound, err error) {
	var at int64
	var raw []byte
	if err := r.Scan(&in.Channel, &in.Account, &in.Key, &at, &raw); err != nil {
		return in, err
	}
	in.At = fromMS(at)
	if in.Raw, err = unpacked(raw); err != nil {
		err = fmt.Errorf("what came in as %s %s: %w", in.Channel, in.Key, err)
	}
	return in, err
}

// Inbound reads what came in about a message as it came, oldest first.
func (s *Store) Inbound(ctx context.Context, messageID string, limit int) ([]hub.Inbound, error) {
	return all(ctx, s, scanInbound, sqlInbound, messageID, limit)
}

func packed(raw []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(raw); err != nil {
		return nil, err
	}
	err := w.Close()
	return b.Bytes(), err
}

func unpacked(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
