package queue

// keyBucketMs returns the width of the buckets of idempotency keys: a quarter of the key window, so
// that a lookup reads at most five buckets. A sixth bucket may exist if an enqueue reused the key
// of a task that was removed in the same millisecond.
func keyBucketMs(windowMs uint64) int64 { return max(1_000, int64(windowMs)/4) }

// KeyRef is the record of an idempotency key.
type KeyRef struct {
	Ref         Ref
	ExpiresAtMs int64
}

type newKey struct {
	bucket      int64
	expiresAtMs int64
	bytes       int64 // the charge; 0 if it replaces an older record
	unique      *Unique
	replaces    UniqueRef // the zero value if it replaces no task
}

// findKey returns the record of a key. valid reports whether the key still belongs to the record's
// task: the key has not expired, and the task was not removed.
func (r *retention) findKey(q *Queue, key string) (k KeyRef, valid, found bool) {
	k, found = r.journal.FindKey(q.record.ID, key, r.keys.live)
	return k, found && k.ExpiresAtMs > r.nowMs && !r.removed(q, k.Ref), found
}

// newKey prepares the record of a key that belongs to no task. If used is true, before is an older
// record of the key. The new record must expire later than the older record, because FindKey
// returns the record that expires last.
func (r *retention) newKey(q *Queue, key string, before KeyRef, used bool) newKey {
	expires := r.nowMs + int64(r.cfg.KeyWindowMs)
	if used && before.ExpiresAtMs >= expires {
		expires = before.ExpiresAtMs + 1
	}
	k := newKey{bucket: r.keys.at(expires), expiresAtMs: expires, bytes: KeyBytes(len(key))}
	if used && r.journal.HasKey(q.record.ID, key, k.bucket) {
		k.bytes = 0
	}
	return k
}

func (r *retention) putKey(q *Queue, key string, ref Ref, k newKey) {
	q.keep(k.expiresAtMs)
	q.keyed(k.expiresAtMs)
	r.keys.note(k.bucket)
	if k.bytes > 0 {
		r.keys.add(k.bucket, q.record.Tenant, k.bytes)
	}
	r.journal.PutKey(q.record.ID, key, k.bucket, KeyRef{ref, k.expiresAtMs})
}
