package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/pronybench/prony/harness/driver"
)

// Result implements driver.Returner by a GET of the path of the task's result.
func (w worker) Result(ctx context.Context, completed *driver.Delivery) ([]byte, error) {
	l, ok := completed.Handle.(*lease)
	if !ok {
		return nil, fmt.Errorf("delivery of queue %q was not claimed by this driver", completed.Queue)
	}
	var tenant string
	if err := json.Unmarshal([]byte(w.tenant), &tenant); err != nil {
		return nil, err
	}
	path := fmt.Sprintf("/v1/tasks/%s/result?tenant=%s&wait_ms=%d", url.PathEscape(l.id), url.QueryEscape(tenant), driver.ResultWait.Milliseconds())
	var answer struct {
		State  string
		Result []byte
	}
	if err := w.get(ctx, path, &answer); err != nil {
		return nil, err
	}
	return answer.Result, driver.Done(answer.State)
}
