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
	// traceBytesMax is more than a server's flight recorder keeps, which takes its own bound as a hint.
	traceBytesMax = 128 << 20
	// traceTimeout bounds what starts and stops a recorder.
	traceTimeout = 5 * time.Second
)

// Recorder is a server's flight recorder: while it is on, the execution trace of the last seconds can be taken. Its
// methods are called one after the other.
type Recorder struct {
	admin adminhttp.Client
}

// StartRecorder has a server keep the trace of at least the last seconds, 1 to 60 of them, as far as 16 MiB hold them. It
// costs a busy server a few percent of its time.
func StartRecorder(ctx context.Context, admin adminhttp.Client, seconds int) (*Recorder, error) {
	path := "/debug/trace/start?seconds=" + strconv.Itoa(seconds)
	if _, err := admin.Do(ctx, http.MethodPost, path, nil, traceTimeout, ratesBytesMax); err != nil {
		return nil, fmt.Errorf("start the flight recorder: %w", err)
	}
	return &Recorder{admin}, nil
}

// Take writes the trace so far to a file, which go tool trace reads. The recorder goes on.
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

// Stop ends the recorder, also when ctx is done.
func (r *Recorder) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), traceTimeout)
	defer cancel()
	if _, err := r.admin.Do(ctx, http.MethodPost, "/debug/trace/stop", nil, traceTimeout, ratesBytesMax); err != nil {
		return fmt.Errorf("stop the flight recorder: %w", err)
	}
	return nil
}
