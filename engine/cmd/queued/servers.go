package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

const (
	// serversMax is the maximum number of addresses that a command accepts.
	serversMax = 16
	// nextServerAfter is the time that a command waits for one address before it also tries the
	// next address.
	nextServerAfter = 250 * time.Millisecond
)

// serversValue is a flag for one or more server addresses. They are separated by commas, or the
// flag is repeated.
type serversValue struct {
	to    *[]string
	given bool // true once an address is given, which replaces the default
}

func (v *serversValue) Set(text string) error {
	if !v.given {
		*v.to, v.given = nil, true
	}
	*v.to = append(*v.to, splitServers(text)...)
	return nil
}

func (*serversValue) Type() string { return "list" }

func (v *serversValue) String() string {
	if v.to == nil {
		return ""
	}
	return strings.Join(*v.to, ",")
}

func splitServers(text string) []string {
	all := strings.Split(text, ",")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

// choose returns the address of the first server that answers, and the options for connecting to
// it. It tries each further address when an earlier one fails, or after nextServerAfter without an
// answer. If there is only one address, choose does not try it: the command's own call then reports
// why the server cannot be reached.
func (c *connection) choose(ctx context.Context, addresses []string) (string, []grpc.DialOption, error) {
	if len(addresses) > serversMax {
		return "", nil, usageError{fmt.Errorf("%d addresses of servers are given: name at most %d", len(addresses), serversMax)}
	}
	options := make([][]grpc.DialOption, len(addresses))
	for i, address := range addresses {
		var err error
		if options[i], err = c.options(address); err != nil {
			return "", nil, err
		}
	}
	if len(addresses) == 1 {
		return addresses[0], options[0], nil
	}
	i, err := firstAnswer(ctx, len(addresses), func(ctx context.Context, i int) error {
		ctx, cancel := c.bounded(ctx, 0)
		defer cancel()
		return c.explain(ctx, addresses[i], answers(ctx, addresses[i], options[i]))
	})
	if err != nil {
		return "", nil, err
	}
	return addresses[i], options[i], nil
}

// firstAnswer calls try for 0 to n-1 and returns the index of the first call that succeeds. It
// starts the next call when an earlier one fails, or after nextServerAfter. If all calls fail, the
// error contains their reasons in order.
func firstAnswer(caller context.Context, n int, try func(ctx context.Context, i int) error) (int, error) {
	ctx, cancel := context.WithCancel(caller)
	var trying sync.WaitGroup
	defer trying.Wait()
	defer cancel()
	type result struct {
		i   int
		err error
	}
	results, errs := make(chan result, n), make([]error, n)
	next := time.NewTicker(nextServerAfter)
	defer next.Stop()
	begun, failed := 0, 0
	for {
		if begun < n {
			i := begun
			trying.Go(func() { results <- result{i, try(ctx, i)} })
			begun++
		}
		for wait := true; wait; {
			select {
			case r := <-results:
				if r.err == nil {
					return r.i, nil
				}
				errs[r.i] = r.err
				if caller.Err() != nil {
					return 0, caller.Err()
				}
				if failed++; failed == n {
					return 0, noAnswer(errs)
				}
				wait = begun == n
			case <-next.C:
				wait = begun == n
			}
		}
	}
}

// noAnswer returns an error with the reasons why no server can be used.
func noAnswer(errs []error) error {
	reasons := make([]string, len(errs))
	for i, err := range errs {
		reasons[i] = failureOf(err).Message
	}
	return remedied{unreachableError{fmt.Errorf("no server answers: %s", strings.Join(reasons, "; "))}, failureOf(errs[0]).remedy}
}

// answers returns nil if the server at an address answers. It makes a health check, which needs no
// access token, and accepts any answer.
func answers(ctx context.Context, address string, options []grpc.DialOption) (err error) {
	conn, err := grpc.NewClient(dialTarget(address), options...)
	if err != nil {
		return fmt.Errorf("dial %s: %w", address, err)
	}
	defer func() { _ = conn.Close() }() // the connection is no longer needed
	_, err = healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return err
	}
	return nil
}

// dialTarget returns an address in a form that makes gRPC skip name resolution.
func dialTarget(address string) string {
	if strings.HasPrefix(address, "unix:") {
		return address
	}
	return "passthrough:///" + address
}
