package queue

// maxBatch is the maximum number of tasks in one lease batch. The low batchBits bits of a token are
// the task's place in the batch.
const (
	batchBits = 12
	maxBatch  = 1 << batchBits
)

// lease is a batch of tasks that one Dispatch leased to one waiter. It is stored as one record.
type lease struct {
	id        uint64
	refs      []LeaseRef // Attempt is 0 if the lease has ended
	live      int32      // number of refs whose lease has not ended
	holder    uint32     // Waiter.holder of the waiter
	expiresMs int64      // a lower bound of the expiries of all live refs
	ext       *extensions
	index     int // place in leases.expiry
}

func (b *lease) deadlineMs() int64 { return b.expiresMs }
func (b *lease) place() *int       { return &b.index }

// Token returns the fencing token of the i-th task of a lease batch. Each batch has a higher number
// than all earlier batches, even after a restart. Each lease of a task therefore has a higher token
// than the task's earlier leases.
func Token(batch uint64, i int) uint64 { return batch<<batchBits | uint64(i) }

// TokenPlace returns the number of a token's lease batch, and the task's place in the batch.
func TokenPlace(token uint64) (batch uint64, i int) {
	return token >> batchBits, int(token & (maxBatch - 1))
}

func (b *lease) add(ref *LeaseRef) {
	b.refs = append(b.refs, *ref)
	b.note(ref)
}

func (b *lease) note(ref *LeaseRef) {
	b.live++
	b.expiresMs = min(b.expiresMs, ref.ExpiresAtMs)
}
