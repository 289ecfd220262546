package disk

// SyncMarks follow what the fsyncs of a store's log cover. Mark is called before an fsync, and when a log is closed, with a number greater than
// those before. Synced is called with that number when everything that was written to the logs before the call of Mark survives a loss
// of power. At most two marks more than logs that wait for their fsync are not synced; the calls must not block.
type SyncMarks interface {
	Begin() // called once, before the first commit
	Mark(n uint64)
	Synced(n uint64)
}

// track sets the marks.
func (d *deferredSync) track(marks SyncMarks) {
	marks.Begin()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.marks = marks
}

// markLocked returns a new mark, which stands for all that was written so far.
func (d *deferredSync) markLocked() uint64 {
	d.marked++
	if d.marks != nil {
		d.marks.Mark(d.marked)
	}
	return d.marked
}

// synced says that all from before a mark is on the disk.
func (d *deferredSync) synced(mark uint64) {
	d.mu.Lock()
	marks := d.marks
	d.mu.Unlock()
	if marks != nil {
		marks.Synced(mark)
	}
}
