package queue

// Reserved bounds the numbers that a shard may have issued and whose commits a loss of power may have taken after clients got their
// ids and tokens. A recovered state issues only numbers from these bounds on.
type Reserved struct {
	Batch uint64 // lease batches below it, which tokens derive from
	Queue uint32 // queues below it
	Seq   uint64 // seqs below it, in all queues
}

// How many numbers one reservation adds. Each reservation costs a durable write, and each restart may skip as many numbers. Only few
// of the 2^32 queue numbers are reserved at once; of batches and seqs, more than a shard issues in several seconds.
const (
	batchesReserved = 1 << 24
	queuesReserved  = 1 << 10
	seqsReserved    = 1 << 24
)

// skipReserved makes the state skip the numbers that may have been issued before. It must be called before queues are recovered.
func (s *State) skipReserved(r Reserved) {
	s.reserved = r
	s.seqMin = r.Seq
	s.meta.NextBatch = max(s.meta.NextBatch, r.Batch)
	s.meta.NextQueue = max(s.meta.NextQueue, r.Queue)
}

// reserve writes a new reservation if this commit issued numbers beyond the last one. The journal makes this commit durable before
// its answers are released.
func (s *State) reserve() {
	r := &s.reserved
	if s.meta.NextBatch <= r.Batch && s.meta.NextQueue <= r.Queue && s.seqMax <= r.Seq {
		return
	}
	*r = Reserved{Batch: s.meta.NextBatch + batchesReserved, Queue: s.meta.NextQueue + queuesReserved, Seq: max(s.seqMax, s.seqMin) + seqsReserved}
	s.journal.PutReserved(*r)
}
