package queue

import "pgregory.net/rapid"

func (m *machine) reschedule(t *rapid.T) {
	task := m.drawTask(t, rapid.SampledFrom([]phase{fresh, returned, returned, leased, dead}).Draw(t, "phase"))
	stored, found := m.look(t, task)
	if !found {
		return
	}
	dueMs := m.now + rapid.SampledFrom([]int64{-m.now, -7, 0, 1, 7, 50}).Draw(t, "due in")
	if did := m.state.Reschedule(&stored, dueMs); did != task.waits() {
		t.Fatalf("%+v was rescheduled: %v", *task, did)
	}
	isDue := task.phase == fresh || task.dueMs <= m.now
	if task.waits() && (dueMs > m.now || !isDue) {
		m.move(task, task.priority(), max(dueMs, m.now))
	}
}

func (m *machine) prioritize(t *rapid.T) {
	task := m.drawTask(t, rapid.SampledFrom([]phase{fresh, fresh, returned, leased, dead}).Draw(t, "phase"))
	stored, found := m.look(t, task)
	if !found {
		return
	}
	priority := drawPrio.Draw(t, "priority")
	if did := m.state.Prioritize(&stored, priority); did != (task.phase != leased) {
		t.Fatalf("%+v got the priority %d: %v", *task, priority, did)
	}
	switch {
	case task.phase == leased || task.priority() == priority:
	case task.phase == dead:
		task.shift = int8(priority) - int8(task.ref.Priority)
	default:
		m.move(task, priority, task.sinceMs())
	}
}

// move gives a waiting task another place.
func (m *machine) move(task *modelTask, priority uint8, dueMs int64) {
	task.shift, task.dueMs = int8(priority)-int8(task.ref.Priority), dueMs
	task.phase, task.settled = returned, true
	if u := m.unique(task.ref.Queue, task.key); u != nil && u.task == task && len(task.tokens) == 0 && !task.immortal {
		u.dueMs, u.shift = dueMs, task.shift
	}
}
