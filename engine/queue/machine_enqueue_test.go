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
	m.state.Enqueue(m.now, tenant, tasks, out)
	for i := range tasks {
		m.enqueued(t, tenant, &tasks[i], &out[i])
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
	if rapid.IntRange(0, 5).Draw(t, "plain") == 0 {
		n.Backoff = drawBackoff(t)
	}
	switch delay := rapid.SampledFrom([]int64{0, 0, 0, 5, 5, 60, -9}).Draw(t, "delay"); {
	case delay < 0 || rapid.Bool().Draw(t, "not before"):
		n.NotBeforeMs = m.now + delay // may be now, or long ago
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

// enqueued carries one task's enqueue out in the model.
func (m *machine) enqueued(t *rapid.T, tenant string, n *NewTask, got *Enqueued) {
	q := m.queue(tenant, n.Queue)
	if q == nil {
		if !errors.Is(got.Err, ErrTooManyQueues) {
			t.Fatalf("got %v beyond the queues that the shard may hold", got.Err)
		}
		return
	}
	key := keyOf{q.id, n.Key}
	if k := m.keys[key]; n.Key != "" && k.untilMs > m.now {
		if *got != (Enqueued{Ref: k.ref, Duplicate: true}) {
			t.Fatalf("key %q stands for %v until %d, got %+v", n.Key, k.ref, k.untilMs, *got)
		}
		return
	}
	if held := m.held(tenant); held.tasks >= m.accounts[tenant].tasksMax {
		var quota *QuotaError
		if !errors.As(got.Err, &quota) || quota.Tenant != tenant {
			t.Fatalf("got %+v with %d tasks held", *got, held.tasks)
		}
		return
	}
	want := Ref{Queue: q.id, Priority: n.Priority, Seq: uint64(len(q.tasks))}
	if *got != (Enqueued{Ref: want}) {
		t.Fatalf("got %+v, want %+v", *got, want)
	}
	if n.Key != "" {
		m.keys[key] = modelKey{want, m.now + int64(m.cfg.KeyWindowMs)}
	}
	attemptsMax := cmp.Or(n.MaxAttempts, q.policy.MaxAttempts, m.cfg.MaxAttempts)
	task := &modelTask{
		ref: want, tenant: tenant, queue: n.Queue, payload: n.Payload, enqueuedMs: m.now,
		attemptsMax: attemptsMax, maxAttempts: attemptsMax, leaseMs: cmp.Or(n.LeaseMs, q.policy.LeaseMs, m.cfg.LeaseMs), phase: fresh,
		extras: Extras{Backoff: mergeBackoff(n.Backoff, q.policy.Backoff), RetentionMs: cmp.Or(n.RetentionMs, q.policy.RetentionMs)},
	}
	if ttl := cmp.Or(n.TTLMs, q.policy.TTLMs); ttl > 0 {
		task.extras.ExpiresAtMs = m.now + int64(ttl)
	}
	if due := max(m.now+int64(n.DelayMs), n.NotBeforeMs); due > m.now {
		task.phase, task.dueMs, task.settled = returned, due, true
	}
	q.tasks = append(q.tasks, task)
	m.tasks = append(m.tasks, task)
	m.byRef[want] = task
}

// held is what the tenant's account must hold.
func (m *machine) held(tenant string) (a fakeAccount) {
	for _, task := range m.tasks {
		if task.tenant == tenant && task.stored() {
			a.tasks++
			a.bytes += int64(len(task.payload))
			if task.phase == leased {
				a.leases++
			}
		}
	}
	return a
}

func (m *machine) configure(t *rapid.T) {
	tenant, name := drawTenant.Draw(t, "tenant"), drawQueue.Draw(t, "queue")
	p := Policy{
		Placement:   rapid.SampledFrom([]Placement{Spread, Ordered}).Draw(t, "placement"),
		MaxAttempts: rapid.Uint32Range(0, 2).Draw(t, "attempts"),
		LeaseMs:     rapid.SampledFrom([]uint64{0, 33}).Draw(t, "lease"),
		TTLMs:       rapid.SampledFrom([]uint64{0, 0, 0, 0, 70}).Draw(t, "ttl"),
		RetentionMs: rapid.SampledFrom([]uint64{0, 99}).Draw(t, "retention"),
	}
	if rapid.Bool().Draw(t, "backoff") {
		p.Backoff = drawBackoff(t)
	}
	version := rapid.Uint64Range(0, 9).Draw(t, "version")
	err := m.state.Configure(tenant, name, p, version)
	q := m.queue(tenant, name)
	switch {
	case q == nil:
		if !errors.Is(err, ErrTooManyQueues) {
			t.Fatalf("configure: got %v beyond the queues that the shard may hold", err)
		}
	case err != nil:
		t.Fatalf("configure: %v", err)
	case version > q.version:
		q.policy, q.version = p, version
	}
}

func (m *machine) pause(t *rapid.T) {
	tenant, name := drawTenant.Draw(t, "tenant"), drawQueue.Draw(t, "queue")
	paused := rapid.IntRange(0, 3).Draw(t, "paused") == 0
	err := m.state.Pause(tenant, name, paused)
	switch q := m.queue(tenant, name); {
	case q == nil:
		if !errors.Is(err, ErrTooManyQueues) {
			t.Fatalf("pause: got %v beyond the queues that the shard may hold", err)
		}
	case err != nil:
		t.Fatalf("pause: %v", err)
	default:
		q.paused = paused
	}
}
