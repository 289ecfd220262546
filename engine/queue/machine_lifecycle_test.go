package queue

import (
	"errors"
	"slices"

	"pgregory.net/rapid"
)

// absent returns the names of nonexistent queues with waiters.
func (m *machine) absent() map[queueName]bool {
	names := map[queueName]bool{}
	for _, w := range m.waiters {
		for _, key := range w.queues {
			if m.queues[key] == nil {
				names[key] = true
			}
		}
	}
	return names
}

func (m *machine) queuesOf(tenant string) (n int) {
	for _, q := range m.order {
		if q.tenant == tenant {
			n++
		}
	}
	return n
}

// deleteQueue deletes a queue. This must fail unless the queue is empty.
func (m *machine) deleteQueue(t *rapid.T) {
	if len(m.order) == 0 {
		return
	}
	q := rapid.SampledFrom(m.order).Draw(t, "queue")
	if rapid.Bool().Draw(t, "purged first") && q.held() > 0 {
		for range 1_000 {
			if !m.purgeSome(t, q, 9) {
				break
			}
			m.lateRefill(t)
		}
	}
	err := m.state.Delete(m.state.byID[q.id])
	if q.held() > 0 || m.recurs(q) {
		if !errors.Is(err, ErrQueueNotEmpty) {
			t.Fatalf("a queue with %d tasks is deleted: %v", q.held(), err)
		}
		return
	}
	if err != nil {
		t.Fatalf("delete: %v", err)
	}
	m.forget(q)
}

func (m *machine) forget(q *modelQueue) {
	delete(m.queues, queueName{q.tenant, q.name})
	m.order = slices.DeleteFunc(m.order, func(o *modelQueue) bool { return o == q })
}

func (q *modelQueue) held() (n int) {
	for _, task := range q.tasks {
		if task.stored() {
			n++
		}
	}
	return n
}

// vanished removes the queues that Tick deleted from the model, and checks that no task, key,
// result or waiter was lost with them.
func (m *machine) vanished(t *rapid.T) {
	for _, q := range slices.Clone(m.order) {
		if _, there := m.state.byID[q.id]; there {
			continue
		}
		for _, w := range m.waiters {
			if slices.Contains(w.queues, queueName{q.tenant, q.name}) {
				t.Fatalf("queue %s of %s was deleted although it has a waiter", q.name, q.tenant)
			}
		}
		for key, k := range m.keys {
			if key.queue == q.id && k.untilMs > m.now {
				t.Fatalf("queue %s of %s was deleted although its key %q is valid", q.name, q.tenant, key.key)
			}
		}
		for key, u := range m.uniques {
			if key.queue == q.id && u.holds(m.now) {
				t.Fatalf("queue %s of %s was deleted although its unique key %q is held", q.name, q.tenant, key.key)
			}
		}
		for ref, r := range m.results {
			if ref.Queue == q.id && r.RetainedUntilMs > m.now {
				t.Fatalf("queue %s of %s was deleted although the result of %v is valid", q.name, q.tenant, ref)
			}
		}
		if q.held() > 0 || q.version > 0 || q.paused || m.recurs(q) {
			t.Fatalf("queue %s of %s was deleted: %+v", q.name, q.tenant, *q)
		}
		m.forget(q)
	}
}
