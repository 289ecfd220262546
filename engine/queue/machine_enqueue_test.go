package queue

import (
	"cmp"
	"errors"

	"pgregory.net/rapid"
)

func (m *machine) enqueue(t *rapid.T) {
	tenant := drawTenant.Draw(t, "tenant")
	tasks := make([]NewTask, 7-rapid.IntRange(1, 6).Draw(t, "n less"))
	for i := range tasks {
		tasks[i] = m.drawNewTask(t)
	}
	out := make([]Enqueued, len(tasks))
	held := m.held(tenant)
	m.state.Enqueue(m.now, tenant, tasks, out)
	for i := range tasks {
		m.enqueued(t, held, tenant, &tasks[i], &out[i])
	}
}

func (m *machine) drawNewTask(t *rapid.T) NewTask {
	n := NewTask{
		Queue:       drawQueue.Draw(t, "queue"),
		Priority:    drawPrio.Draw(t, "priority"),
		Payload:     rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "payload"),
		MaxAttempts: rapid.Uint32Range(0, 3).Draw(t, "attempts"),
		LeaseMs:     rapid.SampledFrom([]uint64{0, 15}).Draw(t, "lease"),
		Key:         rapid.SampledFrom([]string{"", "", "", "", "a", "b"}).Draw(t, "key"),
		TTLMs:       rapid.SampledFrom([]uint64{0, 0, 0, 0, 0, 0, 0, 20, 90}).Draw(t, "ttl"),
		RetentionMs: rapid.SampledFrom([]uint64{0, 0, 60, resultBucketMs}).Draw(t, "retention"),
	}
	if n.Key != "" {
		m.drawUnique(t, &n)
	}
	if rapid.IntRange(0, 5).Draw(t, "plain") == 0 {
		n.Backoff = drawBackoff(t)
	}
	switch rapid.IntRange(0, 6).Draw(t, "with headers") {
	case 0:
		n.AddHeaders(drawHeaders(t))
	case 1, 2, 3:
		n.AddHeaders(map[string]string{GroupHeader: rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "group")})
	}
	switch delay := rapid.SampledFrom([]int64{0, 0, 0, 5, 5, 60, -9}).Draw(t, "delay"); {
	case delay < 0 || rapid.Bool().Draw(t, "not before"):
		n.NotBeforeMs = m.now + delay // may be in the past
	default:
		n.DelayMs = uint64(delay)
	}
	return n
}

func drawBackoff(t *rapid.T) Backoff {
	return Backoff{
		InitialMs:         rapid.SampledFrom([]uint64{0, 1, 30}).Draw(t, "initial"),
		MaxMs:             rapid.SampledFrom([]uint64{0, 40}).Draw(t, "max"),
		MultiplierPercent: rapid.SampledFrom([]uint32{0, 100, 150}).Draw(t, "multiplier"),
		JitterPercent:     rapid.SampledFrom([]uint32{0, 100}).Draw(t, "jitter"),
	}
}

func mergeBackoff(a, b Backoff) Backoff {
	return Backoff{
		InitialMs: cmp.Or(a.InitialMs, b.InitialMs), MaxMs: cmp.Or(a.MaxMs, b.MaxMs),
		MultiplierPercent: cmp.Or(a.MultiplierPercent, b.MultiplierPercent), JitterPercent: cmp.Or(a.JitterPercent, b.JitterPercent),
	}
}

func (m *machine) enqueued(t *rapid.T, held *fakeAccount, tenant string, n *NewTask, got *Enqueued) {
	q, err := m.queue(held, tenant, n.Queue)
	if err != nil {
		requireRefused(t, err, got.Err)
		return
	}
	key := keyOf{q.id, n.Key}
	var replaced *modelTask
	if ref, taken := m.holder(q, n.Key); n.Key != "" && taken {
		u := m.uniques[key]
		if u != nil && u.task.ref == ref && n.KeyConflict == Replace && u.replaceable(m.now) {
			replaced = u.task
		} else {
			want := Enqueued{Ref: ref, Duplicate: true}
			if n.KeyConflict != First {
				want = Enqueued{Ref: ref, Err: ErrKeyTaken}
			}
			if *got != want {
				t.Fatalf("key %q belongs to %v, got %+v, want %+v", n.Key, ref, *got, want)
			}
			return
		}
	}
	a, bytes := m.accounts[tenant], 128+int64(len(n.Payload))
	before, had := m.keys[key]
	until := max(m.now+int64(m.cfg.KeyWindowMs), before.untilMs+1)
	scope, window := m.scopeOf(q, n)
	var unique *modelUnique
	switch {
	case scope != NotUnique:
		var more int64
		unique, more = m.takeUnique(q, n.Key, scope, window)
		bytes += more
	case n.Key != "" && (!had || m.keyBucket(before.untilMs) != m.keyBucket(until)):
		bytes += 64 + int64(len(n.Key)) // the key does not replace an older record
	}
	if replaced != nil {
		bytes -= replaced.charged()
	}
	if replaced == nil && held.tasks >= a.tasksMax || !a.has(bytes, held.bytes) {
		var quota *QuotaError
		if !errors.As(got.Err, &quota) || quota.Tenant != tenant {
			t.Fatalf("got %+v with %d tasks of %d bytes held", *got, held.tasks, held.bytes)
		}
		if u := m.uniques[key]; unique != nil && u != nil && u.stored(m.now) && replaced == nil {
			u.freed = true // the record of an expired key
			held.bytes -= uniqueBytes
		}
		return
	}
	if replaced == nil {
		held.tasks++
	} else {
		m.remove(replaced)
	}
	held.bytes += bytes
	want := Ref{Queue: q.id, Priority: n.Priority, Seq: max(q.nextSeq(), m.skipped.Seq)}
	if *got != (Enqueued{Ref: want}) {
		t.Fatalf("got %+v, want %+v", *got, want)
	}
	if n.Key != "" && unique == nil {
		m.keys[key] = modelKey{ref: want, untilMs: until}
	}
	task := m.add(q, n, want)
	if unique != nil {
		task.key, task.extras.Unique = n.Key, &Unique{HashKey(n.Key), scope, unique.bucket}
		unique.task, unique.dueMs = task, task.dueMs
		m.uniques[key] = unique
	}
}

// add adds a task to the model that the state has enqueued.
func (m *machine) add(q *modelQueue, n *NewTask, ref Ref) *modelTask {
	attemptsMax := cmp.Or(n.MaxAttempts, q.policy.MaxAttempts, m.cfg.MaxAttempts)
	task := &modelTask{
		ref: ref, tenant: q.tenant, queue: n.Queue, payload: n.Payload, hasHeaders: n.HasHeaders, enqueuedMs: m.now,
		attemptsMax: attemptsMax, maxAttempts: attemptsMax, home: q, claimMs: claimNone, leaseMs: cmp.Or(n.LeaseMs, q.policy.LeaseMs, m.cfg.LeaseMs), phase: fresh,
		common: Common{Backoff: mergeBackoff(n.Backoff, q.policy.Backoff), RetentionMs: cmp.Or(n.RetentionMs, q.policy.RetentionMs)}, extras: Extras{Group: n.Group},
	}
	if ttl := cmp.Or(n.TTLMs, q.policy.TTLMs); ttl > 0 {
		task.extras.ExpiresAtMs = m.now + int64(ttl)
	}
	if due := max(m.now+int64(n.DelayMs), n.NotBeforeMs); due > m.now {
		task.phase, task.dueMs, task.settled = returned, due, true
	}
	q.tasks = append(q.tasks, task)
	m.tasks = append(m.tasks, task)
	m.byRef[ref] = task
	return task
}

// keyBucket returns the bucket of a key that expires at a time.
func (m *machine) keyBucket(untilMs int64) int64 {
	width := max(1_000, int64(m.cfg.KeyWindowMs)/4)
	return (untilMs + width - 1) / width * width
}

// held returns the expected account of a tenant. Its bytes are those of all records in the store.
func (m *machine) held(tenant string) *fakeAccount {
	a := &fakeAccount{}
	for _, task := range m.tasks {
		if task.tenant == tenant && task.stored() {
			a.tasks++
			if task.phase == leased {
				a.leases++
			}
		}
	}
	j := m.journal
	its := func(queue uint32) bool { return m.issued[queue] == tenant }
	for _, q := range m.order {
		if q.tenant == tenant {
			a.bytes += 512 + int64(len(q.tenant)+len(q.name))
		}
	}
	for ref, t := range j.tasks {
		if its(ref.Queue) {
			a.bytes += 128 + int64(len(t.Payload))
		}
	}
	for ref, note := range j.notes {
		if its(ref.Queue) {
			a.bytes += int64(len(note))
		}
	}
	for ref, history := range j.attempts {
		for _, attempt := range history {
			if its(ref.Queue) {
				a.bytes += 64 + int64(len(attempt.Error))
			}
		}
	}
	for at, r := range j.results {
		if its(at.ref.Queue) {
			a.bytes += 64 + int64(len(r.Value))
		}
	}
	for queue, entries := range j.finished {
		for _, f := range entries {
			if its(queue) {
				a.bytes += f.Size().Bytes
			}
		}
	}
	for _, r := range j.recurring {
		if its(r.Queue) {
			t := &r.Spec.Template
			a.bytes += int64(512 + len(r.Name) + len(r.Spec.Schedule.Cron) + len(t.Payload))
			for key, value := range t.Headers {
				a.bytes += int64(2 + 3 + len(key) + len(value))
			}
		}
	}
	for at := range j.keys {
		if its(at.queue) {
			a.bytes += 64 + int64(len(at.key))
		}
	}
	for at := range j.uniques {
		if its(at.queue) {
			a.bytes += uniqueBytes
		}
	}
	return a
}

// requireRefused checks that a queue was refused with the same error as in the model.
func requireRefused(t *rapid.T, want, got error) {
	var quota *QuotaError
	overBytes := errors.As(got, &quota) && quota.Quota == "bytes_max"
	if !errors.Is(got, want) && (!errors.Is(want, errNoRoom) || !overBytes) {
		t.Fatalf("a queue was refused with %v, want %v", got, want)
	}
}

func (m *machine) configure(t *rapid.T) {
	tenant, name := drawTenant.Draw(t, "tenant"), drawQueue.Draw(t, "queue")
	p := Policy{
		Placement:   rapid.SampledFrom([]Placement{Spread, Ordered}).Draw(t, "placement"),
		MaxAttempts: rapid.Uint32Range(0, 2).Draw(t, "attempts"),
		LeaseMs:     rapid.SampledFrom([]uint64{0, 33}).Draw(t, "lease"),
		TTLMs:       rapid.SampledFrom([]uint64{0, 0, 0, 0, 70}).Draw(t, "ttl"),
		RetentionMs: rapid.SampledFrom([]uint64{0, 99}).Draw(t, "retention"),
		KeyWindowMs: rapid.SampledFrom([]uint64{0, 0, 70}).Draw(t, "key window"),
	}
	if rapid.Bool().Draw(t, "backoff") {
		p.Backoff = drawBackoff(t)
	}
	if m.accounts[tenant].bytesMax == 0 { // a quota may refuse the entry of a dead task
		p.HistoryTasksMax = rapid.SampledFrom([]uint32{0, 0, 1, 2, 3, 20}).Draw(t, "history max")
		p.HistoryRetentionMs = rapid.SampledFrom([]uint64{0, 0, 40, 400}).Draw(t, "history retention")
	}
	if rapid.Bool().Draw(t, "limited") {
		p.Limit, p.GroupLimit = drawLimit(t), drawLimit(t)
	}
	version := rapid.Uint64Range(0, 9).Draw(t, "version")
	held := m.held(tenant)
	err := m.state.Configure(tenant, name, p, version)
	q, refused := m.queue(held, tenant, name)
	switch {
	case refused != nil:
		requireRefused(t, refused, err)
	case err != nil:
		t.Fatalf("configure: %v", err)
	case version > q.version:
		m.limit(q, &p)
		q.policy, q.version = p, version
	}
}

func (m *machine) pause(t *rapid.T) {
	tenant, name := drawTenant.Draw(t, "tenant"), drawQueue.Draw(t, "queue")
	paused := rapid.IntRange(0, 3).Draw(t, "paused") == 0
	held := m.held(tenant)
	err := m.state.Pause(tenant, name, paused)
	switch q, refused := m.queue(held, tenant, name); {
	case refused != nil:
		requireRefused(t, refused, err)
	case err != nil:
		t.Fatalf("pause: %v", err)
	default:
		q.paused = paused
	}
}
