package storetest

import (
	"errors"
	"sync/atomic"

	"beckon/hub"
	"beckon/hub/store"
)

var stateCases = []testCase{
	{"state is empty until put, and then the last value", stateKept},
	{"ping makes a round trip", func(k *kit) {
		if err := k.s.Ping(k.Context()); err != nil {
			k.Error(err)
		}
	}},
}

func stateKept(k *kit) {
	get := func(channel, key, want string) {
		k.Helper()
		if v, err := k.s.GetState(k.Context(), channel, key); v != want || err != nil {
			k.Errorf("%s %s: %q, %v, want %q", channel, key, v, err, want)
		}
	}
	get("slack", "token", "")
	for _, v := range []string{"one", "", "two\x00<&>é"} {
		if err := k.s.PutState(k.Context(), "slack", "token", v); err != nil {
			k.Fatal(err)
		}
		get("slack", "token", v)
	}
	get("email", "token", "")
	get("slack", "Token", "")
}

// closeDrains closes in the middle of a crowd: everybody gets an answer, and
// nobody is acknowledged who was not applied.
func closeDrains(k *kit) {
	changes := make([]*hub.Change, 200)
	for i := range changes {
		changes[i] = k.insert(spec{})
	}
	var applied, refused atomic.Int32
	race(len(changes)+1, func(i int) {
		if i == len(changes) {
			if err := k.s.Close(); err != nil {
				k.Errorf("close: %v", err)
			}
			return
		}
		switch err := k.s.Apply(k.Context(), changes[i]); {
		case err == nil:
			applied.Add(1)
		case errors.Is(err, store.ErrClosed):
			refused.Add(1)
		default:
			k.Errorf("change %d: %v", i, err)
		}
	})
	if n := applied.Load() + refused.Load(); n != int32(len(changes)) {
		k.Errorf("%d answers, want %d", n, len(changes))
	}
	if err := k.s.Apply(k.Context(), k.insert(spec{})); !errors.Is(err, store.ErrClosed) {
		k.Errorf("apply after close: %v", err)
	}
	if err := k.s.Ping(k.Context()); !errors.Is(err, store.ErrClosed) {
		k.Errorf("ping after close: %v", err)
	}
	k.closed = true
}
