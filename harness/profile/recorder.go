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
	// traceBytesMax bounds a trace. It exceeds the bound of a server's flight recorder, which the
	// recorder treats as a hint.
	traceBytesMax = 128 << 20
	// traceTimeout bounds the start and the stop of a recorder.
	traceTimeout = 5 * time.Second
)

// Recorder is a server's flight recorder: while it runs, the execution trace of the last seconds
// can be taken. Its methods must not be called concurrently.
type Recorder struct {
	admin adminhttp.Client
}

// StartRecorder makes a server record the trace of at least the last seconds, 1 to 60, within a
// bound of 16 MiB. It costs a busy server a few percent of its CPU time.
func StartRecorder(ctx context.Context, admin adminhttp.Client, seconds int) (*Recorder, error) {
	path := "/debug/trace/start?seconds=" + strconv.Itoa(seconds)
	if _, err := admin.Do(ctx, http.MethodPost, path, nil, traceTimeout, ratesBytesMax); err != nil {
		return nil, fmt.Errorf("start the flight recorder: %w", err)
	}
	return &Recorder{admin}, nil
}

// Take writes the current trace to a file for go tool trace. The recorder keeps running.
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
