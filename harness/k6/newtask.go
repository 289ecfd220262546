package k6

import (
	"fmt"
	"time"

	"github.com/grafana/sobek"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/harness/k6/options"
	"github.com/pronybench/prony/harness/ledger"
)

// Bounds of a task. They equal the server's, so that a mistake is found before the call.
const (
	tasksMax     = 1000
	payloadMax   = 1 << 20
	priorityMax  = 9
	durationMax  = 365 * 24 * time.Hour
	keyBytesMax  = 128
	attemptsMax  = 1 << 20
	afterMax     = 100
	queuesMax    = 1000
	slotsMax     = 1 << 16
	weightMax    = 100
	claimWaitMax = time.Minute
)

// deadDependencies has the policies by the words of scripts.
var deadDependencies = map[string]client.DeadDependency{"wait": client.KeepWaiting, "run": client.RunAnyway, "die": client.DieToo}

// newTask describes count equal tasks that a script enqueues.
type newTask struct {
	client.Task
	payload []byte // the script's payload; nil if it gave a size
	size    int
	count   int
	due     *Due
	kind    string // also in the headers, after addKind
}

var newTaskTable = options.Table[newTask]{
	"queue":   func(t *newTask, v options.Value) error { return v.TextInto(&t.Queue) },
	"payload": func(t *newTask, v options.Value) (err error) { t.payload, err = payloadOf(v); return err },
	"size":    func(t *newTask, v options.Value) error { return v.IntInto(&t.size, ledger.HeaderSize, payloadMax) },
	"count":   func(t *newTask, v options.Value) error { return v.IntInto(&t.count, 1, tasksMax) },
	"priority": func(t *newTask, v options.Value) error {
		n, err := v.Int(0, priorityMax)
		t.Priority = uint32(n)
		return err
	},
	"delay": func(t *newTask, v options.Value) error { return v.DurationInto(&t.Delay, 0, durationMax) },
	"maxAttempts": func(t *newTask, v options.Value) error {
		n, err := v.Int(1, attemptsMax)
		t.MaxAttempts = uint32(n)
		return err
	},
	"lease": func(t *newTask, v options.Value) error {
		return v.DurationInto(&t.Lease, time.Millisecond, durationMax)
	},
	"ttl": func(t *newTask, v options.Value) error { return v.DurationInto(&t.TTL, time.Millisecond, durationMax) },
	"resultRetention": func(t *newTask, v options.Value) error {
		return v.DurationInto(&t.ResultRetention, time.Millisecond, durationMax)
	},
	"key": func(t *newTask, v options.Value) error {
		if err := v.TextInto(&t.Key); err != nil || len(t.Key) <= keyBytesMax {
			return err
		}
		return v.Fault("pass at most %d bytes", keyBytesMax)
	},
	"headers": func(t *newTask, v options.Value) (err error) { t.Headers, err = headersOf(v); return err },
	"kind":    func(t *newTask, v options.Value) (err error) { t.kind, err = kindOf(v); return err },
	"after":   func(t *newTask, v options.Value) (err error) { t.After, err = v.Texts(afterMax); return err },
	"batch":   func(t *newTask, v options.Value) error { return v.TextInto(&t.Batch) },
	"batchSize": func(t *newTask, v options.Value) error {
		n, err := v.Int(1, client.MembersMax)
		t.BatchSize = uint32(n)
		return err
	},
	"deadDependency": func(t *newTask, v options.Value) error {
		name, err := v.Text()
		if err != nil {
			return err
		}
		policy, known := deadDependencies[name]
		if !known {
			return v.Fault("pass 'wait', 'run' or 'die'")
		}
		t.DeadDependency = policy
		return nil
	},
	"due": func(t *newTask, v options.Value) error {
		due, ok := v.JS().Export().(*Due)
		if !ok {
			return v.Fault("pass the value that next() of a load resolved to")
		}
		t.due = due
		return nil
	},
}

// payloadOf reads the payload of a task.
func payloadOf(v options.Value) ([]byte, error) {
	var payload []byte
	switch x := v.JS().Export().(type) {
	case string:
		payload = []byte(x)
	case []byte:
		payload = append([]byte{}, x...) // the script may change it before the call returns
	case sobek.ArrayBuffer:
		payload = append([]byte{}, x.Bytes()...)
	default:
		object, ok := v.JS().(*sobek.Object)
		if !ok {
			return nil, v.Fault("pass a string, an ArrayBuffer, or an object to be sent as JSON")
		}
		text, err := object.MarshalJSON()
		if err != nil {
			return nil, v.Fault("cannot be written as JSON: %v", err)
		}
		payload = text
	}
	if len(payload) > payloadMax-ledger.HeaderSize {
		return nil, v.Fault("pass at most %d bytes", payloadMax-ledger.HeaderSize)
	}
	return payload, nil
}

// readTasks reads one task of produce, or an array of them.
func readTasks(rt *sobek.Runtime, call string, from sobek.Value) ([]newTask, error) {
	var tasks []newTask
	read := func(field string, of sobek.Value) error {
		var t newTask
		if err := newTaskTable.Read(rt, call, of, &t); err != nil {
			return err
		}
		missing := func(name, remedy string) error {
			return &options.Error{Call: call, Field: field + name, Remedy: remedy}
		}
		switch {
		case t.Queue == "":
			return missing("queue", "pass the queue's name")
		case t.payload != nil && t.size > 0:
			return missing("size", "pass a payload or a size, not both")
		case t.payload == nil && t.size == 0:
			return missing("payload", "pass a payload or a size")
		case t.due != nil && t.count > t.due.left():
			return missing("count", fmt.Sprintf("only %d tasks of this due are unsent", t.due.left()))
		case t.due != nil && t.due.left() == 0:
			return missing("due", "its tasks have already been sent")
		case t.addKind():
			return missing("kind", fmt.Sprintf("is %q, and headers.kind is %q: pass one of them", t.kind, t.Headers[kindHeader]))
		}
		if t.count == 0 {
			t.count = 1
			if t.due != nil {
				t.count = t.due.left()
			}
		}
		tasks = append(tasks, t)
		return nil
	}
	n := 0
	if list, ok := from.(*sobek.Object); ok && list.ClassName() == "Array" {
		if n = int(list.Get("length").ToInteger()); n < 1 || n > tasksMax {
			return nil, &options.Error{Call: call, Field: "tasks", Remedy: fmt.Sprintf("pass 1 to %d tasks", tasksMax)}
		}
		for i := range n {
			if err := read(fmt.Sprintf("tasks[%d].", i), list.Get(fmt.Sprint(i))); err != nil {
				return nil, err
			}
		}
	} else if err := read("", from); err != nil {
		return nil, err
	}
	all := 0
	for _, t := range tasks {
		all += t.count
	}
	if all > tasksMax {
		return nil, &options.Error{Call: call, Field: "tasks", Value: fmt.Sprint(all), Remedy: fmt.Sprintf("pass at most %d in one call", tasksMax)}
	}
	return tasks, nil
}
