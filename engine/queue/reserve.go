package queue

// Reserved are numbers that a shard may have issued though its store does not show that: a loss of power can take commits
// whose ids and tokens clients were told. A recovered state issues numbers from there on only.
type Reserved struct {
	Batch uint64 // lease batches below it, which tokens derive from
	Queue uint32 // queues below it
	Seq   uint64 // seqs below it, in all queues
}

// How many numbers are reserved at once. Each reservation costs a durable write, and each restart may leave as many
// numbers out: of 2^32 queue numbers few are reserved, of the others more than a shard issues in seconds.
const (
	batchesReserved = 1 << 24
	queuesReserved  = 1 << 10
	seqsReserved    = 1 << 24
)

// skipReserved has the state issue no number that may have been issued before. Queues must be recovered after it.
func (s *State) skipReserved(r Reserved) {
	s.reserved = r
	s.seqMin = r.Seq
	s.meta.NextBatch = max(s.meta.NextBatch, r.Batch)
	s.meta.NextQueue = max(s.meta.NextQueue, r.Queue)
}

// reserve writes a new reservation if numbers were issued beyond the last one. Their answers are released after this
// commit, which the journal makes durable.
func (s *State) reserve() {
	r := &s.reserved
	if s.meta.NextBatch <= r.Batch && s.meta.NextQueue <= r.Queue && s.seqMax <= r.Seq {
		return
	}
	*r = Reserved{Batch: s.meta.NextBatch + batchesReserved, Queue: s.meta.NextQueue + queuesReserved, Seq: max(s.seqMax, s.seqMin) + seqsReserved}
	s.journal.PutReserved(*r)
}
