package slack

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"beckon/channels/slack/fakeslack"
	"beckon/hub/ma2h"
)

// What a hub of its own process is told by.
const (
	hubFile = "BECKON_TEST_HUB_FILE"
	hubAPI  = "BECKON_TEST_HUB_API"
	hubAsks = 24
)

// TestHubProcess is the hub that [TestKilled] kills.
func TestHubProcess(t *testing.T) {
	file := os.Getenv(hubFile)
	if file == "" {
		return // this is not the child of TestKilled
	}
	_, dir, _ := crowd(6, hubAsks)
	o := &office{t: t, app: workspace().Apps[0], api: os.Getenv(hubAPI), file: file, dir: officeDirectory(), logs: &logs{}}
	dir(o.dir)
	o.start()
	time.Sleep(time.Minute) // it does not live so long
}

// TestKilled kills the hub's process at any moment, again and again, while people
// answer: what was acknowledged to Slack is recorded, nothing is recorded twice,
// and each reply is in the end.
func TestKilled(t *testing.T) {
	t.Parallel()
	ws, dir, people := crowd(6, hubAsks)
	ws.RetryDelays = []time.Duration{200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 4 * time.Second}
	o := newOffice(t, officeOptions{workspace: ws, dir: dir})
	ids, copies := o.postAll(hubAsks)
	o.stop()
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Go(func() {
			time.Sleep(time.Duration(i) * 60 * time.Millisecond)
			p := o.person(people[i%len(people)])
			if i%3 == 0 {
				if _, err := p.Reply(copies[i].Channel, copies[i].TS, "2"); err != nil {
					t.Error(err)
				}
				return
			}
			for range 100 {
				a := action{Kind: kindAnswer, MessageID: id, Option: 2}
				_, err := p.Click(o.ctx(), copies[i].Channel, copies[i].TS, a.id(), fakeslack.Stale(copies[i]))
				if err == nil {
					return
				}
				if !errors.Is(err, fakeslack.ErrNoAck) {
					t.Error(err)
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
			t.Errorf("the clicks on %s never arrived", id)
		})
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for i := range rounds(t, 5) {
		child := exec.Command(self, "-test.run=^TestHubProcess$")
		child.Env = append(os.Environ(), hubFile+"="+o.file, hubAPI+"="+o.api)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		if err := waitFor(func() bool { return o.slack.Sockets() > 0 }); err != nil {
			t.Error("the hub does not come up")
		}
		time.Sleep(time.Duration(i*70%300) * time.Millisecond)
		if err := child.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = child.Wait()
	}
	o.start()
	wg.Wait()
	for i, id := range ids {
		d := o.detail(id, ma2h.Answered)
		if want := "human:" + people[i%len(people)]; d.Actor != want || string(d.Value) != `"hold"` {
			t.Errorf("%s: %s by %s, want %s", id, d.Value, d.Actor, want)
		}
		events, err := o.h.Events(o.ctx(), id)
		if err != nil {
			t.Fatal(err)
		}
		answered := 0
		for _, e := range events {
			if e.Kind == "answered" {
				answered++
			}
		}
		if answered != 1 {
			t.Errorf("%s was answered %d times", id, answered)
		}
	}
}
