package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/pronybench/prony/harness/driver"
)

// resultMessage contains the state of a task and, if the task is done, its result.
type resultMessage struct {
	State  string
	Result []byte
}

// result sends a GET for the result of a task. The server waits until the task has ended, but at
// most for the given time.
func (c caller) result(ctx context.Context, tenant, id string, most time.Duration) (answer resultMessage, err error) {
	query := url.Values{"tenant": {tenant}, "wait_ms": {strconv.FormatInt(most.Milliseconds(), 10)}}
	return answer, c.get(ctx, "/v1/tasks/"+url.PathEscape(id)+"/result", query, &answer)
}

// Result implements driver.Returner.
func (w worker) Result(ctx context.Context, completed *driver.Delivery) ([]byte, error) {
	l, ok := completed.Handle.(*lease)
	if !ok {
		return nil, fmt.Errorf("delivery of queue %q was not claimed by this driver", completed.Queue)
	}
	var tenant string
	if err := json.Unmarshal([]byte(w.tenant), &tenant); err != nil {
		return nil, err
	}
	answer, err := w.result(ctx, tenant, l.id, driver.ResultWait)
	if err != nil {
		return nil, err
	}
	return answer.Result, driver.CheckDone(answer.State)
}
