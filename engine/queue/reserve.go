package queue

// Reserved contains upper bounds of the numbers that a shard may have issued. After a power loss,
// clients may know ids and tokens from commits that the store lost. A recovered state therefore
// issues only numbers at or above these bounds.
type Reserved struct {
	Batch uint64 // higher than the numbers of all issued lease batches, which are part of tokens
	Queue uint32 // higher than all issued queue numbers
	Seq   uint64 // higher than all issued seqs of all queues
}

// One reservation reserves this many further numbers. Each reservation costs a durable write, and
// each restart may skip this many numbers. A reservation contains only few of the 2^32 queue
// numbers, but more batches and seqs than a shard issues in several seconds.
const (
	batchesReserved = 1 << 24
	queuesReserved  = 1 << 10
	seqsReserved    = 1 << 24
)

// Each term of a replicated shard has a separate range of numbers. The range contains more seqs
// than the number of tasks that can be enqueued in a term, and more lease batches than a leader
// issues in hours. Terms from TermsNumbered on share the last range, since so many elections are
// not expected.
const (
	termSeqBits   = 40
	termBatchBits = 28
	TermsNumbered = 1 << 20
)

// InTerm returns the start of a term's range of numbers in a replicated shard. r is the reservation
// in the shard's store.
func (r Reserved) InTerm(term uint64) Reserved {
	term = min(term, TermsNumbered)
	r.Seq += term << termSeqBits
	r.Batch += term << termBatchBits
	return r
}

// Since a backup was made, numbers may have been issued by the original server, and by servers that
// were restored from the same backup earlier. A restored store skips these numbers. It skips the
// numbers of 256 terms, plus 2^22 seqs and 2^10 lease batches for each millisecond since the
// backup. This is enough for 4 billion tasks per second in one queue, a million claims per second,
// and one term per 5 minutes. It is also enough for one start per 16 s under durability interval or
// none, where each start skips the reserved numbers.
const (
	restoredTerms    = 256
	seqsPerMsBits    = 22
	batchesPerMsBits = 10
	queuesPerRestore = 1 << 20
	restoredSeqMax   = 1 << 63
	restoredBatchMax = 1 << (63 - batchBits) // so that tokens fit into an int64
	restoredQueueMax = 1 << 31
)

// AfterRestore returns the reservation for a store that is restored from a backup. The backup was
// made in the given term, agoMs milliseconds ago. With the reservation, the store issues no number
// that was issued since the backup. Queue numbers are an exception: AfterRestore skips them only up
// to restoredQueueMax, because the seqs alone make ids unique. It returns ErrNumbersUsedUp if too
// few seqs or lease batches remain to be skipped.
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

// reserve writes a new reservation if this commit issued numbers beyond the last reservation. The
// journal makes this commit durable before its answers are sent.
func (s *State) reserve() {
	r := &s.reserved
	if s.nextBatch <= r.Batch && s.nextID <= r.Queue && s.seqMax <= r.Seq {
		return
	}
	*r = Reserved{Batch: s.nextBatch + batchesReserved, Queue: s.nextID + queuesReserved, Seq: max(s.seqMax, s.seqMin) + seqsReserved}
	s.journal.PutReserved(*r)
}
