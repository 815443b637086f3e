package listener_test

import (
	"strings"
	"testing"

	"beckon/channels/email/listener"
)

func TestNewChecksItsConfig(t *testing.T) {
	t.Parallel()
	hooks := new(hub).hooks(t)
	const remote = "can be reached from elsewhere"
	for name, tc := range map[string]struct {
		conf listener.Config
		want string // "": it is fine
	}{
		"loopback":      {listener.Config{Addr: "127.0.0.1:2424"}, ""},
		"another one":   {listener.Config{Addr: "127.9.9.9:2424"}, ""},
		"IPv6":          {listener.Config{Addr: "[::1]:2424"}, ""},
		"localhost":     {listener.Config{Addr: "localhost:2424"}, ""},
		"socket":        {listener.Config{Addr: "/run/beckon/lmtp"}, ""},
		"everywhere":    {listener.Config{Addr: ":2424"}, remote},
		"everywhere 4":  {listener.Config{Addr: "0.0.0.0:2424"}, remote},
		"everywhere 6":  {listener.Config{Addr: "[::]:2424"}, remote},
		"public":        {listener.Config{Addr: "192.0.2.1:2424"}, remote},
		"a name":        {listener.Config{Addr: "mx.example.com:2424"}, remote},
		"told":          {listener.Config{Addr: "0.0.0.0:2424", AllowRemote: true}, ""},
		"nothing":       {listener.Config{}, "neither host and port"},
		"no port":       {listener.Config{Addr: "127.0.0.1"}, "neither host and port"},
		"relative path": {listener.Config{Addr: "run/lmtp"}, "neither host and port"},
		"long path":     {listener.Config{Addr: "/" + strings.Repeat("x", 107)}, "longer than 107 bytes"},
		"protocol":      {listener.Config{Addr: "127.0.0.1:2424", Protocol: "pop3"}, "neither lmtp nor smtp"},
		"name":          {listener.Config{Addr: "127.0.0.1:2424", Name: "a b"}, "space in it"},
		"limit":         {listener.Config{Addr: "127.0.0.1:2424", MaxSize: -1}, "negative"},
	} {
		if _, err := listener.New(tc.conf, hooks); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	if _, err := listener.New(listener.Config{Addr: ":1", Protocol: "pop3"}, hooks); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("not all that is wrong is said: %v", err)
	}
	if _, err := listener.New(listener.Config{Addr: "/x"}, listener.Hooks{}); err == nil {
		t.Error("it needs no handler")
	}
}
