package safehttp_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"beckon/hub/safehttp"
)

// What a call must not tell anybody but the other side.
const (
	secretHeader = "hunter2-in-a-header"
	secretPath   = "hunter2-in-the-path"
	secretQuery  = "hunter2-in-the-query"
	secretBody   = "hunter2-in-the-body"
	secretName   = "hunter2-in-a-name"
)

// shows returns every way in which an error could be written down.
func shows(err error) string {
	var b strings.Builder
	for ; err != nil; err = errors.Unwrap(err) {
		fmt.Fprintf(&b, "%v\n%+v\n%#v\n%q\n", err, err, err, err.Error())
	}
	return b.String()
}

// Receivers that say what they were sent wherever they can: none of it is in an
// error or in the log of the process. Not parallel: it takes that log.
func TestSecretsStayOut(t *testing.T) {
	var mu sync.Mutex
	var logged bytes.Buffer
	old := log.Writer()
	log.SetOutput(writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return logged.Write(p)
	}))
	defer log.SetOutput(old)

	echo := func(format string) func(net.Conn) {
		return func(conn net.Conn) {
			req, err := http.ReadRequest(bufio.NewReader(conn))
			if err != nil {
				return
			}
			body, _ := io.ReadAll(req.Body)
			all := strings.Join([]string{req.Header.Get("Authorization"), req.RequestURI, string(body)}, " ")
			fmt.Fprintf(conn, format, all)
		}
	}
	before := func(text string) func(net.Conn) { // says it unasked
		return func(conn net.Conn) {
			say(text + secretHeader + secretPath + "\r\n\r\n")(conn)
			io.Copy(io.Discard, conn) //nolint:errcheck // until it closes
		}
	}
	receivers := map[string]func(net.Conn){
		"status line":       echo("%s\r\n\r\n"),
		"status":            echo("HTTP/1.1 %s\r\n\r\n"),
		"version":           echo("HTTP/%s 200 OK\r\n\r\n"),
		"header name":       echo("HTTP/1.1 200 OK\r\n%s: x\r\n\r\n"),
		"header":            echo("HTTP/1.1 200 OK\r\n%s\r\n\r\n"),
		"length":            echo("HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n"),
		"encoding":          echo("HTTP/1.1 200 OK\r\nTransfer-Encoding: %s\r\n\r\n"),
		"chunk":             echo("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%s\r\n"),
		"location":          echo("HTTP/1.1 302 Found\r\nLocation: %s\r\n\r\n"),
		"hint":              echo("HTTP/1.1 103 Early Hints\r\nLink: %s\r\n\r\nx"),
		"breaks off":        echo("HTTP/1.1 200 OK\r\nX: %s"),
		"before it is told": before("HTTP/1.1 200 OK\r\nX: "),
		"a banner":          before("220 "),
		"a time-out":        before("HTTP/1.1 408 Request Timeout\r\n\r\n"),
	}
	w := newWorld(t)
	var all strings.Builder
	call := func(name string, c *safehttp.Client, url string) {
		_, err := c.Do(t.Context(), safehttp.Request{
			Method: "POST", URL: url, Body: []byte(secretBody),
			Header: http.Header{"Authorization": {"Bearer " + secretHeader}},
		})
		for _, secret := range []string{"hunter2", "Bearer", "ESMTP", "220"} {
			if strings.Contains(shows(err), secret) {
				t.Errorf("%s: an error tells %q: %v", name, secret, err)
			}
		}
		all.WriteString(shows(err))
	}
	url := "https://" + agentHost + "/" + secretPath + "?token=" + secretQuery
	for name, handle := range receivers {
		for _, secure := range []bool{true, false} {
			w.raw(agentAddr, secure, handle)
			for range 5 { // the unasked race with the request
				call(name, w.client(safehttp.Options{MaxBody: 100, BodyTime: patience / 10}), url)
			}
		}
		plain := listen(t, nil, handle)
		for range 5 {
			call(name, w.client(safehttp.Options{AllowLoopback: true, MaxBody: 100, BodyTime: patience / 10}), "http://"+plain+"/"+secretPath+"?"+secretQuery)
		}
	}
	w.dns.say(agentHost, "10.0.0.1")
	call("refused", w.client(safehttp.Options{}), url)
	call("no such name", w.client(safehttp.Options{}), strings.Replace(url, agentHost, "nobody.example.com", 1))
	call("user name", w.client(safehttp.Options{}), "https://"+secretName+":"+secretHeader+"@"+agentHost+"/"+secretPath)
	call("scheme", w.client(safehttp.Options{}), "http://"+agentHost+"/"+secretPath)
	call("fragment", w.client(safehttp.Options{}), url+"#"+secretPath)
	call("control", w.client(safehttp.Options{}), url+"\n"+secretPath)
	call("host", w.client(safehttp.Options{}), "https://"+secretName+"%00/"+secretPath)
	call("port", w.client(safehttp.Options{}), "https://"+agentHost+":"+secretName+"/")
	if !strings.Contains(all.String(), string(safehttp.Broken)) {
		t.Error("no receiver led to an error of its own")
	}
	mu.Lock()
	defer mu.Unlock()
	if logged.Len() > 0 {
		t.Errorf("the log has: %s", logged.String())
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
