package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
)

//go:embed migrations
var migrationFiles embed.FS

// migration is one step of the schema. It runs in a transaction of its own.
type migration struct {
	version int
	oldest  int // schema number of the oldest binary that may run on the result
	sql     string
}

// migrations reads the steps of a dialect, in order: files such as
// 0001_init.sql whose first line is "-- oldest: N".
func migrations(dialect string) ([]migration, error) {
	files, err := fs.Glob(migrationFiles, path.Join("migrations", dialect, "*.sql"))
	if err != nil {
		return nil, err
	}
	var out []migration
	for i, name := range files {
		text, err := migrationFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		m := migration{sql: string(text)}
		number, _, _ := strings.Cut(path.Base(name), "_")
		if m.version, err = strconv.Atoi(number); err != nil || m.version != i+1 {
			return nil, fmt.Errorf("migration %s: want number %d", name, i+1)
		}
		head, _, _ := strings.Cut(m.sql, "\n")
		if m.oldest, err = strconv.Atoi(strings.TrimPrefix(head, "-- oldest: ")); err != nil {
			return nil, fmt.Errorf("migration %s: first line is not \"-- oldest: N\"", name)
		}
		out = append(out, m)
	}
	return out, nil
}

// schemaNow is the last row of schema_version: where the database stands.
type schemaNow struct{ version, oldest int }

// allows says whether a binary that knows the schema up to have may run. A
// newer database is fine as long as its last migration was additive.
func (n schemaNow) allows(have int) error {
	if n.version > have && n.oldest > have {
		return fmt.Errorf("the database has schema %d, which needs a beckon of schema %d or later; this one has schema %d",
			n.version, n.oldest, have)
	}
	return nil
}

// migrate brings the schema up to date, or refuses.
func migrate(ctx context.Context, conn *sql.Conn, d dialect) error {
	steps, err := migrations(d.name)
	if err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS schema_version (
		version `+d.bigint+` NOT NULL PRIMARY KEY, oldest `+d.bigint+` NOT NULL, at `+d.bigint+` NOT NULL)`); err != nil {
		return fmt.Errorf("create schema_version: %w", err)
	}
	var now schemaNow
	err = conn.QueryRowContext(ctx, `SELECT version, oldest FROM schema_version ORDER BY version DESC LIMIT 1`).
		Scan(&now.version, &now.oldest)
	if err != nil && err != sql.ErrNoRows {
		return fmt.Errorf("read schema_version: %w", err)
	}
	if err := now.allows(len(steps)); err != nil {
		return err
	}
	for _, m := range steps {
		if m.version <= now.version {
			continue
		}
		if err := m.run(ctx, conn, d); err != nil {
			return fmt.Errorf("migrate to schema %d: %w", m.version, err)
		}
	}
	return nil
}

func (m migration) run(ctx context.Context, conn *sql.Conn, d dialect) (err error) {
	if _, err := conn.ExecContext(ctx, d.begin); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, _ = conn.ExecContext(ctx, "ROLLBACK") // err says what is wrong
		}
	}()
	if _, err := conn.ExecContext(ctx, m.sql); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, `INSERT INTO schema_version (version, oldest, at) VALUES ($1, $2, $3)`,
		m.version, m.oldest, ms(time.Now())); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}
