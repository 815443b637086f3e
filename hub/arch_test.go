package hub_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// mayImport is the rule for imports between our own packages, tests aside. A
// package that is not here does not belong to the project. "x/*" stands for the
// packages right below x. Whoever may import the domain may import the wire's
// words too, since the domain's types are made of them; config doesn't need to.
var mayImport = map[string][]string{
	// The wire: agents may import it, so it needs nothing of ours.
	"hub/ma2h": {},
	// The domain, without I/O.
	"hub": {"hub/ma2h"},

	// What the domain needs done. These see the domain and not each other.
	"hub/store":           {"hub", "hub/ma2h"},
	"hub/store/storetest": {"hub", "hub/ma2h", "hub/store"},
	"hub/outbox":          {"hub"},
	"hub/waiter":          {"hub"},
	"hub/safehttp":        {},
	"hub/callback":        {"hub", "hub/ma2h", "hub/safehttp"},

	// HTTP and what speaks it.
	"hub/api":    {"hub", "hub/ma2h", "hub/admin"},
	"hub/admin":  {"hub", "hub/ma2h"},
	"hub/client": {"hub/ma2h", "hub/admin"},
	"hub/mcp":    {"hub", "hub/ma2h", "hub/client"},

	// What people read, what operators write.
	"templates": {"hub", "hub/ma2h"},
	"config":    {"hub"},

	// Channels see the domain, and neither the store nor each other. A fake is
	// for tests and the command line.
	"channels/reply":           {"hub", "hub/ma2h"},
	"channels/slack":           channelMay,
	"channels/email":           append([]string{"channels/email/*"}, channelMay...),
	"channels/web":             channelMay,
	"channels/slack/fakeslack": {},
	"channels/email/fakemail":  {},

	// Mail is read in parts that know nothing of the hub, but for the one that
	// says what a mail is.
	"channels/email/authres":  {},
	"channels/email/extract":  {},
	"channels/email/inbound":  {"hub", "hub/ma2h", "channels/reply", "channels/email/authres", "channels/email/extract"},
	"channels/email/mailbox":  {},
	"channels/email/listener": {},
	"channels/email/mailtest": {},

	"channels/channeltest": {"hub", "hub/ma2h"},
	"channels":             {"hub", "channels/*"},

	// These put it all together.
	"hub/app":    {"*"},
	"cmd/beckon": {"*"},
}

// channelMay is what each channel may import.
var channelMay = []string{"hub", "hub/ma2h", "hub/safehttp", "channels/reply", "templates"}

// onlyCommand may be imported by cmd and tests alone.
var onlyCommand = []string{"channels/slack/fakeslack", "channels/email/fakemail", "channels/email/mailtest", "channels/channeltest", "hub/store/storetest"}

// goPackage is what we read of go list.
type goPackage struct {
	ImportPath string
	Dir        string
	Doc        string
	GoFiles    []string
	Imports    []string
	Module     *struct{ Path string }
}

// listPackages returns the project's packages by their path in the module.
func listPackages(t *testing.T) map[string]goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Doc,GoFiles,Imports,Module", "./...")
	cmd.Dir = ".."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := make(map[string]goPackage)
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("read go list: %v", err)
		}
		if p.Module == nil {
			t.Fatalf("%s is in no module", p.ImportPath)
		}
		packages[ours(p.ImportPath)] = p
	}
	if len(packages) < 2 {
		t.Fatalf("go list names %d packages", len(packages))
	}
	return packages
}

// ours returns the path in the module, "" for somebody else's package.
func ours(importPath string) string {
	const module = "beckon"
	if importPath == module {
		return "."
	}
	rest, ok := strings.CutPrefix(importPath, module+"/")
	if !ok {
		return ""
	}
	return rest
}

// allowed reports whether a rule lets a package be imported.
func allowed(rule []string, name string) bool {
	return slices.ContainsFunc(rule, func(r string) bool {
		if r == "*" {
			return true
		}
		ok, _ := path.Match(r, name)
		return ok
	})
}

func TestImports(t *testing.T) {
	t.Parallel()
	for name, p := range listPackages(t) {
		rule, known := mayImport[name]
		if !known {
			t.Errorf("package %s is not in the table of hub/arch_test.go", name)
			continue
		}
		for _, imported := range p.Imports {
			dep := ours(imported)
			switch {
			case dep == "":
			case slices.Contains(onlyCommand, dep) && !strings.HasPrefix(name, "cmd/") && !slices.Contains(onlyCommand, name):
				t.Errorf("%s imports %s, which is for tests and the command line", name, dep)
			case !allowed(rule, dep):
				t.Errorf("%s imports %s; it may import %v", name, dep, rule)
			}
		}
	}
}

// The table itself must not have a loophole: no entry without a reason, no rule
// that names a package which can't exist.
func TestImportTable(t *testing.T) {
	t.Parallel()
	if rule := mayImport["hub/ma2h"]; len(rule) != 0 {
		t.Errorf("hub/ma2h may import %v; agents import it, so it must need nothing of ours", rule)
	}
	if rule := mayImport["hub"]; !slices.Equal(rule, []string{"hub/ma2h"}) {
		t.Errorf("hub may import %v; the domain knows the wire only", rule)
	}
	for name, rule := range mayImport {
		for _, r := range rule {
			if strings.Contains(r, "*") {
				continue
			}
			if _, known := mayImport[r]; !known {
				t.Errorf("%s may import %s, which is not in the table", name, r)
			}
		}
	}
	for _, name := range onlyCommand {
		if _, known := mayImport[name]; !known {
			t.Errorf("%s is not in the table", name)
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	t.Parallel()
	for name, p := range listPackages(t) {
		if len(p.GoFiles) > 0 && p.Doc == "" {
			t.Errorf("package %s has no package comment", name)
		}
	}
}
