package disk

// SyncMarks follow which writes the fsyncs of a store's log cover. Mark is called before an fsync
// and when a log is closed, with a number greater than all earlier ones. Synced is called with that
// number when everything written to the logs before the call of Mark survives a power loss. The
// number of marks that are not synced exceeds the number of logs that wait for their fsync by at
// most two. The calls must not block.
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

// markLocked returns a new mark, which covers everything written so far.
func (d *deferredSync) markLocked() uint64 {
	d.marked++
	if d.marks != nil {
		d.marks.Mark(d.marked)
	}
	return d.marked
}

// synced reports to the marks that everything before a mark is on the disk.
func (d *deferredSync) synced(mark uint64) {
	d.mu.Lock()
	marks := d.marks
	d.mu.Unlock()
	if marks != nil {
		marks.Synced(mark)
	}
}
