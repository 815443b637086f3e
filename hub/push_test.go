package hub_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"beckon/hub"
	"beckon/hub/ma2h"
)

// agentHost stands in for those who speak HTTP to agents: what it says to a
// push, by host, and what it got.
type agentHost struct {
	mu   sync.Mutex
	got  []hub.Push
	at   []time.Time
	says func(ctx context.Context, p hub.Push, n int) error // n counts from 1; nil takes everything
}

func (a *agentHost) Push(ctx context.Context, p hub.Push) error {
	a.mu.Lock()
	a.got = append(a.got, p)
	a.at = append(a.at, time.Now())
	n, says := 0, a.says
	for i := range a.got {
		if a.got[i].DeliveryID == p.DeliveryID {
			n++
		}
	}
	a.mu.Unlock()
	if says == nil {
		return nil
	}
	return says(ctx, p, n)
}

func (a *agentHost) all() []hub.Push {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.got)
}

var (
	signing  = hub.NewSecret("signing-secret-0123456789abcdef")
	other    = hub.NewSecret("other-secret-0123456789abcdefgh")
	apiToken = hub.NewSecret("token-of-the-agent")
)

// calls lets deploybot be called back.
func calls(d *hub.Directory) {
	d.Push = &hub.PushRules{}
	a := d.Agents[deploybot]
	a.Secrets = map[string]hub.Secret{"SIGN": signing, "OTHER": other, "TOKEN": apiToken}
	a.Callbacks = []hub.CallbackHost{
		{Host: "agent.example.com", Sign: "SIGN"},
		{Host: "agent.example.com:8443", Sign: "OTHER"},
		{Host: "ed.example.com", Sign: hub.SignEd25519},
		{Host: "live.example.com", Sign: "SIGN"},
		{Host: "lost.example.com", Sign: "GONE"},
	}
}

func newPushWorld(t testing.TB, change func(*hub.Directory)) (*world, *agentHost) {
	t.Helper()
	a := &agentHost{}
	w := newWorldWith(t, func(d *hub.Directory) {
		calls(d)
		if change != nil {
			change(d)
		}
	}, func(o *hub.Options) { o.Pusher = a })
	return w, a
}

// pushed is an ask of a version whose Response goes to url.
func pushed(version, url string, auth doc) doc {
	return ask(func(d doc) {
		d["ma2h_version"] = version
		cb := doc{"mode": "push", "url": url}
		if auth != nil {
			cb["auth"] = auth
		}
		d.in("request")["callback"] = cb
	})
}

// What can't be pushed is refused at submit, with the field at fault and without
// a secret's name.
func TestPushRefusals(t *testing.T) {
	t.Parallel()
	const good = "https://agent.example.com/ma2h"
	const field = "invalid_field request.callback"
	for _, tt := range []struct {
		name   string
		change func(*hub.Directory)
		d      doc
		want   string
	}{
		{"no hub that pushes", func(d *hub.Directory) { d.Push = nil }, pushed("0.5", good, nil), field + ".url"},
		{"0.2", nil, pushed("0.2", good, nil), "version_not_supported request.callback.mode"},
		{"0.1 refused", func(d *hub.Directory) { d.Push.RefuseV01 = true }, pushed("0.1", good, nil), "version_not_supported request.callback.mode"},
		{"another host", nil, pushed("0.5", "https://evil.example.com/ma2h", nil), field + ".url"},
		{"a host that only ends so", nil, pushed("0.5", "https://xagent.example.com/", nil), field + ".url"},
		{"another port", nil, pushed("0.5", "https://agent.example.com:9443/", nil), field + ".url"},
		{"plain HTTP", nil, pushed("0.5", "http://agent.example.com/", nil), field + ".url"},
		{"a user", nil, pushed("0.5", "https://agent.example.com@evil.example.com/", nil), field + ".url"},
		{"a user of the right host", nil, pushed("0.5", "https://me:secret@agent.example.com/", nil), field + ".url"},
		{"no hosts at all", func(d *hub.Directory) { d.Agents[deploybot].Callbacks = nil }, pushed("0.5", good, nil), field + ".url"},
		{"this machine", func(d *hub.Directory) {
			d.Agents[deploybot].Callbacks = []hub.CallbackHost{{Host: "127.0.0.1:9000", Sign: "SIGN"}}
		}, pushed("0.5", "https://127.0.0.1:9000/", nil), field + ".url"},
		{"a signing key that is gone", nil, pushed("0.5", "https://lost.example.com/", nil), field + ".url"},
		{"0.1 and no secret", nil, pushed("0.1", "https://ed.example.com/", nil), field + ".url"},
		{"an unknown secret", nil, pushed("0.5", good, doc{"scheme": "hmac", "secret_ref": "env:NOPE"}), field + ".auth.secret_ref"},
		{"the hub's own key by its name", nil, pushed("0.5", good, doc{"scheme": "hmac", "secret_ref": "ed25519"}), field + ".auth.secret_ref"},
		{"an unknown token", nil, pushed("0.5", good, doc{"scheme": "bearer", "token_ref": "NOPE"}), field + ".auth.token_ref"},
		{"no token at 0.1", nil, pushed("0.1", good, doc{"scheme": "apikey"}), field + ".auth.token_ref"},
		{"a task", nil, message("task", func(d doc) {
			d["action"] = doc{"instructions": "x", "callback": doc{"mode": "push", "url": "https://evil.example.com/"}}
		}), "invalid_field action.callback.url"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, a := newPushWorld(t, tt.change)
			_, err := w.h.Submit(t.Context(), w.agent(deploybot), tt.d.raw())
			if codeAndField(err) != tt.want {
				t.Errorf("%v, want %s", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "NOPE") {
				t.Errorf("the refusal repeats the name: %v", err)
			}
			if _, err := w.h.Explain(w.agent(deploybot), tt.d.raw()); codeAndField(err) != tt.want {
				t.Errorf("explain: %v, want %s", err, tt.want)
			}
			if len(a.all()) != 0 {
				t.Error("something was pushed")
			}
		})
	}
}

// Each push has the credential that the agent named and the key that signs.
func TestPush(t *testing.T) {
	t.Parallel()
	type want struct {
		scheme              string
		credential, signing hub.Secret
		algorithm           string
	}
	hmac := want{"", hub.Secret{}, signing, ma2h.AlgHMAC}
	for _, tt := range []struct {
		name   string
		change func(*hub.Directory)
		d      doc
		want   want
	}{
		{"no auth", nil, pushed("0.5", "https://agent.example.com/ma2h?x=%41", nil), hmac},
		{"the port of https", nil, pushed("0.3", "https://AGENT.example.com:443/", nil), hmac},
		{"a port of its own", nil, pushed("0.4", "https://agent.example.com:8443/", nil), want{"", hub.Secret{}, other, ma2h.AlgHMAC}},
		{"hmac", nil, pushed("0.5", "https://agent.example.com/", doc{"scheme": "hmac", "secret_ref": "env:SIGN"}), want{"hmac", hub.Secret{}, signing, ma2h.AlgHMAC}},
		{"hmac with a secret of the agent's choice", nil, pushed("0.5", "https://agent.example.com/", doc{"scheme": "hmac", "secret_ref": "OTHER"}), want{"hmac", hub.Secret{}, other, ma2h.AlgHMAC}},
		{"bearer", nil, pushed("0.5", "https://agent.example.com/", doc{"scheme": "bearer", "token_ref": "env:TOKEN"}), want{"bearer", apiToken, signing, ma2h.AlgHMAC}},
		{"apikey with the hub's own key", nil, pushed("0.5", "https://ed.example.com/", doc{"scheme": "apikey", "token_ref": "TOKEN"}), want{"apikey", apiToken, hub.Secret{}, ma2h.AlgEd25519}},
		{"the hub's own key", nil, pushed("0.5", "https://ed.example.com/", nil), want{"", hub.Secret{}, hub.Secret{}, ma2h.AlgEd25519}},
		{"0.1", nil, pushed("0.1", "https://agent.example.com/", doc{"scheme": "hmac"}), want{"hmac", hub.Secret{}, signing, ma2h.AlgHMAC}},
		{"0.1 bearer", nil, pushed("0.1", "https://agent.example.com/", doc{"scheme": "bearer", "secret_ref": "TOKEN"}), want{"bearer", apiToken, signing, ma2h.AlgHMAC}},
		{"this machine, for development", func(d *hub.Directory) {
			d.Push.AllowLoopback = true
			d.Agents[deploybot].Callbacks = []hub.CallbackHost{{Host: "127.0.0.1", Sign: "SIGN"}}
		}, pushed("0.5", "http://127.0.0.1:39201/x", nil), hmac},
		{"this machine by name", func(d *hub.Directory) {
			d.Push.AllowLoopback = true
			d.Agents[deploybot].Callbacks = []hub.CallbackHost{{Host: "[::1]:9000", Sign: "SIGN"}}
		}, pushed("0.5", "http://[::1]:9000", nil), hmac},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, a := newPushWorld(t, tt.change)
				s := w.submit(tt.d)
				id := s.Message.ID
				w.answer(hub.Answer{MessageID: id, Option: 1})
				synctest.Wait()
				got := a.all()
				if len(got) != 1 {
					t.Fatalf("%d pushes", len(got))
				}
				p, m := got[0], w.message(id)
				if have := (want{p.Scheme, p.Credential, p.Signing, p.Algorithm}); have.scheme != tt.want.scheme || have.algorithm != tt.want.algorithm ||
					!have.credential.Equal(tt.want.credential) || !have.signing.Equal(tt.want.signing) {
					t.Errorf("scheme %q, algorithm %q, and the secrets %v %v", p.Scheme, p.Algorithm, p.Credential.Equal(tt.want.credential), p.Signing.Equal(tt.want.signing))
				}
				if url := tt.d.in("request")["callback"].(doc)["url"]; p.URL != url {
					t.Errorf("URL %q, want %q letter by letter", p.URL, url)
				}
				if string(p.Body) != string(m.Response) || p.MessageID != id || p.Minor != m.Minor() {
					t.Errorf("push %+v", p)
				}
				if m.Track.State != hub.TrackDelivered {
					t.Errorf("track %+v", m.Track)
				}
				if got := w.kinds(id); !slices.Contains(got, "delivered_to_agent") {
					t.Errorf("history %v", got)
				}
				if s := fmt.Sprintf("%v %+v", p, p); strings.Contains(s, signing.Reveal()) || strings.Contains(s, apiToken.Reveal()) {
					t.Error("a printed push holds a secret")
				}
			})
		})
	}
}

// A pull callback, with or without a URL, pushes nothing.
func TestPull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, a := newPushWorld(t, nil)
		id := w.submit(ask(func(d doc) {
			d.in("request")["callback"] = doc{"mode": "pull", "url": "https://evil.example.com/"}
		})).Message.ID
		w.answer(hub.Answer{MessageID: id, Option: 1})
		synctest.Wait()
		if len(a.all()) != 0 || w.count(id, hub.KindCallback) != 0 {
			t.Error("something was pushed")
		}
	})
}

// Every way in which an ask may end is pushed.
func TestPushOfEveryEnd(t *testing.T) {
	t.Parallel()
	const url = "https://agent.example.com/"
	for _, tt := range []struct {
		want string
		end  func(*world, string)
	}{
		{"declined", func(w *world, id string) { w.answer(hub.Answer{MessageID: id, Verb: hub.VerbDecline}) }},
		{"cancelled", func(w *world, id string) { _, _ = w.h.Cancel(w.t.Context(), w.agent(deploybot), id) }},
		{"expired", func(_ *world, _ string) { time.Sleep(time.Hour) }},
	} {
		t.Run(tt.want, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, a := newPushWorld(t, nil)
				d := pushed("0.5", url, nil)
				d["expires_at"] = ma2h.FormatTime(time.Now().Add(time.Minute))
				tt.end(w, w.submit(d).Message.ID)
				synctest.Wait()
				if got := a.all(); len(got) != 1 || !strings.Contains(string(got[0].Body), `"resolution":"`+tt.want+`"`) {
					t.Errorf("pushes %+v", got)
				}
			})
		})
	}
}

// What a receiver may do, and what becomes of the push. Attempts and time are
// capped, and what happened is there to be seen.
func TestPushFailures(t *testing.T) {
	t.Parallel()
	fail := func(e hub.DeliveryError) func(context.Context, hub.Push, int) error {
		return func(context.Context, hub.Push, int) error { return &e }
	}
	for _, tt := range []struct {
		name     string
		says     func(context.Context, hub.Push, int) error
		attempts int
		state    hub.DeliveryState
		code     string
		atMost   time.Duration // from the first attempt to the last
		atLeast  time.Duration
	}{
		{"500 then 200", func(_ context.Context, _ hub.Push, n int) error {
			if n < 3 {
				return &hub.DeliveryError{Code: "http_500", Msg: "the receiver answered 500"}
			}
			return nil
		}, 3, hub.Done, "ok", time.Minute, 10 * time.Second},
		{"410", fail(hub.DeliveryError{Code: "http_410", Msg: "the receiver answered 410", Permanent: true}), 1, hub.Dead, "http_410", 0, 0},
		{"down for ever", fail(hub.DeliveryError{Code: "refused", Msg: "connection refused"}), hub.MaxPushAttempts, hub.Dead, "refused", 3 * time.Hour, time.Hour},
		{"down for an hour", func(context.Context, hub.Push, int) error { return nil }, 0, hub.Done, "ok", 2 * time.Hour, time.Hour}, // says is replaced
		{"always later", fail(hub.DeliveryError{Code: "http_503", Msg: "the receiver answered 503", After: time.Hour}), hub.MaxPushAttempts, hub.Dead, "http_503", 12 * time.Hour, 10 * time.Hour},
		{"some other error", func(context.Context, hub.Push, int) error { return errors.New("no such thing") }, hub.MaxPushAttempts, hub.Dead, "error", 3 * time.Hour, time.Hour},
		{"never reads", func(ctx context.Context, _ hub.Push, _ int) error { <-ctx.Done(); return ctx.Err() }, hub.MaxPushAttempts, hub.Dead, "timeout", 3 * time.Hour, time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, a := newPushWorld(t, nil)
				a.says = tt.says
				if tt.name == "down for an hour" {
					up := time.Now().Add(time.Hour)
					a.says = func(context.Context, hub.Push, int) error {
						if time.Now().Before(up) {
							return &hub.DeliveryError{Code: "refused", Msg: "connection refused"}
						}
						return nil
					}
				}
				id := w.submit(pushed("0.5", "https://agent.example.com/", nil)).Message.ID
				w.answer(hub.Answer{MessageID: id, Option: 1})
				time.Sleep(tt.atMost + time.Hour)
				synctest.Wait()
				s, err := w.h.Inspect(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				i := slices.IndexFunc(s.Deliveries, func(d hub.Delivery) bool { return d.Kind == hub.KindCallback })
				d := s.Deliveries[i]
				if d.State != tt.state || d.LastCode != tt.code || tt.attempts > 0 && d.Attempts != tt.attempts {
					t.Errorf("delivery %s %s after %d attempts: %s", d.State, d.LastCode, d.Attempts, d.LastError)
				}
				if took := a.at[len(a.at)-1].Sub(a.at[0]); took > tt.atMost || took < tt.atLeast {
					t.Errorf("tried for %s, want %s to %s", took, tt.atLeast, tt.atMost)
				}
				for i := 2; i < len(a.at)-1 && tt.name == "down for ever"; i++ {
					if a.at[i].Sub(a.at[i-1]) > 30*time.Minute {
						t.Errorf("wait %d is %s", i, a.at[i].Sub(a.at[i-1]))
					}
				}
				want := hub.TrackNone
				if tt.state == hub.Done {
					want = hub.TrackDelivered
				}
				if s.Message.Track.State != want {
					t.Errorf("track %+v", s.Message.Track)
				}
				if got := slices.Contains(w.kinds(id), "delivery_failed"); got != (tt.state == hub.Dead) {
					t.Errorf("history %v", w.kinds(id))
				}
				m := s.Message
				body, err := w.h.Body(t.Context(), m, true)
				if err != nil {
					t.Fatal(err)
				}
				var got struct {
					Beckon hub.Extras
				}
				if err := json.Unmarshal(body, &got); err != nil {
					t.Fatal(err)
				}
				seen := false
				for _, x := range got.Beckon.Deliveries {
					seen = seen || x.Kind == hub.KindCallback && x.Target == "callback:agent.example.com" && x.State == tt.state && x.Attempts == d.Attempts
				}
				if !seen {
					t.Errorf("the agent sees %+v", got.Beckon.Deliveries)
				}
				w.stop()
			})
		})
	}
}

// A dead push can be tried again by an operator, at once, and also after a
// restart of the outbox.
func TestRetryOfAPush(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, a := newPushWorld(t, nil)
		a.says = func(context.Context, hub.Push, int) error {
			return &hub.DeliveryError{Code: "http_404", Msg: "the receiver answered 404", Permanent: true}
		}
		id := w.submit(pushed("0.5", "https://agent.example.com/", nil)).Message.ID
		w.answer(hub.Answer{MessageID: id, Option: 1})
		time.Sleep(5 * time.Minute) // the host's lane has ended
		dead, err := w.h.Deliveries(t.Context(), hub.DeliveryQuery{State: hub.Dead, Channel: hub.LaneCallback, Limit: 10})
		if err != nil || len(dead) != 1 || dead[0].Lane != "callback:agent.example.com" {
			t.Fatalf("dead: %+v, %v", dead, err)
		}
		a.says = nil
		if _, err := w.h.Retry(t.Context(), "ops", id, dead[0].Seq); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if m := w.message(id); m.Track.State != hub.TrackDelivered {
			t.Errorf("track %+v", m.Track)
		}
		if got := a.all(); len(got) != 2 || got[0].DeliveryID != got[1].DeliveryID || string(got[0].Body) != string(got[1].Body) {
			t.Errorf("pushes %+v", got)
		}
		w.stop()
	})
}

// The config is asked again at each attempt.
func TestPushAfterTheConfigChanged(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*hub.Directory){
		"the host is gone":   func(d *hub.Directory) { d.Agents[deploybot].Callbacks = nil },
		"the secret is gone": func(d *hub.Directory) { d.Agents[deploybot].Secrets = nil },
		"the agent is gone":  func(d *hub.Directory) { delete(d.Agents, deploybot) },
		"no more pushes":     func(d *hub.Directory) { d.Push = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, a := newPushWorld(t, nil)
				id := w.submit(pushed("0.5", "https://agent.example.com/", doc{"scheme": "bearer", "token_ref": "TOKEN"})).Message.ID
				d := directory()
				calls(d)
				change(d)
				w.h.SetDirectory(d)
				w.answer(hub.Answer{MessageID: id, Option: 1})
				synctest.Wait()
				dead, err := w.h.Deliveries(t.Context(), hub.DeliveryQuery{State: hub.Dead, Limit: 10})
				if err != nil || len(dead) != 1 || dead[0].LastCode != "callback_refused" || dead[0].LastError == "" {
					t.Errorf("dead: %+v, %v", dead, err)
				}
				if len(a.all()) != 0 {
					t.Error("it was pushed all the same")
				}
				w.stop()
			})
		})
	}
}

// A message that the agent has read is pushed all the same, and its track stays.
func TestPushOfWhatWasRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, _ := newPushWorld(t, nil)
		w.stopOutbox()
		id := w.submit(pushed("0.5", "https://agent.example.com/", nil)).Message.ID
		w.answer(hub.Answer{MessageID: id, Option: 1})
		time.Sleep(time.Second)
		w.read(id)
		read := w.message(id).Track.DeliveredAt
		time.Sleep(time.Second)
		w.work(hub.PushLanes + "agent.example.com")
		if got := w.message(id).Track; got.State != hub.TrackDelivered || !got.DeliveredAt.Equal(read) {
			t.Errorf("track %+v, want that of the read at %s", got, read)
		}
		if got := strings.Join(w.kinds(id), " "); !strings.HasSuffix(got, "answered delivered_to_agent pushed") {
			t.Errorf("history %s", got)
		}
	})
}

// work does what is due in a lane, without the outbox.
func (w *world) work(lane string) {
	w.t.Helper()
	ds, err := w.s.Claim(w.t.Context(), lane, time.Now(), time.Minute, 10)
	if err != nil || len(ds) == 0 {
		w.t.Fatalf("claim %s: %d, %v", lane, len(ds), err)
	}
	for _, d := range ds {
		if err := w.h.Work(w.t.Context(), d); err != nil {
			w.t.Fatal(err)
		}
	}
}

// Pushes that wait for a host that never answers keep no other host waiting.
func TestPushesToADeadHost(t *testing.T) {
	t.Parallel()
	n := rounds(t, 100)
	synctest.Test(t, func(t *testing.T) {
		w, a := newPushWorld(t, func(d *hub.Directory) { d.Limits.OpenMessages = 0 })
		a.says = func(ctx context.Context, p hub.Push, _ int) error {
			if !strings.Contains(p.URL, "live") {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		for range n {
			w.answer(hub.Answer{MessageID: w.submit(pushed("0.5", "https://agent.example.com/", nil)).Message.ID, Option: 1})
		}
		synctest.Wait()
		for range 5 {
			id := w.submit(pushed("0.5", "https://live.example.com/", nil)).Message.ID
			began := time.Now()
			w.answer(hub.Answer{MessageID: id, Option: 1})
			synctest.Wait()
			if m := w.message(id); m.Track.State != hub.TrackDelivered || m.Track.DeliveredAt.Sub(began) > time.Second {
				t.Fatalf("track %+v, answered at %s", m.Track, began)
			}
			time.Sleep(7 * time.Second)
		}
		w.stop()
	})
}
