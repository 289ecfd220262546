package queue

// Reserved bounds the numbers that a shard may have issued. After a loss of power, clients may have
// ids and tokens of commits that the store lost. Therefore a recovered state issues only numbers at
// or above these bounds.
type Reserved struct {
	Batch uint64 // exceeds all issued lease batches, from which tokens derive
	Queue uint32 // exceeds all issued queue numbers
	Seq   uint64 // exceeds all issued seqs of all queues
}

// The numbers that one reservation adds. Each reservation costs a durable write, and each restart
// may skip that many numbers. A reservation adds only few of the 2^32 queue numbers, and more
// batches and seqs than a shard issues in several seconds.
const (
	batchesReserved = 1 << 24
	queuesReserved  = 1 << 10
	seqsReserved    = 1 << 24
)

// Each term of a replicated shard has its own range of numbers: more seqs than tasks can be
// enqueued in a term, and more lease batches than a leader grants in hours. Terms from
// TermsNumbered on share the last range, since that many elections are not expected.
const (
	termSeqBits   = 40
	termBatchBits = 28
	TermsNumbered = 1 << 20
)

// InTerm returns the begin of a term's range in a replicated shard whose store has the reservation
// r.
func (r Reserved) InTerm(term uint64) Reserved {
	term = min(term, TermsNumbered)
	r.Seq += term << termSeqBits
	r.Batch += term << termBatchBits
	return r
}

// A restored store skips the numbers that may have been issued since the backup, by the original
// server and by servers restored from the same backup earlier. It skips the numbers of 256 terms
// plus 2^22 seqs and 2^10 lease batches for each millisecond since the backup. That covers 4
// billion tasks per second in one queue, a million claims per second, one term per 5 minutes, or
// one start per 16 s under durability interval or none, because such a start skips the reserved
// numbers.
const (
	restoredTerms    = 256
	seqsPerMsBits    = 22
	batchesPerMsBits = 10
	queuesPerRestore = 1 << 20
	restoredSeqMax   = 1 << 63
	restoredBatchMax = 1 << (63 - batchBits) // so that tokens fit into a signed integer
	restoredQueueMax = 1 << 31
)

// AfterRestore returns the reservation of a store restored from a backup that was made in the given
// term, agoMs ago. With the reservation, the store issues no number that was issued since the
// backup. Queue numbers are an exception: AfterRestore skips them only as far as there is room,
// because the seqs alone make ids unique. It returns ErrNumbersUsedUp if there is no room for seqs
// or lease batches.
func (r *Recovered) AfterRestore(term, agoMs uint64) (Reserved, error) {
	out := r.Reserved.InTerm(term)
	out.Batch = max(out.Batch, r.Meta.NextBatch)
	out.Queue = max(out.Queue, r.Meta.NextQueue)
	for i := range r.Queues {
		out.Seq = max(out.Seq, r.Queues[i].NextSeq)
	}
	seqsLeft, batchesLeft := restoredSeqMax-min(out.Seq, restoredSeqMax), restoredBatchMax-min(out.Batch, restoredBatchMax)
	agoMs = min(agoMs, 1<<41)
	seqs, batches := uint64(restoredTerms<<termSeqBits)+agoMs<<seqsPerMsBits, uint64(restoredTerms<<termBatchBits)+agoMs<<batchesPerMsBits
	if seqs > seqsLeft || batches > batchesLeft {
		return out, ErrNumbersUsedUp
	}
	out.Seq += seqs
	out.Batch += batches
	out.Queue = max(out.Queue, min(out.Queue+queuesPerRestore, restoredQueueMax))
	return out, nil
}

// skipReserved makes the state skip the numbers that may have been issued. It must run before
// queues are recovered.
func (s *State) skipReserved(r Reserved) {
	s.reserved = r
	s.seqMin = r.Seq
	s.meta.NextBatch = max(s.meta.NextBatch, r.Batch)
	s.meta.NextQueue = max(s.meta.NextQueue, r.Queue)
}

// reserve writes a new reservation if this commit issued numbers beyond the last one. The journal
// makes this commit durable before its answers are released.
func (s *State) reserve() {
	r := &s.reserved
	if s.meta.NextBatch <= r.Batch && s.meta.NextQueue <= r.Queue && s.seqMax <= r.Seq {
		return
	}
	*r = Reserved{Batch: s.meta.NextBatch + batchesReserved, Queue: s.meta.NextQueue + queuesReserved, Seq: max(s.seqMax, s.seqMin) + seqsReserved}
	s.journal.PutReserved(*r)
}
