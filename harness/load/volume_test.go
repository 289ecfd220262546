package load

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/scenario"
)

// The window ends when at least the given number of tasks is done. It may include the calls in
// flight. The WindowEnd hook is then called, and producers stop.
func TestWindowOfTasks(t *testing.T) {
	for name, change := range map[string]func(*scenario.Workload){
		"both roles":          nil,
		"with a limit":        func(w *scenario.Workload) { w.InFlight = 8 },
		"producers that wait": func(w *scenario.Workload) { w.InFlight, w.Producers, w.Workers = 1, 8, 2 },
		"producers alone":     func(w *scenario.Workload) { w.Workers, w.InFlight = 0, 1_000_000 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				b.ackDelay, b.completeDelay = 5*time.Millisecond, 5*time.Millisecond
				cfg := config(b, workload(change))
				const tasks = 500
				cfg.Phases.Tasks, cfg.Phases.Window = tasks, time.Hour
				var ended time.Time
				cfg.Hooks.WindowEnd = func(context.Context) error { ended = time.Now(); return nil }
				o, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				assert.True(t, o.Drained)
				assert.Less(t, o.Window, time.Hour)
				assert.Equal(t, o.WindowEnd.Sub(o.WindowStart), o.Window)
				assert.Equal(t, o.WindowEnd, ended)
				done, calls := o.Cycles, b.completed
				if cfg.Workload.Workers == 0 {
					done, calls = o.Enqueued, b.acknowledged
				}
				assert.GreaterOrEqual(t, done, uint64(tasks))
				assert.LessOrEqual(t, done, uint64(tasks+8), "plus the calls in flight")
				assert.LessOrEqual(t, countWithin(calls, o.WindowStart, o.WindowEnd), done)
				assert.Less(t, o.Finished.Sub(o.WindowEnd), time.Second, "the drain waits only for tasks in flight")
				if name == "producers that wait" {
					after := countWithin(b.acknowledged, o.WindowEnd.Add(1), o.Finished.Add(1))
					assert.LessOrEqual(t, after, uint64(2), "waiting producers send nothing more")
				}
			})
		})
	}
}

// A window whose tasks are not done in time ends by time.
func TestWindowOfTooManyTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.completeDelay = 5 * time.Millisecond
		cfg := config(b, workload(func(w *scenario.Workload) { w.InFlight = 8 }))
		cfg.Phases.Tasks = 1_000_000
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.Equal(t, cfg.Phases.Window, o.Window)
		assert.Equal(t, countWithin(b.completed, o.WindowStart, o.WindowEnd), o.Cycles)
		assert.True(t, o.Drained)
	})
}

func TestWindowOfTasksThatCannotBeRun(t *testing.T) {
	s := golden.Cases(t, "testdata/volumes.golden")
	one := config(newBroker(), workload(dueAt))
	one.Phases.Tasks = 5
	_, err := Run(t.Context(), one)
	s.Error(t, "with a rate", err)
	one = config(newBroker(), workload(nil))
	one.Phases.Tasks = -1
	_, err = Run(t.Context(), one)
	s.Error(t, "below zero", err)
	one.Phases.Tasks = 5
	_, err = RunAll(t.Context(), one, config(newBroker(), workload(nil)))
	s.Error(t, "several workloads", err)
}
