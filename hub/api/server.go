package api

import (
	"log/slog"
	"net/http"
	"time"
)

// What a connection may take. A poll is held for maxWait, so the answer may
// take that long and then some.
const (
	headerTimeout  = 5 * time.Second
	writeTimeout   = maxWait*time.Second + 30*time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 16 << 10
)

// Server returns a server for h with the time-outs that keep slow clients from
// holding connections: 5 s for the headers, 15 s for the body (set by [API] on
// each request, since a poll must not have it), 90 s for the answer, 2 min
// between requests. onShutdown is called when Shutdown begins; give it
// [API.Drain], or Shutdown waits for parked polls.
func Server(h http.Handler, log *slog.Logger, onShutdown ...func()) *http.Server {
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	for _, f := range onShutdown {
		srv.RegisterOnShutdown(f)
	}
	return srv
}
