package queue

// watches contains the tasks whose changes or ends a reader of the state needs to know.
type watches struct {
	tracked map[Ref]*tracking
	// expiring contains the tasks that changed since the unanswered Refill of StreamExpired was
	// requested. It is nil if there is no such Refill.
	expiring map[Ref]bool
	watched  map[Ref]int // number of watches of each task
	ended    []Ended
	// runs contains the last task of each recurring task.
	runs map[Ref]*recurringTask
}

type tracking struct {
	users   int
	changes uint64
}

// Ended is the end of a watched task.
type Ended struct {
	Ref      Ref
	How      End
	Attempts uint32 // used attempts of a dead task
}

// End is the kind of a task's end.
type End uint8

// The ends.
const (
	Completed End = iota + 1
	Died
	Removed // cancelled or purged
)

// Track starts to count the changes of a task, and returns the count so far. A caller that reads
// the task in another goroutine compares this count with Changes to learn whether the task changed
// in between. For each Track, Untrack must be called once.
func (w *watches) Track(ref Ref) uint64 {
	t := w.tracked[ref]
	if t == nil {
		t = &tracking{}
		w.tracked[ref] = t
	}
	t.users++
	return t.changes
}

// Changes returns the change count of a tracked task.
func (w *watches) Changes(ref Ref) uint64 { return w.tracked[ref].changes }

// Untrack undoes one Track.
func (w *watches) Untrack(ref Ref) {
	if t := w.tracked[ref]; t.users > 1 {
		t.users--
	} else {
		delete(w.tracked, ref)
	}
}

func (w *watches) changed(ref Ref) {
	if w.expiring != nil {
		w.expiring[ref] = true
	}
	if len(w.tracked) == 0 {
		return
	}
	if t := w.tracked[ref]; t != nil {
		t.changes++
	}
}

// Watch makes Ended report the end of a task: its completion, death or removal. Ended reports it
// once, even if Watch was called several times.
func (w *watches) Watch(ref Ref) { w.watched[ref]++ }

// Unwatch undoes one Watch.
func (w *watches) Unwatch(ref Ref) {
	if w.watched[ref]--; w.watched[ref] <= 0 {
		delete(w.watched, ref)
	}
}

// Ended returns the watched tasks that ended since the last call.
func (w *watches) Ended() []Ended {
	e := w.ended
	w.ended = nil
	return e
}

func (w *watches) end(e Ended) {
	if len(w.watched)+len(w.runs) == 0 {
		return
	}
	if r := w.runs[e.Ref]; r != nil {
		r.unfinished = false
	}
	if _, ok := w.watched[e.Ref]; ok {
		w.ended = append(w.ended, e)
	}
}
