package queue

import (
	"errors"

	"pgregory.net/rapid"
)

func (m *machine) edit(t *rapid.T) {
	task := m.drawTask(t, dead)
	stored, found := m.look(t, task)
	if !found {
		return
	}
	e := Edit{SetPayload: rapid.Bool().Draw(t, "payload set"), SetHeaders: rapid.Bool().Draw(t, "headers set")}
	headers, payload := split(task.hasHeaders, task.payload)
	want := NewTask{Payload: payload}
	if e.SetPayload {
		e.Payload = make([]byte, rapid.SampledFrom([]int{0, 7, 900}).Draw(t, "bytes"))
		want.Payload = e.Payload
	}
	if e.SetHeaders {
		e.Headers = rapid.SampledFrom([]map[string]string{nil, {"kind": "edited"}, {"kind": "edited", "group": "a"}}).Draw(t, "headers")
		want.AddHeaders(e.Headers)
	} else {
		want.AddHeaders(headers.Map())
	}
	if e.SetHeaders && task.phase == dead && headers.Get(GroupHeader) != e.Headers[GroupHeader] {
		var field *FieldError
		if done, err := m.state.EditDead(&stored, &e); done || !errors.As(err, &field) {
			t.Fatalf("the group of %+v was edited: %v, %v", *task, done, err)
		}
		return
	}
	held, more := m.held(task.tenant), int64(len(want.Payload)-len(task.payload))
	done, err := m.state.EditDead(&stored, &e)
	room := more <= 0 || m.accounts[task.tenant].has(more, held.bytes)
	quota := (*QuotaError)(nil)
	if done != (task.phase == dead && room) || errors.As(err, &quota) != (task.phase == dead && !room) {
		t.Fatalf("%+v was edited: %v, %v", *task, done, err)
	}
	if done {
		task.payload, task.hasHeaders, task.edited = want.Payload, want.HasHeaders, true
	}
}
