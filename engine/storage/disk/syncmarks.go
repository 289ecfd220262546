package disk

// SyncMarks is notified which writes to a store's logs the fsyncs have made durable. Mark is called
// before an fsync and when a log is closed, with a number higher than in all earlier calls. Synced
// is called with the same number when everything that was written to the logs before that call of
// Mark survives a power loss. The number of marks for which Synced was not called is at most the
// number of logs that wait for their fsync, plus two. The methods must not block.
type SyncMarks interface {
	Begin() // called once, before the first commit
	Mark(n uint64)
	Synced(n uint64)
}

func (d *deferredSync) track(marks SyncMarks) {
	marks.Begin()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.marks = marks
}

// markLocked returns a new mark, which represents everything written so far.
func (d *deferredSync) markLocked() uint64 {
	d.marked++
	if d.marks != nil {
		d.marks.Mark(d.marked)
	}
	return d.marked
}

// synced calls SyncMarks.Synced, when everything before a mark is on the disk.
func (d *deferredSync) synced(mark uint64) {
	d.mu.Lock()
	marks := d.marks
	d.mu.Unlock()
	if marks != nil {
		marks.Synced(mark)
	}
}
