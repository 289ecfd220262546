package k6

import (
	"encoding/json"
	"fmt"

	"github.com/grafana/sobek"

	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/harness/k6/options"
	"github.com/pronybench/prony/harness/load"
)

// Task is a leased task of a script.
type Task struct {
	ID         string `js:"id"`
	Tenant     string `js:"tenant"`
	Queue      string `js:"queue"`
	Priority   uint32 `js:"priority"`
	Attempt    uint32 `js:"attempt"`
	LeaseUntil int64  `js:"leaseUntil"`

	Headers map[string]string `js:"headers"` // never nil

	of      *instance
	owner   any // claimed the task, and can settle it
	leased  *queuepb.Task
	claim   load.Claim // zero without a ledger
	payload []byte     // without the ledger's header
}

// Text returns the payload as text.
func (t *Task) Text() string { return string(t.payload) }

// JSON returns the value of a JSON payload.
func (t *Task) JSON() (any, error) {
	var v any
	if err := json.Unmarshal(t.payload, &v); err != nil {
		return nil, &options.Error{Call: "task.json", Field: "payload", Cause: fmt.Errorf("of task %s: %w", t.ID, err)}
	}
	return v, nil
}

// Bytes returns a copy of the payload, which the script may change.
func (t *Task) Bytes() sobek.ArrayBuffer {
	return t.of.vu.Runtime().NewArrayBuffer(append([]byte{}, t.payload...))
}

// tasksOf reads the tasks that a script settles: a task or an array of tasks, all claimed by owner.
func tasksOf(call string, from sobek.Value, owner any) ([]*Task, error) {
	fault := func(format string, args ...any) error {
		return &options.Error{Call: call, Field: "tasks", Remedy: fmt.Sprintf(format, args...)}
	}
	var tasks []*Task
	switch x := export(from).(type) {
	case *Task:
		tasks = []*Task{x}
	case []*Task:
		tasks = x
	case []any:
		for _, item := range x {
			t, ok := item.(*Task)
			if !ok {
				return nil, fault("pass tasks as claim() resolved to")
			}
			tasks = append(tasks, t)
		}
	default:
		return nil, fault("pass a task, or an array of tasks, as claim() resolved to")
	}
	if len(tasks) > tasksMax {
		return nil, fault("pass at most %d in one call", tasksMax)
	}
	for _, t := range tasks {
		if t.owner != owner {
			return nil, fault("task %s was claimed by another client or worker: settle it there", t.ID)
		}
	}
	return tasks, nil
}

func export(v sobek.Value) any {
	if v == nil {
		return nil
	}
	return v.Export()
}
