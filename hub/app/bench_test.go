package app_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"beckon/hub"
	"beckon/hub/store"
)

// chunk is how many operations each side does before the other has its turn,
// so that both see the same machine.
const chunk = 4000

// BenchmarkSubmit compares durable submits over HTTP, everything on, with the
// plainest loop that commits the same rows in groups: the ratio is what counts.
// "nowhere" has a route that posts to nobody, "web" one delivery a submit, done
// at the same time.
func BenchmarkSubmit(b *testing.B) {
	for _, conns := range []int{1, 16, 64} {
		for _, route := range []string{"nowhere", "web"} {
			b.Run(fmt.Sprintf("conns=%d/route=%s", conns, route), func(b *testing.B) {
				text := fmt.Sprintf(yaml, filepath.Join(b.TempDir(), "beckon.db"))
				if route == "nowhere" {
					text = strings.Replace(text, "    post: [{web: alice}]\n", "", 1)
				}
				p := start(b, parse(b, text))
				submit := submitter(b, p, conns)
				raw := newRawLoop(b, route == "web")
				var httpTook, rawTook time.Duration
				var late []time.Duration
				done := 0
				for b.Loop() {
					took, each := submit(chunk)
					httpTook += took
					late = append(late, each...)
					rawTook += raw.run(conns, chunk)
					done += chunk
				}
				if b.Failed() {
					return
				}
				slices.Sort(late)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(done)/httpTook.Seconds(), "submit/s")
				b.ReportMetric(float64(done)/rawTook.Seconds(), "raw/s")
				b.ReportMetric(rawTook.Seconds()/httpTook.Seconds(), "submit/raw")
				b.ReportMetric(float64(late[len(late)*99/100].Microseconds())/1000, "p99-ms")
			})
		}
	}
}

func bigEnvelope() string {
	return envelope("KEY-0000000000000000", func(m map[string]any) { m["body"] = strings.Repeat("All checks passed. ", 45) })
}

// submitter returns a function that submits n asks over conns connections and
// says how long all and each took.
func submitter(b *testing.B, p *process, conns int) func(n int) (time.Duration, []time.Duration) {
	body := bigEnvelope()
	var list []*rawConn
	for range conns {
		list = append(list, dial(b, p))
	}
	next := 0
	return func(n int) (time.Duration, []time.Duration) {
		each := make([][]time.Duration, conns)
		begun := time.Now()
		var wg sync.WaitGroup
		for i, c := range list {
			base := next + i*(n/conns)
			wg.Go(func() {
				for k := range n / conns {
					req := request("POST", "/v1/messages", botToken, strings.Replace(body, "0000000000000000", fmt.Sprintf("%016d", base+k), 1))
					t := time.Now()
					status, out, err := c.roundTrip(req)
					if err != nil || status != "202" {
						b.Errorf("submit: %s %s %v", status, out, err)
						return
					}
					each[i] = append(each[i], time.Since(t))
				}
			})
		}
		wg.Wait()
		next += n
		return time.Since(begun), slices.Concat(each...)
	}
}

// rawLoop commits the rows of a submit as fast as the database takes them: one
// goroutine, groups of at most 64, WAL and synchronous=FULL, no hub.
type rawLoop struct {
	b    *testing.B
	conn *sql.Conn
	ins  []*sql.Stmt
	jobs chan chan error
}

var rawInserts = []string{
	`INSERT INTO message (id, agent_id, alias, key_hash, type, status, version, accepted_at, expires_at, resolved_at, resolution_id,
		resolved_via, head_seq, head_hash, sealed_seq, next_delivery, plan, raw)
	VALUES ($1,'deploybot/dev-team','',$2,'ask','open',1,$3,0,0,'','',1,$4,0,1,$5,$6)`,
	`INSERT INTO event (message_id, seq, at, kind, content, salt, content_hash, hash) VALUES ($1,1,$2,'submitted',$3,$4,$5,$5)`,
	`INSERT INTO audience (message_id, person, open) VALUES ($1,'alice',1), ($1,'bob',1)`,
	`INSERT INTO delivery (message_id, seq, kind, lane, channel, place, person, entry, posting, state, due_at, attempts, tries, maybe_sent,
		generation, last_code, last_error, created_at, done_at)
	VALUES ($1,0,'post','web','web','','alice',0,-1,'pending',$2,0,0,0,0,'','',$2,0)`,
}

func newRawLoop(b *testing.B, post bool) *rawLoop {
	b.Helper()
	path := filepath.Join(b.TempDir(), "raw.db")
	s, err := store.Open(b.Context(), path, store.Options{}) // for the schema
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		b.Fatal(err)
	}
	r := &rawLoop{b: b, jobs: make(chan chan error, 1024)}
	if r.conn, err = db.Conn(context.Background()); err != nil {
		b.Fatal(err)
	}
	inserts := rawInserts
	if !post {
		inserts = inserts[:3]
	}
	for _, q := range inserts {
		s, err := r.conn.PrepareContext(context.Background(), q)
		if err != nil {
			b.Fatalf("%s: %v", q, err)
		}
		r.ins = append(r.ins, s)
	}
	var wg sync.WaitGroup
	wg.Go(r.loop)
	b.Cleanup(func() {
		close(r.jobs)
		wg.Wait()
		_ = db.Close()
	})
	return r
}

func (r *rawLoop) loop() {
	ctx := context.Background()
	raw := []byte(bigEnvelope())
	for first := range r.jobs {
		batch := []chan error{first}
		for len(batch) < 64 && len(r.jobs) > 0 {
			batch = append(batch, <-r.jobs)
		}
		_, err := r.conn.ExecContext(ctx, "BEGIN IMMEDIATE")
		for range batch {
			if e := r.insert(ctx, raw); e != nil && err == nil {
				err = e
			}
		}
		if _, e := r.conn.ExecContext(ctx, "COMMIT"); e != nil && err == nil {
			err = e
		}
		for _, j := range batch {
			j <- err
		}
	}
}

func (r *rawLoop) insert(ctx context.Context, raw []byte) error {
	const plan = `{"route":"routes[0]","ask":["alice","bob"],"targets":[{"channel":"web","person":"alice","entry":0}]}`
	content := []byte(`{"agent":"deploybot/dev-team","asked":["alice","bob"],"route":"routes[0]","run":"run_1","targets":["web:alice"],"type":"ask","version":"0.5"}`)
	now := time.Now()
	id, at, random := hub.NewMessageID(now), now.UnixMilli(), make([]byte, 64)
	rand.Read(random)
	hash, key, salt := random[:32], random[32:48], random[48:]
	for i, args := range [][]any{{id, key, at, hash, plan, raw}, {id, at, content, salt, hash}, {id}, {id, at}}[:len(r.ins)] {
		if _, err := r.ins[i].ExecContext(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

func (r *rawLoop) run(producers, n int) time.Duration {
	begun := time.Now()
	var wg sync.WaitGroup
	for range producers {
		wg.Go(func() {
			done := make(chan error, 1)
			for range n / producers {
				r.jobs <- done
				if err := <-done; err != nil {
					r.b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(begun)
}

// BenchmarkClickToAgent measures from the moment a person's form leaves the
// browser to the moment the agent's parked poll has the Response.
func BenchmarkClickToAgent(b *testing.B) {
	p := startNew(b)
	alice := p.signIn("alice")
	agent := dial(b, p)
	var took []time.Duration
	for n := 0; n < b.N; n++ {
		id := p.submit(envelope(fmt.Sprint("k", n), nil))
		got := make(chan time.Time, 1)
		go func() {
			status, body, err := agent.roundTrip(request("GET", "/v1/messages/"+id+"?wait=60", botToken, ""))
			at := time.Now()
			var m struct{ Status string }
			if err != nil || status != "200" || json.Unmarshal(body, &m) != nil || m.Status != "answered" {
				b.Errorf("poll: %s %s %v", status, body, err)
			}
			got <- at
		}()
		form := alice.form(id, "answer", url.Values{"option": {"2"}})
		begun := time.Now()
		alice.send(id, "answer", form)
		took = append(took, (<-got).Sub(begun))
	}
	slices.Sort(took)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}
