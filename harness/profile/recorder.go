package profile

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/pronybench/prony/harness/adminhttp"
)

const (
	// traceBytesMax bounds the size of a trace. It is larger than the limit that a server sets for
	// its flight recorder, because the recorder treats that limit only as a hint.
	traceBytesMax = 128 << 20
	// traceTimeout bounds the time to start or stop a recorder.
	traceTimeout = 5 * time.Second
)

// Recorder is the flight recorder of a server. While it is running, callers can read the execution
// trace of the last seconds. Its methods must not be called concurrently.
type Recorder struct {
	admin adminhttp.Client
}

// StartRecorder makes a server record a trace of at least the given number of last seconds, from 1
// to 60. The trace is limited to 16 MiB. The recording costs a busy server a few percent of its CPU
// time.
func StartRecorder(ctx context.Context, admin adminhttp.Client, seconds int) (*Recorder, error) {
	path := "/debug/trace/start?seconds=" + strconv.Itoa(seconds)
	if _, err := admin.Do(ctx, http.MethodPost, path, nil, traceTimeout, ratesBytesMax); err != nil {
		return nil, fmt.Errorf("start the flight recorder: %w", err)
	}
	return &Recorder{admin}, nil
}

// Take writes the current trace to a file that go tool trace can read. The recorder continues to
// run.
func (r *Recorder) Take(ctx context.Context, name string) error {
	taken, err := r.admin.Get(ctx, "/debug/trace/snapshot", snapshotTimeout, traceBytesMax)
	if err != nil {
		return fmt.Errorf("take the trace: %w", err)
	}
	if err := os.WriteFile(name, taken, 0o644); err != nil {
		return fmt.Errorf("take the trace: %w", err)
	}
	return nil
}

// Stop ends the recorder, even if ctx is done.
func (r *Recorder) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), traceTimeout)
	defer cancel()
	if _, err := r.admin.Do(ctx, http.MethodPost, "/debug/trace/stop", nil, traceTimeout, ratesBytesMax); err != nil {
		return fmt.Errorf("stop the flight recorder: %w", err)
	}
	return nil
}
