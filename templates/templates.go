// Package templates holds what people read: the words that every channel
// shares, and the page's HTML and CSS.
//
// Words are functions that turn hub values into sentences by the reader's
// clock, such as [Outcome] and [Deadline]. Pages are files under web, embedded
// in the binary; a folder given to [New] replaces any of them, file by file.
// Every template is run once with a filled sample when it is loaded, so that a
// mistake in an operator's file is an error at start, with file and line, and
// not a broken page later.
//
// Agent text is untrusted. Words pass it through [Line] or [Text] and escape
// nothing; each channel escapes for its own medium.
package templates

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed web/*.html web/*.css web/*.js
var embedded embed.FS

// The shared parts of a page, parsed into every page's set.
var shared = []string{"web/layout.html", "web/parts.html"}

// The files that pages link.
const (
	cssFile = "web/web.css"
	jsFile  = "web/web.js"
)

// Set is a loaded set of templates. It is read-only and safe for concurrent
// use.
type Set struct {
	pages   map[string]*template.Template // by name, such as "item"
	css, js Asset
}

// Asset is a file that pages link. Its path changes with its content.
type Asset struct {
	Path string
	Body []byte
}

// New loads the templates. A file in dir, such as dir/web/item.html, replaces
// the embedded one of that name; an empty dir replaces none. Errors name file
// and line, all of them at once.
func New(dir string) (*Set, error) {
	s := &Set{pages: map[string]*template.Template{}}
	src := source{dir: dir}
	if err := src.check(); err != nil {
		return nil, err
	}
	var errs []error
	samples := Samples()
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		t, err := src.page(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, data := range samples[name] {
			if err := t.ExecuteTemplate(io.Discard, "layout", data); err != nil {
				errs = append(errs, src.wrap("web/"+name+".html", err))
				break
			}
		}
		s.pages[name] = t
	}
	var err error
	if s.css, err = src.asset(cssFile); err != nil {
		errs = append(errs, err)
	}
	if s.js, err = src.asset(jsFile); err != nil {
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return s, nil
}

// CSS returns the style sheet.
func (s *Set) CSS() Asset { return s.css }

// JS returns the script. Every page works without it.
func (s *Set) JS() Asset { return s.js }

// Page renders a page by name: "item" with an [ItemPage], "list" with a
// [ListPage], "tell" with a [TellPage], "signin" with a [SignInPage], "problem" with a [ProblemPage].
func (s *Set) Page(name string, data any) ([]byte, error) {
	t := s.pages[name]
	if t == nil {
		return nil, fmt.Errorf("page %q: no such template", name)
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "layout", data); err != nil {
		return nil, fmt.Errorf("page %q: %w", name, err)
	}
	return b.Bytes(), nil
}

// source reads a file from the operator's folder or else the embedded one.
type source struct{ dir string }

func (s source) check() error {
	if s.dir == "" {
		return nil
	}
	fi, err := os.Stat(s.dir)
	if err != nil {
		return fmt.Errorf("templates: %w", err)
	}
	if !fi.IsDir() {
		return fmt.Errorf("templates: %s is not a folder", s.dir)
	}
	return nil
}

func (s source) read(name string) ([]byte, error) {
	if s.dir != "" {
		b, err := os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(name)))
		if err == nil {
			return b, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("templates: %w", err)
		}
	}
	return embedded.ReadFile(name)
}

func (s source) asset(name string) (Asset, error) {
	b, err := s.read(name)
	sum := sha256.Sum256(b)
	path := "/assets/" + strings.TrimPrefix(name, "web/") + "?v=" + base64.RawURLEncoding.EncodeToString(sum[:9])
	return Asset{Path: path, Body: b}, err
}

func (s source) page(name string) (*template.Template, error) {
	t := template.New(name).Funcs(funcs()).Option("missingkey=error")
	for _, f := range append(slices.Clone(shared), "web/"+name+".html") {
		b, err := s.read(f)
		if err != nil {
			return nil, err
		}
		if _, err := t.New(f).Parse(string(b)); err != nil {
			return nil, s.wrap(f, err)
		}
	}
	return t, nil
}

// wrap says where to look. html/template names file and line, but for a fault
// that only shows when a whole page is put together.
func (s source) wrap(file string, err error) error {
	if !strings.Contains(err.Error(), "web/") {
		err = fmt.Errorf("%s: %w", file, err)
	}
	if s.dir == "" {
		return err
	}
	return fmt.Errorf("templates in %s: %w", s.dir, err)
}

// funcs are what a template may call besides its data.
func funcs() template.FuncMap {
	return template.FuncMap{
		"line":     Line,
		"text":     Text,
		"markdown": Markdown,
		"clock":    Clock,
		"date":     Date,
		"in":       In,
		"ago":      Ago,
		"asker":    Asker,
		"deadline": Deadline,
		"until":    Until,
		"decision": Decision,
		"decided":  Decided,
		"outcome":  Outcome,
		"status":   Status,
		"names":    Names,
		"only":     OnlyThese,
		"group":    Group,
		"then":     Then,
		"track":    Track,
		"inc":      func(i int) int { return i + 1 },
		"ms":       func(t time.Time) int64 { return t.UnixMilli() },
	}
}

func number(n int) string { return strconv.Itoa(n) }
