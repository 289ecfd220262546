package queue

// retention stores keys, results and histories, and removes them and the tasks
// themselves.
type retention struct {
	*env
	accounts *accounts
	queues   *queues
	watches  *watches
	depends  *dependencies

	keys    buckets
	uniques buckets
	results buckets
	recent  recent

	finishing deadlines[*finishedTasks] // histories that trimDue will visit

	ofUnique [1]int64 // buckets of a FindUnique, for reuse

	markedUntilMs int64 // after this time, no mark of a removed task exists
	ttlMs         int64 // a lower bound of the time when the next time to live ends
}

// keepRecovered prevents the deletion of all recovered queues until the last recovered key and
// result are dropped. The state knows neither which queues these belong to, nor which of the keys
// are marks of removed tasks.
func (r *retention) keepRecovered() {
	if n := len(r.keys.live); n > 0 {
		r.markedUntilMs = r.keys.live[n-1]
	}
	for _, q := range r.queues.byID {
		q.keyed(r.markedUntilMs)
		q.uniques = len(r.uniques.live) > 0
		for _, b := range []*buckets{&r.keys, &r.uniques, &r.results} {
			q.keep(b.last())
		}
		r.resumeHistory(q)
		q.idleMs = recovered
		r.queues.idle.set(q)
	}
}

func (r *retention) dropBuckets() {
	free := func(tenant string, bytes int64) { r.cfg.Account(tenant).Remove(0, bytes) }
	if last, any := r.keys.drop(r.nowMs, free); any {
		r.journal.DropKeys(last)
	}
	if last, any := r.uniques.drop(r.nowMs, free); any {
		r.journal.DropUniques(last)
	}
	if last, any := r.results.drop(r.nowMs, free); any {
		r.journal.DropResults(last)
	}
}

// die moves a task to the dead letters. The task must have been removed from its part of the queue.
// ref.Attempt is the number of used attempts. The failures of last are set by die.
func (r *retention) die(ref *LeaseRef, token uint64, reason Reason, last lastAttempt) {
	q := r.queues.numbered(ref.Queue)
	last.failures = ref.Attempt
	f, claims := r.finished(ref, FinishDied, reason, last), Claims{}
	if f != nil {
		claims = f.Claims
	}
	r.dropExpiry(ref)
	if ref.NoteBytes > 0 {
		r.dropNote(ref)
		r.accounts.free(q).bytes += int64(ref.NoteBytes)
	}
	r.journal.PutProgress(ref.Ref, Progress{
		DueAtMs: r.nowMs, Attempts: ref.Attempt, MaxAttempts: ref.MaxAttempts, Token: token, History: ref.History, PriorityShift: ref.PriorityShift, Claims: claims,
	})
	r.journal.PutDead(ref.Ref, Dead{DiedAtMs: r.nowMs, Reason: reason})
	switch u := ref.Extras.unique(); {
	case u == nil:
	case u.Scope == UntilFinished:
		r.freeUnique(q, ref.Ref, u)
	default:
		r.started(q, ref.Ref, u)
	}
	q.record.Counts.Dead++
	q.counting().Died[reason]++
	r.recent.died(Failure{Tenant: q.record.Tenant, Queue: q.record.Name, Ref: ref.Ref, Number: ref.Attempt, Attempt: Attempt{EndedAtMs: r.nowMs}, Died: reason})
	r.queues.touch(q)
	r.depends.finished(ref, DependencyDead, nil)
	r.keepFinished(f)
	r.watches.end(Ended{Ref: ref.Ref, How: Died, Attempts: ref.Attempt})
}

// drop removes a task with all of its records. The task must have been removed from its part of the
// queue. attempts is the number of failed attempts, which are in its history unless they were
// dropped.
func (r *retention) drop(ref *LeaseRef, attempts uint32) {
	r.journal.DropTask(ref.Ref)
	if ref.HasProgress {
		r.journal.DropProgress(ref.Ref)
	}
	r.dropNote(ref)
	r.forget(ref, attempts)
	r.dropExpiry(ref)
	q := r.queues.numbered(ref.Queue)
	q.record.Counts.Bytes -= uint64(ref.Bytes)
	freed := r.accounts.free(q)
	freed.tasks++
	freed.bytes += ref.chargedBytes()
	r.queues.touch(q)
}

// remove drops a cancelled or purged task, and frees its key. attempts is as in drop. f is the entry
// of the task in the history, or nil.
func (r *retention) remove(ref *LeaseRef, attempts uint32, f *Finished) {
	r.drop(ref, attempts)
	q := r.queues.numbered(ref.Queue)
	q.record.Counts.Removed++
	if u := ref.Extras.unique(); u != nil {
		r.freeUnique(q, ref.Ref, u)
	} else {
		r.mark(q, ref.Ref)
	}
	r.depends.finished(ref, DependencyRemoved, nil)
	r.keepFinished(f)
	r.watches.end(Ended{Ref: ref.Ref, How: Removed})
}

func (r *retention) dropExpiry(ref *LeaseRef) {
	if ref.Extras != nil && ref.Extras.ExpiresAtMs != 0 {
		r.journal.DropExpiry(ref.Ref, ref.Extras.ExpiresAtMs)
	}
}
