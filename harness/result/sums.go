package result

// Add adds the account of another generator or workload. It prefixes the samples with name unless
// name is "".
func (l *Ledger) Add(o Ledger, name string) {
	l.Enqueued += o.Enqueued
	l.Unknown += o.Unknown
	l.Completed += o.Completed
	l.InDoubt += o.InDoubt
	l.Left += o.Left
	l.Lost += o.Lost
	l.Duplicated += o.Duplicated
	l.Corrupted += o.Corrupted
	l.Misrouted += o.Misrouted
	l.Reordered += o.Reordered
	l.Contested += o.Contested
	l.Revoked += o.Revoked
	l.Reads += o.Reads
	l.Misread += o.Misread
	l.Failed += o.Failed
	l.Retried += o.Retried
	l.Dead += o.Dead
	l.Miscounted += o.Miscounted
	l.Delayed += o.Delayed
	l.Early += o.Early
	l.Results += o.Results
	l.Extended += o.Extended
	l.Repeated += o.Repeated
	l.Rekeyed += o.Rekeyed
	l.Taken += o.Taken
	l.Doubled += o.Doubled
	l.Cancelled += o.Cancelled
	l.Unnoticed += o.Unnoticed
	l.Labelled += o.Labelled
	l.WrongHeaders += o.WrongHeaders
	l.Finals += o.Finals
	l.Premature += o.Premature
	l.Unextended += o.Unextended
	l.WrongResults += o.WrongResults
	for _, sample := range o.Samples {
		if name != "" {
			sample = name + ": " + sample
		}
		l.Samples = append(l.Samples, sample)
	}
}

// Add adds the account of another open load. The peak does not change, because it is the peak of
// all open loads together.
func (a *Arrivals) Add(o Arrivals) {
	a.PerSecond += o.PerSecond
	a.Scheduled += o.Scheduled
	a.Finished += o.Finished
	a.Unfinished += o.Unfinished
	a.Unsent += o.Unsent
	a.Dropped += o.Dropped
	a.Refused += o.Refused
	a.Held += o.Held
}
