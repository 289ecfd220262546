package queue

import (
	"errors"
	"slices"

	"pgregory.net/rapid"
)

// modelUnique is the task that took a unique key last.
type modelUnique struct {
	task    *modelTask
	untilMs int64 // of ForATime
	bucket  int64 // of ForATime
	freed   bool  // the task was cancelled or purged
	dueMs   int64 // the due time before the task started; 0 if the task was not delayed
	shift   int8  // the shift of its priority before the task started
}

const uniqueBytes = 96

// holds reports whether the task holds its key.
func (u *modelUnique) holds(now int64) bool {
	task := u.task
	switch task.extras.Unique.Scope {
	case ForATime:
		return !u.freed && u.untilMs > now
	case UntilStarted:
		return task.waits() && len(task.tokens) == 0 && !task.immortal
	case UntilFinished, NotUnique:
	}
	return task.waits() || task.phase == leased
}

// replaceable reports whether the task of a held key has neither started nor died.
func (u *modelUnique) replaceable(now int64) bool {
	return u.holds(now) && u.task.waits() && len(u.task.tokens) == 0 && !u.task.immortal
}

// stored reports whether the key has a record. A record stays until its bucket ends.
func (u *modelUnique) stored(now int64) bool {
	if u.task.extras.Unique.Scope == ForATime {
		return !u.freed && u.bucket > now
	}
	return u.holds(now)
}

func (m *machine) unique(queue uint32, key string) *modelUnique {
	return m.uniques[keyOf{queue, key}]
}

// uniqueOf returns the key that a task holds, or nil.
func (m *machine) uniqueOf(task *modelTask) *modelUnique {
	if u := m.unique(task.ref.Queue, task.key); u != nil && u.task == task && u.holds(m.now) {
		return u
	}
	return nil
}

func (m *machine) drawUnique(t *rapid.T, n *NewTask) {
	n.KeyScope = rapid.SampledFrom([]Scope{NotUnique, NotUnique, ForATime, UntilStarted, UntilFinished, UntilFinished}).Draw(t, "scope")
	if n.KeyScope != NotUnique {
		n.KeyConflict = rapid.SampledFrom([]Conflict{First, First, Replace, Replace, Refuse}).Draw(t, "conflict")
	}
	if n.KeyScope == ForATime {
		n.KeyWindowMs = rapid.SampledFrom([]uint32{0, 1, 40, 9_000, 200_000}).Draw(t, "key window")
	}
}

// scopeOf returns the scope and the window of a new task's key.
func (m *machine) scopeOf(q *modelQueue, n *NewTask) (Scope, int64) {
	window := orDefault(uint64(n.KeyWindowMs), q.policy.KeyWindowMs)
	if n.Key != "" && n.KeyScope == NotUnique && window > 0 {
		return ForATime, int64(window)
	}
	return n.KeyScope, int64(orDefault(window, m.cfg.KeyWindowMs))
}

// holder returns the task that holds a key.
func (m *machine) holder(q *modelQueue, key string) (Ref, bool) {
	if k := m.keys[keyOf{q.id, key}]; k.untilMs > m.now && !k.freed {
		return k.ref, true
	}
	if u := m.unique(q.id, key); u != nil && u.holds(m.now) {
		return u.task.ref, true
	}
	return Ref{}, false
}

// takeUnique returns the unique key of a new task, and the change of the tenant's charge.
func (m *machine) takeUnique(q *modelQueue, key string, scope Scope, window int64) (u *modelUnique, bytes int64) {
	u = &modelUnique{bucket: Unlimited}
	if scope == ForATime {
		width := max(1_000, int64(m.cfg.KeyWindowMs)/4)
		for 8*width <= window {
			width *= 2
		}
		u.untilMs = m.now + window
		u.bucket = (u.untilMs + width - 1) / width * width
	}
	if before := m.unique(q.id, key); before != nil && before.stored(m.now) {
		return u, 0
	}
	return u, uniqueBytes
}

// redrive redrives a task. The redriven task takes its key again.
func (m *machine) redrive(t *rapid.T) {
	task := m.drawTask(t, dead)
	stored, found := m.look(t, task)
	if !found {
		return
	}
	held := m.held(task.tenant)
	did, err := m.state.Redrive(&stored)
	if task.phase != dead {
		if did || err != nil {
			t.Fatalf("%+v was redriven: %v, %v", *task, did, err)
		}
		return
	}
	if u := task.extras.Unique; u != nil && u.Scope == UntilFinished {
		before := m.unique(task.ref.Queue, task.key)
		_, bytes := m.takeUnique(m.of(task), task.key, UntilFinished, 0)
		switch quota := (*QuotaError)(nil); {
		case before.holds(m.now):
			if did || !errors.Is(err, ErrKeyTaken) {
				t.Fatalf("%+v was redriven: %v, %v; its key is held by %+v", *task, did, err, *before.task)
			}
			return
		case !m.accounts[task.tenant].has(bytes, held.bytes):
			if did || !errors.As(err, &quota) {
				t.Fatalf("%+v was redriven: %v, %v", *task, did, err)
			}
			if before.stored(m.now) {
				before.freed = true // the record of an expired key
			}
			return
		}
		m.uniques[keyOf{task.ref.Queue, task.key}] = &modelUnique{task: task, bucket: Unlimited}
	}
	if !did || err != nil {
		t.Fatalf("%+v was redriven: %v, %v", *task, did, err)
	}
	task.redrive(m.now)
}

// checkUniques compares the stored unique keys and their buckets with the model's.
func (m *machine) checkUniques(t *rapid.T) {
	n := 0
	for k, u := range m.uniques {
		if !u.stored(m.now) {
			continue
		}
		n++
		got, has := m.journal.uniques[uniqueEntry{u.bucket, k.queue, HashKey(k.key)}]
		task := u.task
		want := UniqueRef{
			Ref: task.ref, Bucket: u.bucket, ExpiresAtMs: u.untilMs, Bytes: uint32(len(task.payload)), DueAtMs: u.dueMs, EndsAtMs: task.extras.ExpiresAtMs, PriorityShift: u.shift,
			Started: !task.waits() || len(task.tokens) > 0 || task.immortal,
		}
		if task.edited { // a key of a started task keeps the old size
			want.Bytes = got.Bytes
		}
		if task.immortal { // the redrive stored it
			want.Bytes, want.DueAtMs, want.EndsAtMs, want.PriorityShift = got.Bytes, got.DueAtMs, got.EndsAtMs, got.PriorityShift
		}
		if got != want {
			t.Fatalf("key %q of queue %d is stored as %+v, %v; want %+v for %+v", k.key, k.queue, got, has, want, *u.task)
		}
		if !slices.Contains(m.state.uniques.live, u.bucket) {
			t.Fatalf("key %q is in bucket %d; live buckets are %v", k.key, u.bucket, m.state.uniques.live)
		}
	}
	if len(m.journal.uniques) != n {
		t.Fatalf("%d unique keys are stored, want %d: %v", len(m.journal.uniques), n, m.journal.uniques)
	}
	for s, bytes := range m.journal.sums {
		if s.Kind == KeptUniques && bytes == 0 {
			t.Fatalf("an empty sum is stored: %+v", s)
		}
	}
}
