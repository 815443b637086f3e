package templates

import "testing"

func TestEmbeddedLoads(t *testing.T) {
	if _, err := New(""); err != nil {
		t.Fatal(err)
	}
}
