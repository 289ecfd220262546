package rest

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

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

// get reads the answer to a GET into a value. The error has the mark of what the server said.
func (c caller) get(ctx context.Context, path string, into any) error {
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

// Read implements driver.Reader by a GET of the task's path.
func (r reader) Read(ctx context.Context, tenant, id string) (driver.Found, error) {
	path := "/v1/tasks/" + url.PathEscape(id) + "?tenant=" + url.QueryEscape(tenant)
	var found struct {
		Task struct {
			ID, Tenant, Queue string
			Payload           []byte
		}
	}
	if err := r.caller.get(ctx, path, &found); err != nil {
		return driver.Found{}, err
	}
	t := found.Task
	return driver.Found{ID: t.ID, Tenant: t.Tenant, Queue: t.Queue, Payload: t.Payload}, nil
}

// Close closes all connections that no request uses.
func (r reader) Close() error {
	r.caller.pool.close()
	return nil
}
