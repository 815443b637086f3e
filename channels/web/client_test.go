package web_test

import (
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"beckon/hub"
)

// visitor is a browser without pictures: it keeps cookies as one does, and
// fills in forms from what a page shows.
type visitor struct {
	t       *testing.T
	mux     *http.ServeMux
	origin  string
	cookies []*http.Cookie
	header  http.Header // sent with every request
	remote  string      // where requests come from; "" for anywhere
}

// reply is one answer of the hub.
type reply struct {
	*http.Response
	body string
}

// text is what a person reads of it.
func (r reply) text() string { return textOf(r.body) }

var (
	tagRE   = regexp.MustCompile(`(?s)<(head|style)>.*?</(head|style)>|<[^>]*>`)
	spaceRE = regexp.MustCompile(`\s+`)
)

func textOf(page string) string {
	return strings.TrimSpace(spaceRE.ReplaceAllString(html.UnescapeString(tagRE.ReplaceAllString(page, " ")), " "))
}

func newVisitor(t *testing.T, ch hub.Channel, origin string) *visitor {
	t.Helper()
	mux := http.NewServeMux()
	for pattern, h := range ch.(hub.HTTPHandler).Handlers() {
		mux.Handle(pattern, h)
	}
	return &visitor{t: t, mux: mux, origin: origin, header: http.Header{}}
}

// do makes one request and follows nothing.
func (v *visitor) do(method, path string, form url.Values) reply {
	v.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r := httptest.NewRequest(method, v.origin+path, body)
	for k, vs := range v.header {
		r.Header[k] = vs
	}
	if v.remote != "" {
		r.RemoteAddr = v.remote
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if _, ok := r.Header["Sec-Fetch-Site"]; !ok {
			r.Header.Set("Sec-Fetch-Site", "same-origin")
		}
	}
	for _, c := range v.cookies {
		if r.URL.Path == c.Path || strings.HasPrefix(r.URL.Path, strings.TrimSuffix(c.Path, "/")+"/") {
			r.AddCookie(c)
		}
	}
	w := httptest.NewRecorder()
	v.mux.ServeHTTP(w, r)
	resp := w.Result()
	for _, c := range resp.Cookies() {
		v.keep(c)
	}
	return reply{resp, w.Body.String()}
}

func (v *visitor) keep(c *http.Cookie) {
	var kept []*http.Cookie
	for _, old := range v.cookies {
		if old.Name != c.Name || old.Path != c.Path {
			kept = append(kept, old)
		}
	}
	if c.MaxAge >= 0 {
		kept = append(kept, c)
	}
	v.cookies = kept
}

func (v *visitor) get(path string) reply { v.t.Helper(); return v.do("GET", path, nil) }

// open follows a personal link to where it leads.
func (v *visitor) open(link string) reply {
	v.t.Helper()
	got := v.get(strings.TrimPrefix(link, v.origin))
	if got.StatusCode != http.StatusSeeOther {
		v.t.Fatalf("the link answers %d: %s", got.StatusCode, got.text())
	}
	return v.get(got.Header.Get("Location"))
}

var hiddenRE = regexp.MustCompile(`name="(csrf|nonce)" value="([^"]*)"`)

// hidden reads what a page puts into its form by itself.
func hidden(page string) url.Values {
	f := url.Values{}
	for _, m := range hiddenRE.FindAllStringSubmatch(page, -1) {
		f.Set(m[1], html.UnescapeString(m[2]))
	}
	return f
}

// send loads a message's page, fills its form in and sends it; an accepted
// answer is followed to the page that it leads to.
func (v *visitor) send(id, action string, fill url.Values) reply {
	v.t.Helper()
	f := hidden(v.get("/i/" + id).body)
	for k, vs := range fill {
		f[k] = vs
	}
	got := v.do("POST", "/i/"+id+"/"+action, f)
	if got.StatusCode == http.StatusSeeOther {
		return v.get(got.Header.Get("Location"))
	}
	return got
}
