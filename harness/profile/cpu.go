package profile

import (
	"context"
	"fmt"
	"net/http/httptrace"
	"strconv"
	"sync"
	"time"

	"github.com/google/pprof/profile"

	"github.com/pronybench/prony/harness/adminhttp"
)

// cpuGrace is how long after its end a CPU profile may take to arrive.
const cpuGrace = 15 * time.Second

// cpuCapture is a CPU profile being recorded. Its goroutine ends when done is closed; profile and
// err are written before that and only read after it.
type cpuCapture struct {
	cancel  context.CancelFunc
	done    chan struct{}
	profile *profile.Profile
	err     error
}

// startCPU asks for a CPU profile of so many seconds and returns once the process was asked.
func startCPU(ctx context.Context, admin adminhttp.Client, seconds int) (*cpuCapture, error) {
	path := "/debug/pprof/profile?seconds=" + strconv.Itoa(seconds)
	ctx, cancel := context.WithCancel(ctx)
	c := &cpuCapture{cancel: cancel, done: make(chan struct{})}
	asked := make(chan struct{})
	var once sync.Once // the request may be written again on another connection
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { once.Do(func() { close(asked) }) },
	})
	go func() {
		defer close(c.done)
		timeout := time.Duration(seconds)*time.Second + cpuGrace
		body, err := admin.Get(traced, path, timeout, profileBytesMax)
		if err != nil {
			c.err = fmt.Errorf("CPU profile: %w", err)
			return
		}
		if c.profile, err = parse(body, unpackedBytesMax); err != nil {
			c.err = fmt.Errorf("CPU profile: GET http://%s%s: %w", admin.Address, path, err)
		}
	}()
	select {
	case <-asked:
		return c, nil
	case <-c.done: // it failed before it could ask
		cancel()
		if c.err != nil {
			return nil, c.err
		}
		return c, nil
	}
}

// wait returns the profile when it has arrived. It gives up when ctx is done.
func (c *cpuCapture) wait(ctx context.Context) (*profile.Profile, error) {
	defer c.cancel()
	select {
	case <-c.done:
	case <-ctx.Done():
		c.cancel()
		<-c.done
	}
	return c.profile, c.err
}
