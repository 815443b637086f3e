package api_test

import (
	"cmp"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"beckon/hub"
	"beckon/hub/api"
)

// TestGuessedIDs: with two agents, whatever one asks of ids that it guesses, it
// learns nothing of the other's. Status and body are the same for those that
// exist and those that don't, and with BECKON_ROUNDS of 1000 or more so is the
// time, in the median to a tenth.
func TestGuessedIDs(t *testing.T) {
	rounds := 50
	if n, err := strconv.Atoi(os.Getenv("BECKON_ROUNDS")); err == nil && n > 0 {
		rounds = n
	}
	w := newWorld(t, func(d *hub.Directory, o *api.Options) {
		withInboxes(d, o)
		d.Limits.RequestsPerMinute, d.Limits.OpenMessages = 0, 0
	})
	var exist, none []string
	for i := range max(rounds, 100) {
		id := w.submit(ask(map[string]any{"body": strings.Repeat("All checks passed. ", 200)}))
		if i%2 == 0 {
			w.answer(id, 1)
		}
		exist = append(exist, id)
		none = append(none, hub.NewMessageID(time.Now()))
	}
	for _, c := range []struct{ method, suffix, body string }{
		{"GET", "", ""},
		{"GET", "?include=beckon", ""},
		{"POST", "/cancel", ""},
		{"POST", "/ack", `{"note":"mine"}`},
		{"POST", "/resolve", `{"resolution":"answered","value":"ship"}`},
	} {
		ask := func(id string) (time.Duration, string) {
			r := httptest.NewRequestWithContext(t.Context(), c.method, "/v1/messages/"+id+c.suffix, strings.NewReader(c.body))
			r.Header.Set("Authorization", "Bearer "+otherToken)
			if c.body != "" {
				r.Header.Set("Content-Type", "application/json")
			}
			rec := httptest.NewRecorder()
			began := time.Now()
			w.api.ServeHTTP(rec, r)
			took := time.Since(began)
			rec.Header().Del("X-Request-Id")
			return took, fmt.Sprint(rec.Code, rec.Header(), rec.Body)
		}
		_, want := ask(none[0])
		for range 20 {
			_, _ = ask(none[0]) // what comes first pays for more than itself
		}
		if !strings.HasPrefix(want, "404 ") {
			t.Fatalf("%s %s of nothing: %s", c.method, c.suffix, want)
		}
		var took [2][]time.Duration
		for i := range rounds {
			for j := range 2 {
				k := (i + j) % 2 // neither is always the second
				id := [][]string{exist, none}[k][i]
				d, got := ask(id)
				if got != want {
					t.Fatalf("%s %s of %s: %s, of nothing %s", c.method, c.suffix, id, got, want)
				}
				took[k] = append(took[k], d)
			}
		}
		a, b := median(took[0]), median(took[1])
		t.Logf("%s %s: median of what exists %s, of nothing %s", c.method, c.suffix, a, b)
		if ratio := float64(a) / float64(b); rounds >= 1000 && (ratio > 1.1 || ratio < 1/1.1) {
			t.Errorf("%s %s: what exists takes %.2f times as long as nothing", c.method, c.suffix, ratio)
		}
	}
}

func median(d []time.Duration) time.Duration {
	slices.SortFunc(d, cmp.Compare)
	return d[len(d)/2]
}
