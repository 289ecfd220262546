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

	"github.com/google/btree"
)

// Options configures a registry. A field that is zero selects its default.
type Options struct {
	// Now is the clock. Its wall time determines when tokens expire, and its monotonic time is used
	// for the rate of enqueues. Nil means time.Now.
	Now func() time.Time
	// Log is the logger for changes. Each message contains the caller's token id. Nil discards the
	// messages.
	Log *slog.Logger
	// Shared must be true in a cluster, where the nodes share the quotas: see Coordinator.
	Shared bool
}

// Registry contains the access tokens, and the quotas and accounts of tenants. Its methods are safe
// for concurrent use. Load must be called once, before all other methods except Account and Close.
type Registry struct {
	now     func() time.Time
	log     *slog.Logger
	started time.Time
	store   Store

	current  atomic.Pointer[snapshot]
	accounts sync.Map // tenant to *account
	sharing  *sharing // nil without a cluster
	names    *btree.BTreeG[*tenantName]
	opening  sync.Mutex    // held while an account is created or removed, and guards names
	writing  chan struct{} // a mutex for changes: it contains an element while it is locked

	sweeping sync.Mutex // guards timer and closed
	timer    *time.Timer
	closed   bool
}

// snapshot is the content of the registry. It is immutable once it is current.
type snapshot struct {
	tokens map[string]*token
	quotas map[string]Quotas // contains only tenants with quotas
}

// New returns an empty registry. The caller must call Close.
func New(o Options) *Registry {
	r := &Registry{now: o.Now, log: o.Log, writing: make(chan struct{}, 1), names: newTenantNames()}
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

// elapsed returns the registry's time: the time since New.
func (r *Registry) elapsed() time.Duration { return r.now().Sub(r.started) }

// Load fills the registry from its store. Later changes are saved to the same store.
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
	r.nameTokens(&snapshot{}, s)
	for name, q := range s.quotas {
		r.setQuotas(name, q)
	}
	r.sweep()
	return nil
}

// Close stops the registry's timer. The registry remains readable.
func (r *Registry) Close() {
	r.sweeping.Lock()
	defer r.sweeping.Unlock()
	r.closed = true
	if r.timer != nil {
		r.timer.Stop()
	}
}

type change struct {
	puts    []Record
	deletes []string
}

// change makes one change. decide modifies a copy of the current snapshot, and returns the records
// to store. The change takes effect after it is stored. Changes are serialized. If ctx ends, change
// stops waiting for other changes. It does not interrupt the write to the store, because the
// outcome would then be unknown.
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

func (r *Registry) follow(before, after *snapshot) {
	r.nameTokens(before, after)
	for id, t := range before.tokens { // end the streams of secrets that are no longer valid
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

// forget removes tokens that expired more than expiredKeptMs ago, and returns the keys of their
// records.
func (s *snapshot) forget(nowMs int64) (keys []string) {
	for id, t := range s.tokens {
		if t.ExpiresAtMs != 0 && t.ExpiresAtMs < nowMs-expiredKeptMs {
			keys = append(keys, tokenPrefix+id)
			delete(s.tokens, id)
		}
	}
	return keys
}

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

// sweepMax is the maximum time between two sweeps while tokens can expire. It is needed because the
// wall clock may be stepped.
const sweepMax = time.Minute

// sweep ends the identities of expired secrets, and sets the timer for the next sweep.
func (r *Registry) sweep() {
	// Lock before the snapshot is read, so that the last sweep sees the last change.
	r.sweeping.Lock()
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
		return // if the timer is still set, it causes a sweep without effect
	}
	wait := min(sweepMax, time.Duration(min(next-now, sweepMax.Milliseconds()))*time.Millisecond)
	if r.timer == nil {
		r.timer = time.AfterFunc(wait, r.sweep)
		return
	}
	r.timer.Reset(wait)
}
