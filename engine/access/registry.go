package access

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Options configure a registry. Zero fields mean the defaults.
type Options struct {
	// Now is the clock: its wall time says when tokens expire, its monotonic time how fast tenants enqueue.
	Now func() time.Time
	// Log receives a line for each change, with the token of the caller; nil discards the lines.
	Log *slog.Logger
	// Shared divides the quotas among the nodes of a cluster. See Coordinator.
	Shared bool
}

// Registry holds tokens and tenants. Its methods are safe for concurrent use. Load is called once, before all other methods
// except Account and Close.
type Registry struct {
	now     func() time.Time
	log     *slog.Logger
	started time.Time
	store   Store

	current  atomic.Pointer[snapshot]
	accounts sync.Map      // tenant to *account
	sharing  *sharing      // nil without a cluster
	opening  sync.Mutex    // held while an account is made or removed
	writing  chan struct{} // has an element while a change is made

	sweeping sync.Mutex // guards timer and closed
	timer    *time.Timer
	closed   bool
}

// snapshot is the content of the registry. It is immutable once it is current.
type snapshot struct {
	tokens map[string]*token
	quotas map[string]Quotas // of tenants with quotas
}

// New returns an empty registry. Close it.
func New(o Options) *Registry {
	r := &Registry{now: o.Now, log: o.Log, writing: make(chan struct{}, 1)}
	if r.now == nil {
		r.now = time.Now
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if o.Shared {
		r.sharing = newSharing()
	}
	r.started = r.now()
	r.current.Store(&snapshot{})
	return r
}

// elapsed returns the registry's time, which begins with New.
func (r *Registry) elapsed() time.Duration { return r.now().Sub(r.started) }

// Load fills the registry from its store, to which later changes are saved.
func (r *Registry) Load(ctx context.Context, store Store) error {
	records, err := store.Load(ctx)
	if err != nil {
		return fmt.Errorf("load the access records: %w", err)
	}
	s, err := decodeAll(records)
	if err != nil {
		return err
	}
	r.store = store
	r.current.Store(s)
	for name, q := range s.quotas {
		r.setQuotas(name, q)
	}
	r.sweep()
	return nil
}

// Close stops the registry's timer. The registry can still be read.
func (r *Registry) Close() {
	r.sweeping.Lock()
	defer r.sweeping.Unlock()
	r.closed = true
	if r.timer != nil {
		r.timer.Stop()
	}
}

// change has the records that a change puts and deletes.
type change struct {
	puts    []Record
	deletes []string
}

// change makes one change: decide alters a copy of the current snapshot and returns what to store. The change takes effect when
// it is stored. One change is made at a time. ctx bounds the wait for other changes. It does not bound the write to the
// store, because the outcome of an interrupted write would be unknown.
func (r *Registry) change(ctx context.Context, decide func(*snapshot) (change, error)) error {
	if r.store == nil {
		return errors.New("the access registry was not loaded")
	}
	select {
	case r.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-r.writing }()
	before := r.current.Load()
	after := &snapshot{tokens: maps.Clone(before.tokens), quotas: maps.Clone(before.quotas)}
	forgotten := after.forget(r.now().UnixMilli())
	c, err := decide(after)
	if err != nil {
		return err
	}
	if err := r.store.Save(context.WithoutCancel(ctx), c.puts, append(c.deletes, forgotten...)); err != nil {
		return fmt.Errorf("store the access records: %w", err)
	}
	r.current.Store(after)
	r.follow(before, after)
	return nil
}

// follow applies a change to identities, accounts and the timer.
func (r *Registry) follow(before, after *snapshot) {
	for id, t := range before.tokens { // end the streams of secrets that are not valid any more
		if now := after.tokens[id]; now != t {
			t.endAllBut(now)
		}
	}
	for name, q := range after.quotas {
		if q != before.quotas[name] {
			r.setQuotas(name, q)
		}
	}
	for name := range before.quotas {
		if _, still := after.quotas[name]; !still {
			r.setQuotas(name, Quotas{})
		}
	}
	r.sweep()
}

// forget removes tokens that expired more than expiredKeptMs ago, and returns their keys.
func (s *snapshot) forget(nowMs int64) (keys []string) {
	for id, t := range s.tokens {
		if t.ExpiresAtMs != 0 && t.ExpiresAtMs < nowMs-expiredKeptMs {
			keys = append(keys, tokenPrefix+id)
			delete(s.tokens, id)
		}
	}
	return keys
}

// endAllBut ends the identities of t that its successor does not have; the successor may be nil.
func (t *token) endAllBut(successor *token) {
	for _, s := range t.secrets {
		if successor == nil || !successor.has(s.identity) {
			s.identity.end()
		}
	}
}

func (t *token) has(i *Identity) bool {
	for _, s := range t.secrets {
		if s.identity == i {
			return true
		}
	}
	return false
}

// sweepMax bounds the time between two sweeps while tokens can expire, because the wall clock may be set.
const sweepMax = time.Minute

// sweep ends the identities whose time is over, and sets the timer for the next.
func (r *Registry) sweep() {
	r.sweeping.Lock() // before the snapshot is read: the last sweep sees the last change
	defer r.sweeping.Unlock()
	if r.closed {
		return
	}
	now := r.now().UnixMilli()
	next := int64(math.MaxInt64)
	for _, t := range r.current.Load().tokens {
		for _, s := range t.secrets {
			if end := t.endMs(s); end <= now {
				s.identity.end()
			} else {
				next = min(next, end)
			}
		}
	}
	if next == math.MaxInt64 {
		return // a timer that is still set sweeps once more, and finds nothing
	}
	wait := min(sweepMax, time.Duration(min(next-now, sweepMax.Milliseconds()))*time.Millisecond)
	if r.timer == nil {
		r.timer = time.AfterFunc(wait, r.sweep)
		return
	}
	r.timer.Reset(wait)
}
