package main

import (
	"context"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

type runs func(context.Context) error

func (r runs) Run(ctx context.Context) error { return r(ctx) }

// A reload that hangs keeps nobody from stopping the hub, and signals that come
// meanwhile make one more.
func TestReloadBesideTheHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		hup, reloads, free := make(chan os.Signal, 1), 0, make(chan struct{})
		ended := make(chan error, 1)
		go func() {
			ended <- serve(ctx, runs(func(ctx context.Context) error { <-ctx.Done(); return nil }), func() { reloads++; <-free }, hup)
		}()
		for range 5 {
			hup <- syscall.SIGHUP
			synctest.Wait()
		}
		if reloads != 1 {
			t.Fatalf("%d reloads at once", reloads)
		}
		free <- struct{}{}
		synctest.Wait()
		if reloads != 2 {
			t.Fatalf("%d reloads for what came meanwhile, want one more", reloads)
		}
		at := time.Now()
		stop()
		if err := <-ended; err != nil || time.Since(at) > stopWithin {
			t.Errorf("stopped after %s with %v", time.Since(at), err)
		}
		close(free)
	})
}
