package load

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Readers read the tasks and queues of a workload's tenants. The caller owns them and closes them
// after Run has returned.
type Readers struct {
	// Of contains one task reader for each tenant, in the order of the tenants. It is empty if the
	// workload has no reads of tasks.
	Of []driver.Reader
	// Queues contains one queue reader for each tenant. It is empty if the workload has no reads of
	// queues.
	Queues []driver.QueueReader
	// Confined reports that the access token of each reader is valid only for the reader's tenant.
	// The target must then deny reads that name another tenant.
	Confined bool
}

const (
	// foreignEach is the interval of cross-tenant reads: one of foreignEach reads asks for a task
	// or queue of another tenant.
	foreignEach = 8
	// readsWaitingMin and readsWaitingMax bound the length of the queue of due reads that each kind
	// and tenant has. Within these bounds the length is twice the number of reads that one producer
	// call makes due.
	readsWaitingMin, readsWaitingMax = 64, 4096
)

// readable is a task whose enqueue was acknowledged.
type readable struct {
	ledger   *ledger.Ledger
	id       string // assigned by the target
	identity ledger.Identity
	address  ledger.Address
}

// tenantReads contains the due reads of one tenant. Producers add reads without waiting; the
// tenant's readers remove them.
type tenantReads struct {
	tenant  string
	waiting map[string]chan readable // by kind; closed once all producers have ended
	// latest is the task whose read was the last to become due. Cross-tenant reads use it. It is
	// nil before the first read is due.
	latest atomic.Pointer[readable]
}

func (t *tenantReads) add(waiting chan<- readable, task readable) bool {
	t.latest.Store(&task)
	select {
	case waiting <- task:
		return true
	default:
		return false
	}
}

// readShare selects which of the tasks that one producer enqueues for one tenant are read. It is
// not safe for concurrent use.
type readShare struct {
	of    *tenantReads
	kinds []kindShare
}

// kindShare is one kind of read in a readShare.
type kindShare struct {
	kind    string
	waiting chan<- readable
	perTask float64
	due     float64 // sum of perTask over the tasks so far, minus the reads made due; below 1
	dropped uint64  // reads that became due inside the window while the queue was full
}

// openReads creates the reads of the workload's tenants, if the workload has reads. The slice all
// contains the reads of all workloads of the round. openReads appends the new reads to it and
// returns the result.
func (r *round) openReads(all []*tenantReads) []*tenantReads {
	w := r.cfg.Workload
	if !w.ReadsTasks() {
		return all
	}
	r.cfg.Ledger.WatchReads()
	for i, tenant := range tenantsOf(w) {
		reads := &tenantReads{tenant: tenant, waiting: map[string]chan readable{}}
		r.reads = append(r.reads, reads)
		for _, kind := range w.Reads.Kinds() {
			waiting := min(max(int(2*w.Reads.PerTask(kind)*float64(w.EnqueueBatch())), readsWaitingMin), readsWaitingMax)
			reads.waiting[kind] = make(chan readable, waiting)
			for range ways[kind].readers {
				r.readers = append(r.readers, newReader(r, kind, i))
			}
		}
	}
	return append(all, r.reads...)
}

// shareOf returns the readShare of a producer for a tenant, or nil if the workload has no reads.
func (r *round) shareOf(tenant int) *readShare {
	if r.reads == nil {
		return nil
	}
	share, reads := &readShare{of: r.reads[tenant]}, r.cfg.Workload.Reads
	for _, kind := range reads.Kinds() {
		share.kinds = append(share.kinds, kindShare{kind: kind, waiting: share.of.waiting[kind], perTask: reads.PerTask(kind)})
	}
	return share
}

// checkReaders checks that each tenant has the readers that the workload's kinds of reads need.
func (p *problems) checkReaders(w scenario.Workload, readers Readers) {
	err := w.Reads.Check()
	p.check(err == nil, "workload.reads: %v", err)
	for _, need := range []struct {
		needed bool
		of     string
		given  int
	}{{w.Reads.OfTasks(), "tasks", len(readers.Of)}, {w.Reads.OfQueues(), "queues", len(readers.Queues)}} {
		p.check(!need.needed || need.given == w.Tenants, "%d readers of %s given; these reads need one for each of the %d tenants",
			need.given, need.of, w.Tenants)
	}
}

var errNoIDs = errors.New("the driver returned an acknowledged task without an id; reads need the id")

// haveRead queues reads for the acknowledged tasks of a batch that the share selects. first is the
// sequence number of the batch's first task.
func (p *producer) haveRead(to *destination, first uint64, n int) {
	s, inside := to.reads, p.window.contains(p.clock.now())
	for i := range n {
		if p.outcomes[i] != nil {
			continue
		}
		if p.tasks[i].ID == "" {
			p.failure.set(fmt.Errorf("load: producer %d: %w", p.number, errNoIDs))
			return
		}
		id := ledger.Identity{Round: p.cfg.Ledger.Round(), Producer: uint32(p.number), Sequence: first + uint64(i)}
		for k := range s.kinds {
			of := &s.kinds[k]
			for of.due += of.perTask; of.due >= 1; of.due-- {
				if !s.of.add(of.waiting, readable{p.cfg.Ledger, p.tasks[i].ID, id, to.address}) && inside {
					of.dropped++
				}
			}
		}
	}
}

// KindReads contains the reads of one kind: their account, and their service time in nanoseconds.
type KindReads struct {
	Kind    string
	Account result.Reads
	Latency *hdrhistogram.Histogram
}

// mergeReads adds the records of the readers, and the reads that producers dropped, to the outcome.
func (r *round) mergeReads(o *Outcome) {
	if r.reads == nil {
		return
	}
	of := map[string]*KindReads{}
	for _, kind := range r.cfg.Workload.Reads.Kinds() {
		o.Reads = append(o.Reads, &KindReads{Kind: kind, Latency: result.NewHistogram()})
		of[kind] = o.Reads[len(o.Reads)-1]
	}
	for _, reader := range r.readers {
		into := of[reader.kind]
		reader.record.Mismatches = reader.record.Wrong + reader.outside.Wrong
		into.Account.Add(reader.record)
		o.Clamped += reader.latency.mergeInto(into.Latency)
		o.FailedCalls.Add(reader.again.failed)
	}
	for _, p := range r.producers {
		for _, share := range p.shares {
			for _, k := range share.kinds {
				of[k.kind].Account.Dropped += k.dropped
			}
		}
	}
}
