// Package rest drives the engine through REST with JSON. Each batch is one request, and each
// goroutine has one request in flight, on a persistent connection. Any node of a cluster accepts
// any request. At first the connections are spread over all nodes. They move to the leading node
// when an answer names it.
package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pronybench/prony/engine/queuepb"

	"github.com/pronybench/prony/harness/driver"
)

// waitMax is how long a claim waits at the server for a task before the driver repeats it.
const waitMax = 10 * time.Second

// Dial returns a connection to a target. It opens network connections on demand. Claims request the
// given lease.
func Dial(target driver.Target, lease time.Duration) (driver.Conn, error) {
	c, err := callerOf(target)
	if err != nil {
		return nil, err
	}
	return &conn{c, lease}, nil
}

// callerOf returns a caller with its own connection pool.
func callerOf(target driver.Target) (caller, error) {
	if target.HTTP == "" {
		return caller{}, errors.New("the server has no REST listener: use another driver, or enable REST")
	}
	encrypted, err := target.CA.Config()
	if err != nil {
		return caller{}, err
	}
	p := &pool{encrypted: encrypted}
	for address := range strings.SplitSeq(target.HTTP, ",") {
		p.nodes = append(p.nodes, p.url(address))
	}
	return caller{p, headersOf(target.Token)}, nil
}

type conn struct {
	caller caller
	lease  time.Duration
}

func (c *conn) Producer(_ context.Context, tenant string) (driver.Producer, error) {
	return producer{c.caller, quote(tenant)}, nil
}

func (c *conn) Worker(_ context.Context, tenant string, queues []string, _ int) (driver.Worker, error) {
	names, err := json.Marshal(queues)
	if err != nil {
		return nil, err
	}
	claim := fmt.Appendf(nil, `{"tenant":%s,"queues":%s,"lease_ms":%d,"wait_ms":`, quote(tenant), names, c.lease.Milliseconds())
	return worker{c.caller, quote(tenant), claim}, nil
}

func (c *conn) Close() error {
	c.caller.pool.close()
	return nil
}

func quote(name string) string {
	text, err := json.Marshal(name)
	if err != nil { // cannot fail: any string can be encoded
		panic(err)
	}
	return string(text)
}

// itemError is the reason why one item of a batch was refused.
type itemError struct {
	Code    any // a name; a number if the server has another version
	Message string
}

func (e *itemError) Error() string { return fmt.Sprintf("%v: %s", e.Code, e.Message) }

// Is reports whether the error matches an error of package driver. It matches driver.ErrUnknown if
// the server does not know the outcome of the item, driver.ErrLeaseOver if the lease has expired or
// the task no longer exists, and driver.ErrKeyTaken if another task holds the unique key.
func (e *itemError) Is(target error) bool {
	switch e.Code {
	case queuepb.ErrorCode_ERROR_CODE_UNKNOWN_OUTCOME.String():
		return target == driver.ErrUnknown
	case queuepb.ErrorCode_ERROR_CODE_ALREADY_EXISTS.String():
		return target == driver.ErrKeyTaken
	case queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN.String(), queuepb.ErrorCode_ERROR_CODE_CANCELLED.String(),
		queuepb.ErrorCode_ERROR_CODE_NOT_FOUND.String():
		return target == driver.ErrLeaseOver
	}
	return false
}

type results struct {
	Results []struct {
		ID    string
		Error *itemError
	}
}

func (r *results) outcome(outcomes []error) error {
	if len(r.Results) != len(outcomes) {
		return fmt.Errorf("the server answered %d of %d items", len(r.Results), len(outcomes))
	}
	for i := range r.Results {
		outcomes[i] = nil
		if e := r.Results[i].Error; e != nil {
			outcomes[i] = e
		}
	}
	return nil
}
