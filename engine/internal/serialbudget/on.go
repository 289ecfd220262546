//go:build serialbudget

package serialbudget

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/engine/internal/compute"
)

// Enabled reports whether the binary accepts no-op requests.
const Enabled = true

// WorkMax is the maximum work of one request. Longer work would look like a stalled shard.
const WorkMax = 10 * time.Millisecond

// steps is the work of one request as a number of steps.
var steps atomic.Int64

// Work does the work of one no-op request and returns its result. Deciding goroutines call it.
func Work() uint64 { return compute.Steps(int(steps.Load())) }

const (
	calibrations     = 40
	calibrationSteps = 1 << 17 // take about a quarter of a millisecond
)

// nsPerStep returns the duration of one step in nanoseconds. It makes several measurements and uses
// the shortest, which was disturbed least by other work on the host.
var nsPerStep = sync.OnceValue(func() float64 {
	shortest := time.Duration(math.MaxInt64)
	for range calibrations {
		began := time.Now()
		calibrated.Store(compute.Steps(calibrationSteps))
		shortest = min(shortest, time.Since(began))
	}
	return float64(max(1, shortest)) / calibrationSteps
})

// calibrated stores the result of a measurement, so that the compiler does not remove the steps.
var calibrated atomic.Uint64

// setting is the answer to a request to Put. It contains the current work.
type setting struct {
	WorkNs    float64 `json:"work_ns"` // time of one request; a whole number of steps
	Steps     int64   `json:"steps"`
	NsPerStep float64 `json:"ns_per_step"`
}

// Put sets the work of one request, for all shards, to the duration in the query parameter work. It
// answers with the actual work, which is a whole number of steps.
func Put(w http.ResponseWriter, r *http.Request) {
	text := r.URL.Query().Get("work")
	work, err := time.ParseDuration(text)
	if err != nil || work < 0 || work > WorkMax {
		http.Error(w, fmt.Sprintf("the parameter work is %q: use a duration from 0s to %v, such as 1500ns", text, WorkMax), http.StatusBadRequest)
		return
	}
	each := nsPerStep()
	count := int64(math.Round(float64(work) / each))
	steps.Store(count)
	w.Header().Set("Content-Type", "application/json")
	// Encode fails only if the client has closed the connection.
	_ = json.NewEncoder(w).Encode(setting{float64(count) * each, count, each})
}
