package main

import (
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// answer does what a person does in a browser: answer LINKFILE TITLE ACTION
// [NAME=VALUE…]. It opens the link in the file, finds the message by its title,
// loads its page and sends one of the page's forms.
func answer(ts *testscript.TestScript, neg bool, args []string) {
	link := anyLink.FindString(ts.ReadFile(args[0]))
	form := url.Values{}
	for _, a := range args[3:] {
		name, value, _ := strings.Cut(a, "=")
		form.Add(name, value)
	}
	err := browse(link, args[1], args[2], form)
	switch {
	case err != nil && !neg:
		ts.Fatalf("answer: %v", err)
	case err == nil && neg:
		ts.Fatalf("answer: the page took it")
	}
}

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// retry tries f until it works.
func retry(f func() error) error {
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err = f(); err == nil {
			return nil
		}
	}
	return fmt.Errorf("gave up after %s: %w", patience, err)
}

// errRefused is a form that the page did not take.
var errRefused = errors.New("the page did not take the form")

// browse signs in by a personal link and sends a form of the message with the
// title.
func browse(link, title, action string, form url.Values) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	browser := &http.Client{Jar: jar, Timeout: patience}
	u, err := url.Parse(link)
	if err != nil {
		return err
	}
	base := u.Scheme + "://" + u.Host
	if _, err := fetch(browser, link); err != nil {
		return err
	}
	var path string
	if err := retry(func() error {
		list, err := fetch(browser, base+"/")
		if err == nil {
			path, err = findRow(list, title)
		}
		return err
	}); err != nil {
		return err
	}
	page, err := fetch(browser, base+path)
	if err != nil {
		return err
	}
	form.Set("csrf", hidden(page, "csrf"))
	form.Set("nonce", hidden(page, "nonce"))
	req, err := http.NewRequest(http.MethodPost, base+path+"/"+action, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", base)
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	resp, err := browser.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: %s\n%s", errRefused, resp.Status, body)
	}
	return nil
}

var (
	anyLink = regexp.MustCompile(`http://\S+/l/\S+`)
	rowLink = regexp.MustCompile(`(?s)<a class="row" href="(/i/[^"]+)">(.*?)</a>`)
	anyTag  = regexp.MustCompile(`<[^>]*>`)
)

func findRow(list, title string) (string, error) {
	for _, m := range rowLink.FindAllStringSubmatch(list, -1) {
		if strings.Contains(html.UnescapeString(anyTag.ReplaceAllString(m[2], " ")), title) {
			return m[1], nil
		}
	}
	return "", fmt.Errorf("no row %q in the list", title)
}

func hidden(page, name string) string {
	m := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(page)
	if m == nil {
		return ""
	}
	return html.UnescapeString(m[1])
}

func fetch(c *http.Client, url string) (string, error) {
	resp, err := c.Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, resp.Status)
	}
	return string(b), err
}
