package stalls

import (
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Listen extends a Pebble listener so that it reports flushes and compactions to s. The listener
// must already have FlushBegin and FlushEnd.
func (s Store) Listen(l *pebble.EventListener) {
	flushBegin, flushEnd := l.FlushBegin, l.FlushEnd
	l.FlushBegin = func(i pebble.FlushInfo) {
		flushBegin(i)
		s.Begin(FlushWork, i.JobID)
	}
	l.FlushEnd = func(i pebble.FlushInfo) {
		flushEnd(i)
		s.End(FlushWork, i.JobID)
	}
	l.CompactionBegin = func(i pebble.CompactionInfo) { s.Begin(CompactionWork, i.JobID) }
	l.CompactionEnd = func(i pebble.CompactionInfo) { s.End(CompactionWork, i.JobID) }
}

// Fsync records a long fsync that has just ended.
func (s Store) Fsync(took time.Duration) { s.Took(FsyncWork, took) }

// PartsOf returns the waits of a committed batch. The batch must not be closed yet.
func PartsOf(b *pebble.Batch) Parts {
	c := b.CommitStats()
	return Parts{
		Semaphore: c.SemaphoreWaitDuration, MemTables: c.MemTableWriteStallDuration, Level0: c.L0ReadAmpWriteStallDuration,
		Rotation: c.WALRotationDuration, Sync: c.CommitWaitDuration,
	}
}
