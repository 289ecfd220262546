package k6

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/grafana/sobek"

	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/harness/k6/options"
)

// Defaults and bounds of callOptions.
const (
	claimWaitDefault = time.Second
	listDefault      = 100
	listMax          = 1000
)

// callOptions are the options of all calls except connect and load, and of sessions. Each call has
// some of them.
type callOptions struct {
	tenant             string
	queues             []string
	weights            []uint32
	max, slots, limit  int
	wait, lease, delay time.Duration
	idempotent         bool
	state              queuepb.TaskState
	reason             string // of a failure
	result             []byte // of a completion; may be nil
}

var callTable = options.Table[callOptions]{
	"tenant": func(o *callOptions, v options.Value) error { return v.TextInto(&o.tenant) },
	"queue": func(o *callOptions, v options.Value) error {
		queue, err := v.Text()
		o.queues = append(o.queues, queue)
		return err
	},
	"queues": func(o *callOptions, v options.Value) error {
		queues, err := v.Texts(queuesMax)
		o.queues = append(o.queues, queues...)
		return err
	},
	"weights": func(o *callOptions, v options.Value) error {
		weights, err := v.Ints(queuesMax, 1, weightMax)
		for _, n := range weights {
			o.weights = append(o.weights, uint32(n))
		}
		return err
	},
	"max":   func(o *callOptions, v options.Value) error { return v.IntInto(&o.max, 1, tasksMax) },
	"slots": func(o *callOptions, v options.Value) error { return v.IntInto(&o.slots, 1, slotsMax) },
	"limit": func(o *callOptions, v options.Value) error { return v.IntInto(&o.limit, 1, listMax) },
	"wait":  func(o *callOptions, v options.Value) error { return v.DurationInto(&o.wait, 0, claimWaitMax) },
	"lease": func(o *callOptions, v options.Value) error {
		return v.DurationInto(&o.lease, time.Millisecond, durationMax)
	},
	"delay":      func(o *callOptions, v options.Value) error { return v.DurationInto(&o.delay, 0, durationMax) },
	"idempotent": func(o *callOptions, v options.Value) error { return v.BoolInto(&o.idempotent) },
	"reason":     func(o *callOptions, v options.Value) error { return v.TextInto(&o.reason) },
	"result":     func(o *callOptions, v options.Value) (err error) { o.result, err = payloadOf(v); return err },
	"state": func(o *callOptions, v options.Value) error {
		name, err := v.Text()
		state, known := states[name]
		if err != nil || !known {
			return v.Fault("pass one of %s", strings.Join(slices.Sorted(maps.Keys(states)), ", "))
		}
		o.state = state
		return nil
	},
}

// The options of each call.
var (
	produceTable     = callTable.Of("tenant")
	producerTable    = callTable.Of("tenant", "idempotent")
	claimTable       = callTable.Of("max", "wait", "queue", "queues", "tenant", "lease")
	workerTable      = callTable.Of("queues", "weights", "slots", "lease", "tenant")
	workerClaimTable = callTable.Of("max", "wait")
	readTable        = callTable.Of("tenant")
	resultTable      = callTable.Of("tenant", "wait")
	listTable        = callTable.Of("tenant", "limit")
	deadTable        = callTable.Of("tenant", "queue", "limit")
	tasksTable       = callTable.Of("tenant", "queue", "limit", "state")
	settleTables     = map[kind]options.Table[callOptions]{
		complete: callTable.Of("result"), fail: callTable.Of("reason", "delay"), extend: callTable.Of("lease"), release: callTable.Of("delay"),
	}
)

// work makes a call outside of the event loop. made runs on the event loop and returns the value
// for the script; nil means undefined.
type work func(ctx context.Context) (made func() any, err error)

// call implements a script's call: it reads the options into o, which has the defaults, and starts
// the work that prepare returns. Without a table there are no options.
func (c *queueClient) call(call string, table options.Table[callOptions], from sobek.Value, o callOptions, prepare func(*callOptions) (work, error)) *sobek.Promise {
	err := c.usable(call)
	if err == nil && table != nil {
		err = table.Read(c.vu.Runtime(), call, from, &o)
	}
	if o.tenant == "" {
		o.tenant = c.options.tenant
	}
	var do work
	if err == nil {
		do, err = prepare(&o)
	}
	if err != nil {
		return c.refused(failed(call, err))
	}
	return c.later(call, o.wait+c.options.timeout, do)
}

// usable returns an error if calls are not possible now.
func (c *queueClient) usable(call string) error {
	switch {
	case c.inInit():
		return mistake(call, errInit)
	case c.closed:
		return &options.Error{Call: call, Code: codeClosed, Cause: errors.New("the client is closed; connect again")}
	}
	return nil
}
