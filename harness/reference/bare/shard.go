package bare

import (
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

const (
	requestsMax      = 1024 // capacity of the deciding goroutine's queue
	commitsMax       = 4    // capacity of the store's queue
	repliesMax       = 1024 // capacity of a session's queue
	groupRequestsMax = 512  // maximum number of requests in a group
	// groupOperationsMax limits the number of enqueued and completed tasks in a group. A group that
	// exceeds it accepts no further request.
	groupOperationsMax = 8192
	// leasesKept is the number of lease records in the store. When there are more, each delivery
	// also removes the oldest record.
	leasesKept       = 4000
	readyCompact     = 1 << 16
	queueRecordBytes = 24
)

type session struct {
	replies chan []byte
	done    chan struct{} // closed when the stream has ended; after that replies are dropped

	// The following fields are used only for workers. Only the deciding goroutine may use them.

	credits int  // number of tasks that the worker can still accept
	waiting bool // whether the session is in shard.waiting
}

type request struct {
	from  *session
	apply func(*shard, request, *decision) (operations int, err error)
	frame []byte
}

// reply is a frame for a client. It is sent after the group is committed.
type reply struct {
	to    *session
	frame []byte
}

// decision is the outcome of a group of requests.
type decision struct {
	batch   *pebble.Batch
	replies []reply
}

type task struct {
	sequence uint64
	payload  []byte
}

// shard is the queue. Only its deciding goroutine may use the fields, except the channels.
type shard struct {
	requests  chan request
	decisions chan decision
	store     *pebble.DB
	how       *pebble.WriteOptions

	// the first head elements are no longer used; the client bounds the number of ready tasks
	ready    []task
	head     int
	leased   map[uint64]struct{}
	waiting  []*session // workers that have credits; the next one to receive tasks is first
	sequence uint64     // sequence number of the newest task
	leases   uint64     // number of deliveries

	taskKey, leaseKey, queueKey, queueRecord []byte
}

func newShard(store *pebble.DB, sync bool) *shard {
	s := &shard{
		requests: make(chan request, requestsMax), decisions: make(chan decision, commitsMax), store: store, how: pebble.NoSync,
		leased:  map[uint64]struct{}{},
		taskKey: append(make([]byte, 0, 13), "tasks"...), leaseKey: append(make([]byte, 0, 17), "leases..."...),
		queueKey: []byte("queue"), queueRecord: make([]byte, queueRecordBytes),
	}
	if sync {
		s.how = pebble.Sync
	}
	return s
}

// keyOf appends a number to a prefix. The prefix must have room for it. The key is valid until the
// next call with the same prefix.
func keyOf(prefix []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(prefix, n) }

// decide processes requests in groups until the goroutines of the server end.
func (s *shard) decide(g *group) error {
	for {
		r, ok := receive(g, s.requests)
		if !ok {
			return nil
		}
		d := decision{batch: s.store.NewBatch()}
		if err := s.group(r, &d); err != nil {
			return err
		}
		if !send(g, s.decisions, d) {
			return nil
		}
	}
}

// group processes a request and the requests that are pending after it. It then delivers tasks.
func (s *shard) group(r request, d *decision) error {
	yielded := false
	for requests, operations := 0, 0; ; {
		done, err := r.apply(s, r, d)
		if err != nil {
			return err
		}
		requests, operations = requests+1, operations+done
		if requests >= groupRequestsMax || operations > groupOperationsMax {
			break
		}
		next, has := gather(s.requests, &yielded)
		if !has {
			break
		}
		r = next
	}
	if err := s.deliver(d); err != nil {
		return err
	}
	if err := d.batch.Set(s.queueKey, s.queueRecord, nil); err != nil {
		return fmt.Errorf("store the queue: %w", err)
	}
	return nil
}

func (s *shard) enqueue(r request, d *decision) (operations int, err error) {
	f := r.frame
	if len(f) == 0 || len(f)%payloadBytes != 0 {
		return 0, fmt.Errorf("enqueue %d bytes: %w", len(f), errFrame)
	}
	answer := append(make([]byte, 0, 1+len(f)/payloadBytes*sequenceBytes), kindEnqueued)
	for ; len(f) > 0; f = f[payloadBytes:] {
		s.sequence++
		payload := f[:payloadBytes]
		if err := d.batch.Set(keyOf(s.taskKey, s.sequence), payload, nil); err != nil {
			return 0, fmt.Errorf("store a task: %w", err)
		}
		s.ready = append(s.ready, task{s.sequence, payload})
		answer = binary.LittleEndian.AppendUint64(answer, s.sequence)
		operations++
	}
	d.replies = append(d.replies, reply{r.from, answer})
	return operations, nil
}

// work removes the tasks that a worker has completed, and adds the worker's new credits.
func (s *shard) work(r request, d *decision) (operations int, err error) {
	credits, completed, err := readWork(r.frame)
	if err != nil {
		return 0, fmt.Errorf("complete tasks: %w", err)
	}
	w := r.from
	w.credits += credits
	if operations = len(completed) / sequenceBytes; operations > 0 {
		for ; len(completed) > 0; completed = completed[sequenceBytes:] {
			sequence := binary.LittleEndian.Uint64(completed)
			if _, is := s.leased[sequence]; !is {
				return 0, fmt.Errorf("task %d was completed but is not leased", sequence)
			}
			delete(s.leased, sequence)
			if err := d.batch.SingleDelete(keyOf(s.taskKey, sequence), nil); err != nil {
				return 0, fmt.Errorf("remove a task: %w", err)
			}
		}
		answer := append(make([]byte, 0, 1+countBytes), kindCompleted)
		d.replies = append(d.replies, reply{w, binary.LittleEndian.AppendUint32(answer, uint32(operations))})
	}
	if w.credits > 0 && !w.waiting {
		w.waiting = true
		s.waiting = append(s.waiting, w)
	}
	return operations, nil
}

// deliver leases tasks to waiting workers. Each worker receives at most as many tasks as it has
// credits.
func (s *shard) deliver(d *decision) error {
	for len(s.waiting) > 0 && s.head < len(s.ready) {
		w := s.waiting[0]
		n := min(w.credits, len(s.ready)-s.head)
		frame := append(make([]byte, 0, 1+n*taskBytes), kindTasks)
		lease := make([]byte, 0, n*sequenceBytes)
		next := s.ready[s.head : s.head+n]
		for i := range next {
			t := &next[i]
			s.leased[t.sequence] = struct{}{}
			frame = append(binary.LittleEndian.AppendUint64(frame, t.sequence), t.payload...)
			lease = binary.AppendUvarint(lease, t.sequence)
			t.payload = nil
		}
		s.head += n
		if err := s.storeLease(lease, d); err != nil {
			return err
		}
		d.replies = append(d.replies, reply{w, frame})
		w.credits -= n
		s.waiting = s.waiting[1:]
		if w.waiting = w.credits > 0; w.waiting {
			s.waiting = append(s.waiting, w)
		}
	}
	if s.head > readyCompact && s.head*2 > len(s.ready) {
		s.ready = append(s.ready[:0], s.ready[s.head:]...)
		s.head = 0
	}
	return nil
}

func (s *shard) storeLease(lease []byte, d *decision) error {
	s.leases++
	if err := d.batch.Set(keyOf(s.leaseKey, s.leases), lease, nil); err != nil {
		return fmt.Errorf("store a lease: %w", err)
	}
	if s.leases > leasesKept {
		if err := d.batch.SingleDelete(keyOf(s.leaseKey, s.leases-leasesKept), nil); err != nil {
			return fmt.Errorf("remove a lease: %w", err)
		}
	}
	return nil
}

// commit stores decisions and then sends their replies. It returns when the goroutines of the
// server end.
func (s *shard) commit(g *group) error {
	for {
		d, ok := receive(g, s.decisions)
		if !ok {
			return nil
		}
		if err := d.batch.Commit(s.how); err != nil {
			return fmt.Errorf("commit a group: %w", err)
		}
		if err := d.batch.Close(); err != nil {
			return fmt.Errorf("close a batch: %w", err)
		}
		for _, r := range d.replies {
			select {
			case r.to.replies <- r.frame:
			case <-r.to.done:
			case <-g.ctx.Done():
				return nil
			}
		}
	}
}
