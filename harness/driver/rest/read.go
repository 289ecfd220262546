package rest

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/pronybench/prony/harness/driver"
)

// DialReader returns a way to read the tasks of a target, over connections that are made as they are needed.
func DialReader(target driver.Target) (driver.Reader, error) {
	c, err := callerOf(target)
	if err != nil {
		return nil, err
	}
	return reader{c}, nil
}

type reader struct{ caller caller }

// readMarks are the marks of the answers to a read, by their codes.
var readMarks = map[int]error{
	http.StatusNotFound: driver.ErrNotFound, http.StatusForbidden: driver.ErrDenied, http.StatusTooManyRequests: driver.ErrFull,
}

// get sends a GET and reads the answer into a value. The error has the mark of its code.
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

// taskMessage is a task as the server writes it.
type taskMessage struct {
	ID, Tenant, Queue string
	Payload           []byte
}

func (t taskMessage) found() driver.Found {
	return driver.Found{ID: t.ID, Tenant: t.Tenant, Queue: t.Queue, Payload: t.Payload}
}

// Read implements driver.Reader by a GET of the task's path.
func (r reader) Read(ctx context.Context, tenant, id string) (driver.Found, error) {
	var answer struct{ Task taskMessage }
	if err := r.caller.get(ctx, "/v1/tasks/"+url.PathEscape(id), url.Values{"tenant": {tenant}}, &answer); err != nil {
		return driver.Found{}, err
	}
	return answer.Task.found(), nil
}

// Await implements driver.Reader by a GET of the task's result.
func (r reader) Await(ctx context.Context, tenant, id string, most time.Duration) (driver.Awaited, error) {
	answer, err := r.caller.result(ctx, tenant, id, most)
	return driver.Awaited{State: stateOf[answer.State], Result: answer.Result}, err
}

// The states of tasks that the driver asks for or is answered with.
const (
	stateReady  = "TASK_STATE_READY"
	stateLeased = "TASK_STATE_LEASED"
)

var stateOf = map[string]driver.TaskState{
	stateReady: driver.Open, "TASK_STATE_DELAYED": driver.Open, stateLeased: driver.Open, "TASK_STATE_DONE": driver.Done, "TASK_STATE_DEAD": driver.Dead,
}

// Close closes all connections that no request uses.
func (r reader) Close() error {
	r.caller.pool.close()
	return nil
}
