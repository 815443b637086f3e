package fakeslack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Typed is a JSON document and the TypeScript type that it must have, such as
// "KnownBlock[]", "ModalView" or "HomeView" of @slack/types.
type Typed struct {
	Name string // says in errors which one it is
	Type string
	JSON []byte
}

// TypeCheck compiles documents against Slack's own types with tsc. Dir holds
// node_modules with typescript, @slack/types and, for the types of interactions,
// @slack/bolt (see testdata/bolt). It returns what the compiler says, each line
// beginning with the name of its document; empty means that all fit.
func TypeCheck(ctx context.Context, dir string, docs []Typed) ([]string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("fakeslack: type check: %w", err)
	}
	work, err := os.MkdirTemp("", "typecheck")
	if err != nil {
		return nil, fmt.Errorf("fakeslack: type check: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	var src bytes.Buffer
	src.WriteString("import type * as slack from '@slack/types';\n")
	// The types of the library draw in those of its web server: they are slow.
	if slices.ContainsFunc(docs, func(d Typed) bool { return strings.Contains(d.Type, "bolt.") }) {
		src.WriteString("import type * as bolt from '@slack/bolt';")
	}
	src.WriteString("\n")
	names := map[string]string{}
	for i, d := range docs {
		typ := d.Type
		if !strings.Contains(typ, ".") {
			typ = "slack." + typ
		}
		var flat bytes.Buffer
		if err := json.Compact(&flat, d.JSON); err != nil {
			return nil, fmt.Errorf("fakeslack: type check: %s: %w", d.Name, err)
		}
		fmt.Fprintf(&src, "export const v%d: %s = %s;\n", i, typ, flat.Bytes())
		names[fmt.Sprint(i+3)] = d.Name // the line that it is on
	}
	modules := filepath.Join(dir, "node_modules")
	config, _ := json.Marshal(object{"compilerOptions": object{
		"strict": true, "noEmit": true, "target": "es2022", "module": "commonjs", "moduleResolution": "node", "skipLibCheck": true,
		"types": []string{}, "paths": object{"@slack/types": []string{modules + "/@slack/types"}, "@slack/bolt": []string{modules + "/@slack/bolt"}},
		"baseUrl": work,
	}, "files": []string{"docs.ts"}})
	for name, content := range map[string][]byte{"docs.ts": src.Bytes(), "tsconfig.json": config} {
		if err := os.WriteFile(filepath.Join(work, name), content, 0o600); err != nil {
			return nil, fmt.Errorf("fakeslack: type check: %w", err)
		}
	}
	cmd := exec.CommandContext(ctx, "node", filepath.Join(modules, "typescript", "bin", "tsc"), "-p", work, "--pretty", "false")
	cmd.Dir = work
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil, nil
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\n")
		if rest, ok := strings.CutPrefix(line, "docs.ts("); ok {
			n, what, _ := strings.Cut(rest, ",")
			line = names[n] + " at column " + what
		} else if len(lines) > 0 && strings.HasPrefix(line, " ") {
			lines[len(lines)-1] += "\n" + line
			continue
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("fakeslack: type check: %w", err)
	}
	return lines, nil
}
