package app_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"beckon/hub/app"
)

// A key file that is lost is made again, which whoever runs the hub must hear:
// links and sign-ins are void.
func TestLostKeyFile(t *testing.T) {
	t.Parallel()
	cfg := parse(t, fmt.Sprintf(yaml, filepath.Join(t.TempDir(), "beckon.db")))
	for i, want := range []string{"level=INFO msg=\"a key file was made", "", "level=WARN msg=\"the database is not new"} {
		if i == 2 {
			if err := os.Remove(app.KeyPath(cfg)); err != nil {
				t.Fatal(err)
			}
		}
		var log bytes.Buffer
		a, err := app.New(t.Context(), cfg, app.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if got := log.String(); !strings.Contains(got, want) || (want == "") != !strings.Contains(got, "key file") {
			t.Errorf("start %d: %s", i, got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := a.Run(ctx); err != nil {
			t.Error(err)
		}
	}
}
