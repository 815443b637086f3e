package outbox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// grow returns the lane of a family that has a name, and makes it if there is
// none; nil for a name of no family. Call it with o.mu held.
func (o *Outbox) grow(name string) *lane {
	if l := o.grown[name]; l != nil {
		return l
	}
	for _, f := range o.opt.Families {
		if !strings.HasPrefix(name, f.Prefix) {
			continue
		}
		l := newLane(Lane{Name: name, Concurrency: f.Concurrency}, o.store, &o.opt)
		l.retire = o.retire
		o.grown[name] = l
		if o.start != nil {
			o.start(l)
		}
		return l
	}
	return nil
}

// retire ends a lane of a family that has nothing left to do. What is due later
// starts another.
func (o *Outbox) retire(l *lane) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.empty || l.news || l.running > 0 {
		return false
	}
	delete(o.grown, l.Name)
	return true
}

// tend starts the lanes that have something to be done, and looks for more once
// a minute, until ctx ends.
func (o *Outbox) tend(ctx context.Context, start func(*lane)) {
	o.mu.Lock()
	o.start = start
	for _, l := range o.grown { // by a Due that came before
		start(l)
	}
	o.mu.Unlock()
	for ctx.Err() == nil {
		for _, f := range o.opt.Families {
			o.seek(ctx, f)
		}
		if !sleep(ctx, safetyLook) {
			break
		}
	}
	o.mu.Lock()
	o.start = nil // whoever waits for the lanes must not see more of them
	o.mu.Unlock()
}

// seek starts the lanes of a family that have something to be done.
func (o *Outbox) seek(ctx context.Context, f Family) {
	t := trouble{log: o.opt.Log.With("family", f.Prefix), op: "list lanes"}
	for {
		c, cancel := context.WithTimeout(ctx, storeTimeout)
		names, err := f.Pending(c)
		cancel()
		if err == nil {
			t.over()
			for _, name := range names {
				o.Due(name, time.Now())
			}
			return
		}
		if ctx.Err() != nil || !sleep(ctx, t.failed(fmt.Errorf("list lanes: %w", err))) {
			return
		}
	}
}

// all lists the lanes: the fixed ones in their order, then the others by name.
func (o *Outbox) all() []*lane {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := slices.Clone(o.order)
	for _, l := range o.grown {
		out = append(out, l)
	}
	slices.SortFunc(out[len(o.order):], func(a, b *lane) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
