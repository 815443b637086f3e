package store

import (
	"fmt"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// TestUpgrade: each schema that a beckon has written is brought up to date with
// what is in it, and what is in it can be worked with.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	d := sqliteDialect()
	steps, err := migrations(d.name)
	if err != nil {
		t.Fatal(err)
	}
	for old := 1; old <= len(steps); old++ {
		t.Run(fmt.Sprint("from ", old), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "beckon.db")
			if err := prepareFile(t.Context(), path); err != nil {
				t.Fatal(err)
			}
			db, err := openPool(path, 1, url.Values{})
			if err != nil {
				t.Fatal(err)
			}
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			exec := func(query string, args ...any) {
				t.Helper()
				if _, err := conn.ExecContext(t.Context(), query, args...); err != nil {
					t.Fatal(err)
				}
			}
			exec(`CREATE TABLE schema_version (version INTEGER NOT NULL PRIMARY KEY, oldest INTEGER NOT NULL, at INTEGER NOT NULL)`)
			for _, m := range steps[:old] {
				if err := m.run(t.Context(), conn, d); err != nil {
					t.Fatal(err)
				}
			}
			const raw = `{"ma2h_version":"0.5","type":"ask","created_at":"2026-12-01T10:00:00Z","idempotency_key":"k","title":"T",` +
				`"agent":{"id":"bot","run_id":"r","runtime":"cli"},"request":{"mode":"confirm"}}`
			exec(`INSERT INTO message (id, agent_id, alias, type, status, version, accepted_at, expires_at, resolved_at, resolution_id,
				resolved_via, head_seq, head_hash, sealed_seq, next_delivery, response, plan, raw)
				VALUES ('msg_old', 'bot', '', 'ask', 'answered', 3, 1000, 0, 2000, 'res_1', 'web', 0, $1, 0, 0, $2, '{}', $3)`,
				make([]byte, 32), []byte("{}"), []byte(raw))
			if err := conn.Close(); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}

			s, err := Open(t.Context(), path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			m, err := s.Own(t.Context(), "bot", "msg_old")
			if err != nil || m.Status != ma2h.Answered || m.Track != (hub.Track{}) {
				t.Fatalf("message %+v, %v", m, err)
			}
			p := hub.PatchOf(m)
			p.Track = &hub.Track{State: hub.TrackDelivered, DeliveredAt: time.UnixMilli(3000).UTC()}
			if err := s.Apply(t.Context(), &hub.Change{MessageID: m.ID, At: time.Now(), Expect: m.Version, Patch: p}); err != nil {
				t.Fatal(err)
			}
			if n, err := s.Purge(t.Context(), time.Now(), time.Hour, 10); n != 1 || err != nil {
				t.Errorf("purged %d, %v", n, err)
			}
		})
	}
}
