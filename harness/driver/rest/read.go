package rest

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/pronybench/prony/harness/driver"
)

// DialReader returns a reader of a target's tasks. The reader opens network connections on demand.
func DialReader(target driver.Target) (driver.Reader, error) {
	c, err := callerOf(target)
	if err != nil {
		return nil, err
	}
	return reader{c}, nil
}

type reader struct{ caller caller }

// readMarks maps status codes to the errors that readers return for them.
var readMarks = map[int]error{
	http.StatusNotFound: driver.ErrNotFound, http.StatusForbidden: driver.ErrDenied, http.StatusTooManyRequests: driver.ErrFull,
}

// get sends a GET and decodes the answer. If readMarks contains the status code, the error wraps
// the mapped error.
func (c caller) get(ctx context.Context, path string, query url.Values, into any) error {
	path += "?" + query.Encode()
	a, err := c.ask(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	if a.code != http.StatusOK {
		err := a.refusal(http.MethodGet, path)
		if mark := readMarks[a.code]; mark != nil {
			err = fmt.Errorf("%w: %w", mark, err)
		}
		return err
	}
	return a.decode(http.MethodGet, path, into)
}

type taskMessage struct {
	ID, Tenant, Queue string
	Payload           []byte
}

func (t taskMessage) found() driver.Found {
	return driver.Found{ID: t.ID, Tenant: t.Tenant, Queue: t.Queue, Payload: t.Payload}
}

// Read implements driver.Reader with a GET of the task.
func (r reader) Read(ctx context.Context, tenant, id string) (driver.Found, error) {
	var answer struct{ Task taskMessage }
	if err := r.caller.get(ctx, "/v1/tasks/"+url.PathEscape(id), url.Values{"tenant": {tenant}}, &answer); err != nil {
		return driver.Found{}, err
	}
	return answer.Task.found(), nil
}

// Await implements driver.Reader with a GET of the task's result.
func (r reader) Await(ctx context.Context, tenant, id string, most time.Duration) (driver.Awaited, error) {
	answer, err := r.caller.result(ctx, tenant, id, most)
	return driver.Awaited{State: stateOf[answer.State], Result: answer.Result}, err
}

// States of tasks that the driver requests or receives.
const (
	stateReady  = "TASK_STATE_READY"
	stateLeased = "TASK_STATE_LEASED"
)

var stateOf = map[string]driver.TaskState{
	stateReady: driver.Open, "TASK_STATE_DELAYED": driver.Open, stateLeased: driver.Open, "TASK_STATE_DONE": driver.Done, "TASK_STATE_DEAD": driver.Dead,
}

// Close closes all idle connections.
func (r reader) Close() error {
	r.caller.pool.close()
	return nil
}
