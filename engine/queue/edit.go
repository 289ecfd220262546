package queue

import "fmt"

// Edit replaces the payload or the headers of a dead task, or both. The zero value changes nothing.
type Edit struct {
	SetPayload bool
	Payload    []byte
	SetHeaders bool
	Headers    map[string]string // CheckHeaders must have accepted them
}

// of returns the payload with headers that a task has after the edit.
func (e *Edit) of(t *Task) (stored []byte, hasHeaders bool) {
	headers, payload := t.Split()
	n := NewTask{Payload: payload}
	if e.SetPayload {
		n.Payload = e.Payload
	}
	if e.SetHeaders {
		n.AddHeaders(e.Headers)
	} else {
		n.AddHeaders(headers.Map())
	}
	return n.Payload, n.HasHeaders
}

// EditDead edits a dead task, which must have been read with its payload. It returns false if the
// task is not dead, and an error that wraps a *QuotaError if the tenant's quota of bytes refuses the
// additional bytes.
func (s *State) EditDead(t *Stored, e *Edit) (done bool, err error) {
	if !t.Dead {
		return false, nil
	}
	q, edited := s.numbered(t.Ref.Queue), t.Task
	edited.Payload, edited.HasHeaders = e.of(&t.Task)
	if headers, _ := t.Task.Split(); e.SetHeaders && headers.Get(GroupHeader) != e.Headers[GroupHeader] {
		return false, &FieldError{"headers", "change the header \"group\", which determines the shard of a task: keep its value, or enqueue another task"}
	}
	more := int64(len(edited.Payload)) - int64(t.Bytes)
	switch {
	case more > 0:
		if err := s.charge(q.account, more); err != nil {
			return false, fmt.Errorf("store %d further bytes of payload and headers: %w", more, err)
		}
	case more < 0:
		s.free(q).bytes -= more
	}
	q.record.Counts.Bytes += uint64(more)
	s.changed(t.Ref)
	s.journal.ReplaceTask(t.Ref, edited)
	s.touch(q)
	return true, nil
}
