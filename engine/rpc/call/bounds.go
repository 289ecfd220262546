package call

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/memory"
)

// Bounds limits the memory that the calls of all servers of a process use.
type Bounds struct {
	shares   memory.Shares
	gate     *memory.Gate
	requests *memory.Budget // bytes: encoded size of requests times memory.MessageFactor
	calls    *memory.Budget // number of active calls and streams
	tenants  sync.Map       // tenant name to number of active calls and streams (*atomic.Int64)
}

// NewBounds returns bounds from the memory shares of a process. gate may be nil.
func NewBounds(s memory.Shares, gate *memory.Gate) *Bounds {
	return &Bounds{shares: s, gate: gate, requests: memory.NewBudget(s.RequestBytes), calls: memory.NewBudget(int64(s.Calls))}
}

// Unbounded returns the bounds of a server without a memory limit.
func Unbounded() *Bounds { return NewBounds(memory.SharesOf(0, 1, false), nil) }

// Shares returns the memory shares.
func (b *Bounds) Shares() memory.Shares { return b.shares }

// Brought reports to the memory gate that a call uses additional memory, as a received request of
// the same number of bytes would.
func (b *Bounds) Brought(bytes int) { b.gate.Received(bytes) }

// Requests returns the budget for the bytes of requests. Calls over HTTP use the same budget.
func (b *Bounds) Requests() *memory.Budget { return b.requests }

// enter admits a call or stream and returns a function that the caller must call when it ends. It
// fails if too many calls and streams are active, or if the process uses too much memory.
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

// tenantCalls returns the maximum number of active calls and streams of one tenant. It is half of
// the total, so that other tenants have room.
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

// smallBytes is the size of the largest frame that is decoded even if the budget is used up. The
// limit on the number of streams limits the total size of these frames.
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

func (r *reservation) give() { r.bounds.requests.Give(r.taken.Swap(0)) }

// end returns all reserved bytes to the budget. If take is called later, it returns the reserved
// bytes immediately.
func (r *reservation) end() {
	r.ended.Store(true)
	r.give()
}
