package queue

// Enqueued is the outcome of one task of Enqueue.
type Enqueued struct {
	Shard uint16 // the task's shard; set by package shard
	Ref   Ref
	// Duplicate is true if no task was stored, because Ref is an earlier task with the same
	// idempotency key.
	Duplicate bool
	Err       error // ErrTooManyQueues, a *QuotaError, a *FieldError, or nil
}

// Enqueue stores tasks of one tenant. It sets out[i] to the outcome of tasks[i].
func (s *State) Enqueue(now int64, tenant string, tasks []NewTask, out []Enqueued) {
	s.advance(now)
	s.worked += len(tasks)
	for i := range tasks {
		out[i] = s.enqueue(now, tenant, &tasks[i])
	}
}

func (s *State) enqueue(now int64, tenant string, n *NewTask) Enqueued {
	waits := n.Dependencies.waits()
	if n.Dependencies != nil {
		if err := s.dependencies.check(tenant, n.Dependencies); err != nil {
			return Enqueued{Err: err}
		}
	}
	q, err := s.queue(tenant, n.Queue)
	if err != nil {
		return Enqueued{Err: err}
	}
	var key newKey
	if n.Key != "" {
		var holder Ref
		var held bool
		if key, holder, held = s.takeKey(q, n); held {
			if n.KeyConflict != First {
				return Enqueued{Ref: holder, Err: ErrKeyTaken}
			}
			return Enqueued{Ref: holder, Duplicate: true}
		}
	}
	if bytes := TaskBytes(len(n.Payload)) + key.bytes + n.Dependencies.bytes(); key.replaces.Bucket != 0 {
		err = s.replace(q, key.unique.Key, key.replaces, bytes)
	} else {
		err = q.account.Add(bytes)
	}
	if err != nil {
		return Enqueued{Err: err}
	}
	dueAtMs := max(now+int64(n.DelayMs), n.NotBeforeMs)
	if waits {
		dueAtMs = NeverMs
	}
	t := Task{
		EnqueuedAtMs: now,
		MaxAttempts:  orDefault(orDefault(n.MaxAttempts, q.record.Policy.MaxAttempts), s.cfg.MaxAttempts),
		LeaseMs:      orDefault(orDefault(n.LeaseMs, q.record.Policy.LeaseMs), s.cfg.LeaseMs),
		Delayed:      dueAtMs > now,
		HasHeaders:   n.HasHeaders,
		Extras:       s.extras(q, n, key.unique),
		Payload:      n.Payload,
	}
	ref := Ref{Queue: q.record.ID, Priority: n.Priority, Seq: q.record.NextSeq}
	q.record.NextSeq++
	q.record.Counts.Enqueued++
	q.record.Counts.Bytes += uint64(len(t.Payload))
	s.touch(q)
	if !t.Delayed && s.pushFresh(q.lane(n.Priority), ref.Seq, t) {
		s.journal.PutFresh(ref, t)
	} else {
		s.journal.PutTask(ref, t)
	}
	switch {
	case key.unique != nil:
		u := UniqueRef{Ref: ref, Bucket: key.bucket, ExpiresAtMs: key.expiresAtMs, Bytes: uint32(len(t.Payload)), EndsAtMs: t.Extras.ExpiresAtMs, Depends: t.Extras.Depends}
		if t.Delayed {
			u.DueAtMs = dueAtMs
		}
		s.putUnique(q, key.unique.Key, u)
	case n.Key != "":
		s.putKey(q, n.Key, ref, key)
	}
	if t.Extras != nil && t.Extras.ExpiresAtMs != 0 {
		s.journal.PutExpiry(ref, t.Extras.ExpiresAtMs)
		s.ttlMs = min(s.ttlMs, t.Extras.ExpiresAtMs)
	}
	if t.Delayed {
		s.returnTask(ref, DelayedLane(n.Priority), Progress{DueAtMs: dueAtMs}, Due{
			MaxAttempts: t.MaxAttempts, LeaseMs: t.LeaseMs, Bytes: uint32(len(t.Payload)), Extras: t.Extras,
		})
		if waits {
			s.dependencies.begin(q, ref, n.Dependencies)
		}
		return Enqueued{Ref: ref}
	}
	q.record.Counts.Fresh++
	s.heat(q)
	return Enqueued{Ref: ref}
}

// takeKey prepares the record of a new task's key. If an earlier task holds the key, and the new task
// does not replace it, takeKey returns the earlier task instead.
func (s *State) takeKey(q *Queue, n *NewTask) (k newKey, holder Ref, held bool) {
	before, valid, used := s.findKey(q, n.Key)
	if valid {
		return k, before.Ref, true
	}
	scope, windowMs := n.KeyScope, orDefault(uint64(n.KeyWindowMs), q.record.Policy.KeyWindowMs)
	if scope == NotUnique && windowMs > 0 {
		scope = ForATime
	}
	if scope == NotUnique && !q.uniques {
		return s.newKey(q, n.Key, before, used), Ref{}, false
	}
	hash := HashKey(n.Key)
	unique, valid, found := s.findUnique(q, hash)
	replaces := valid && n.KeyConflict == Replace && scope != NotUnique && !unique.Started
	switch {
	case valid && !replaces:
		return k, unique.Ref, true
	case scope == NotUnique:
		return s.newKey(q, n.Key, before, used), Ref{}, false
	case found && !valid:
		s.dropExpired(q, hash, unique)
	}
	k = s.newUnique(hash, scope, int64(orDefault(windowMs, s.cfg.KeyWindowMs)))
	if replaces {
		k.replaces = unique
	}
	return k, Ref{}, false
}
