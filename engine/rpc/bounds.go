package rpc

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/memory"
)

// Bounds are what all servers of a process share: how much of the process's memory calls may take.
type Bounds struct {
	shares   memory.Shares
	gate     *memory.Gate
	requests *memory.Budget // bytes of requests, as they count by memory.MessageFactor
	calls    *memory.Budget // calls and streams under way
	tenants  sync.Map       // the calls and streams of each tenant: *atomic.Int64 by name
}

// NewBounds returns bounds by the shares of a process. gate may be nil.
func NewBounds(s memory.Shares, gate *memory.Gate) *Bounds {
	return &Bounds{shares: s, gate: gate, requests: memory.NewBudget(s.RequestBytes), calls: memory.NewBudget(int64(s.Calls))}
}

// unbounded returns the bounds of a server whose memory nothing bounds.
func unbounded() *Bounds { return NewBounds(memory.SharesOf(0, 1, false), nil) }

// Requests is the budget of the bytes of requests, which calls over HTTP take from too.
func (b *Bounds) Requests() *memory.Budget { return b.requests }

// errUnread says that clients leave as many bytes of answers unread as the memory allows.
var errUnread = fmt.Errorf("%w: answers are not read", memory.ErrExhausted)

// enter counts a call or stream, and returns what ends it, or an error if there are too many or the process is too large.
func (b *Bounds) enter(i *access.Identity, l Link) (leave func(), err error) {
	if err := b.gate.Admit(); err != nil {
		return nil, err
	}
	if l.Unread() {
		return nil, errUnread
	}
	if !b.calls.Take(1) {
		return nil, fmt.Errorf("%w: %d calls and streams are under way", memory.ErrExhausted, b.shares.Calls)
	}
	if i == nil || i.Operator() {
		return func() { b.calls.Give(1) }, nil
	}
	n := b.tenant(i.Tenant)
	if most := b.tenantCalls(); n.Add(1) > most {
		n.Add(-1)
		b.calls.Give(1)
		return nil, fmt.Errorf("%w: the tenant has %d calls and streams under way", memory.ErrExhausted, most)
	}
	return func() {
		n.Add(-1)
		b.calls.Give(1)
	}, nil
}

// tenantCalls is how many calls and streams one tenant may have: others have room beside it.
func (b *Bounds) tenantCalls() int64 { return int64(max(1, b.shares.Calls/2)) }

func (b *Bounds) tenant(name string) *atomic.Int64 {
	if n, ok := b.tenants.Load(name); ok {
		return n.(*atomic.Int64)
	}
	n, _ := b.tenants.LoadOrStore(name, new(atomic.Int64))
	return n.(*atomic.Int64)
}

// reservation is what the request of a call takes of the budget. It is safe for concurrent use: a stream may end while its
// receiving goroutine takes room for another message.
type reservation struct {
	bounds *Bounds
	link   Link
	taken  atomic.Int64
	ended  atomic.Bool
}

// smallBytes is the size of a frame that is always decoded: there are only so many streams.
const smallBytes = 4 << 10

// take takes room for a message before it is decoded.
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

// give gives back what was taken.
func (r *reservation) give() { r.bounds.requests.Give(r.taken.Swap(0)) }

// end gives back what was taken, and what is taken from here on.
func (r *reservation) end() {
	r.ended.Store(true)
	r.give()
}

// streamBytes is about how many bytes of payloads a work stream is given before it says that it sent some.
func (b *Bounds) streamBytes() int64 {
	return max(streamBytesMin, min(streamBytesMax, b.shares.OutboxBytes/8))
}

// claimBytes is about how large the answer to a claim becomes. One task always fits.
func (b *Bounds) claimBytes() int64 { return b.shares.ClaimBytes }

const (
	streamBytesMax = 8 << 20
	// streamBytesMin is more than is sent before the shards are told: a stream that is read never stops.
	streamBytesMin = sentBytesMin + sentBytesMin/2
	// claimBytesMax is how large the answer to a claim becomes that several nodes answer.
	claimBytesMax = 3 << 20
)
