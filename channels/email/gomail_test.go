package email

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The calls that go-mail's advisories name are not used while go.mod waits for the
// version that mends them; neither is its DKIM signer, which breaks long headers.
func TestGoMailIsUsedWithCare(t *testing.T) {
	t.Parallel()
	bad := regexp.MustCompile(`\.(SetListUnsubscribe\w*|SetGenHeaderPreformatted|EMLToMsg\w*|SetDKIM|NewDKIMSigner)\(`)
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if m := bad.Find(b); m != nil {
			t.Errorf("%s calls %s", name, m)
		}
	}
}
