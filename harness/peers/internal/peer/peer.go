// Package peer contains common parts of the targets: outcomes of batches, runs of tasks of one
// queue, and checks of a scenario's settings.
package peer

import (
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"

	"github.com/pronybench/prony/harness/driver"
)

// Unknown marks an error as an unknown outcome, because the connection broke or the wait for the
// answer timed out.
func Unknown(err error) error { return fmt.Errorf("%w: %w", driver.ErrUnknown, err) }

// ErrLeaseOver is the outcome of completing a task that the server no longer assigns to this
// worker.
var ErrLeaseOver = fmt.Errorf("%w: the server has no such task for this worker", driver.ErrLeaseOver)

// ErrNotClaimed is returned for a delivery that another driver made.
var ErrNotClaimed = errors.New("the delivery was not claimed by this driver")

// ErrAttached is returned by Kill and Restart for servers that this program did not start.
var ErrAttached = errors.New("this program did not start the servers, so it cannot kill or restart them")

// Fill sets all outcomes to outcome.
func Fill(outcomes []error, outcome error) {
	for i := range outcomes {
		outcomes[i] = outcome
	}
}

// Runs calls visit for each run of consecutive elements with the same key. The run contains the
// elements with indexes in [first, end).
func Runs[E any](of []E, key func(*E) string, visit func(key string, first, end int) error) error {
	for first := 0; first < len(of); {
		end := first + 1
		for end < len(of) && key(&of[end]) == key(&of[first]) {
			end++
		}
		if err := visit(key(&of[first]), first, end); err != nil {
			return err
		}
		first = end
	}
	return nil
}

// TaskQueue returns the queue of a task.
func TaskQueue(t *driver.Task) string { return t.Queue }

// Settings returns the defaults merged with the scenario's settings. It returns an error for a
// setting that the target does not have.
func Settings(target string, defaults, set map[string]string) (map[string]string, error) {
	merged := maps.Clone(defaults)
	for name, value := range set {
		if _, known := defaults[name]; !known {
			return nil, fmt.Errorf("setting %q: %s has no such setting here; it has %q", name, target, slices.Sorted(maps.Keys(defaults)))
		}
		merged[name] = value
	}
	return merged, nil
}

// Module returns the name and the version of a module in this program:
// "github.com/redis/go-redis/v9 v9.23.0".
func Module(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return path + " " + m.Version
			}
		}
	}
	return path
}
