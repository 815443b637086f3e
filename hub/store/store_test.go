package store_test

import (
	"path/filepath"
	"testing"

	"beckon/hub/store"
	"beckon/hub/store/storetest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	child() // does not return if this is one
	goleak.VerifyTestMain(m)
}

func open(t testing.TB, path string, o store.Options) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSQLite(t *testing.T) {
	storetest.Run(t, func(t testing.TB) storetest.Store {
		return open(t, filepath.Join(t.TempDir(), "beckon.db"), store.Options{})
	})
}
