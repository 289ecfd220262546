package call

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/memory"
)

// Bounds limit the memory of the calls of all servers of a process.
type Bounds struct {
	shares   memory.Shares
	gate     *memory.Gate
	requests *memory.Budget // encoded bytes of requests times memory.MessageFactor
	calls    *memory.Budget // active calls and streams
	tenants  sync.Map       // active calls and streams by tenant name: *atomic.Int64
}

// NewBounds returns bounds from the memory shares of a process. gate may be nil.
func NewBounds(s memory.Shares, gate *memory.Gate) *Bounds {
	return &Bounds{shares: s, gate: gate, requests: memory.NewBudget(s.RequestBytes), calls: memory.NewBudget(int64(s.Calls))}
}

// Unbounded returns the bounds of a server without a memory limit.
func Unbounded() *Bounds { return NewBounds(memory.SharesOf(0, 1, false), nil) }

// Shares returns the memory shares.
func (b *Bounds) Shares() memory.Shares { return b.shares }

// Brought reports to the memory gate that a call has brought bytes into memory, as a request of
// that size does.
func (b *Bounds) Brought(bytes int) { b.gate.Received(bytes) }

// Requests returns the budget for the bytes of requests, which calls over HTTP share.
func (b *Bounds) Requests() *memory.Budget { return b.requests }

// enter counts a call or stream and returns a function that ends it. It fails if too many are
// active, or if the process uses too much memory.
func (b *Bounds) enter(i *access.Identity, l Link) (leave func(), err error) {
	if err := b.gate.Admit(); err != nil {
		return nil, err
	}
	if l.Unread() {
		return nil, ErrUnread
	}
	if !b.calls.Take(1) {
		return nil, fmt.Errorf("%w: %d calls and streams are active", memory.ErrExhausted, b.shares.Calls)
	}
	if i == nil || i.Operator() {
		return func() { b.calls.Give(1) }, nil
	}
	n := b.tenant(i.Tenant)
	if most := b.tenantCalls(); n.Add(1) > most {
		n.Add(-1)
		b.calls.Give(1)
		return nil, fmt.Errorf("%w: the tenant has %d active calls and streams", memory.ErrExhausted, most)
	}
	return func() {
		n.Add(-1)
		b.calls.Give(1)
	}, nil
}

// tenantCalls bounds the calls and streams of one tenant: at most half, so that other tenants have
// room.
func (b *Bounds) tenantCalls() int64 { return int64(max(1, b.shares.Calls/2)) }

func (b *Bounds) tenant(name string) *atomic.Int64 {
	if n, ok := b.tenants.Load(name); ok {
		return n.(*atomic.Int64)
	}
	n, _ := b.tenants.LoadOrStore(name, new(atomic.Int64))
	return n.(*atomic.Int64)
}

// reservation is the part of the request budget that a call or stream uses. It is safe for
// concurrent use: a stream may end while its receiving goroutine reserves room for another message.
type reservation struct {
	bounds *Bounds
	link   Link
	taken  atomic.Int64
	ended  atomic.Bool
}

// smallBytes is the largest frame that is decoded even if the budget is used up. The bound on
// streams bounds these frames.
const smallBytes = 4 << 10

// take reserves room for a message before it is decoded.
func (r *reservation) take(bytes int) error {
	r.link.Consumed(bytes)
	n := int64(bytes) * memory.MessageFactor
	if bytes <= smallBytes {
		r.bounds.requests.Force(n)
	} else if !r.bounds.requests.Take(n) {
		return fmt.Errorf("%w: requests take %d bytes", memory.ErrExhausted, r.bounds.requests.Taken())
	}
	r.taken.Add(n)
	if r.ended.Load() {
		r.give()
	}
	return nil
}

// give returns the reserved bytes to the budget.
func (r *reservation) give() { r.bounds.requests.Give(r.taken.Swap(0)) }

// end returns the reserved bytes to the budget, and makes later calls of take return theirs
// immediately.
func (r *reservation) end() {
	r.ended.Store(true)
	r.give()
}
