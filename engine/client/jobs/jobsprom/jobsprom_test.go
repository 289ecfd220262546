package jobsprom_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/client/jobs"
	"github.com/pronybench/prony/engine/client/jobs/jobsprom"
	"github.com/pronybench/prony/engine/queuedtest"
	"github.com/pronybench/prony/engine/queuepb"
)

const (
	quick jobs.Kind[int] = "quick"
	slow  jobs.Kind[int] = "slow"
)

func TestAttemptsAreCountedByKindAndOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := queuedtest.Start(t)
		mux := jobs.NewMux()
		quick.Handle(mux, func(_ context.Context, job *jobs.Job[int]) error {
			if job.Args == 0 {
				return jobs.Permanent(errors.New("zero"))
			}
			return nil
		})
		slow.Handle(mux, func(context.Context, *jobs.Job[int]) error {
			time.Sleep(40 * time.Second)
			panic("slow")
		})
		metrics := jobsprom.New(mux)
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(metrics)

		p, err := s.Client.Producer(context.Background(), "")
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, p.Close(context.Background())) })
		enqueue := func(kind jobs.Kind[int], args int) {
			_, err := kind.Enqueue(t.Context(), p, args, jobs.MaxAttempts(1))
			require.NoError(t, err)
		}
		for _, args := range []int{0, 1, 2} {
			enqueue(quick, args)
		}
		enqueue(slow, 0)
		for _, kind := range []jobs.Kind[int]{"", "invented", "by a producer"} {
			enqueue(kind, 0)
		}
		ctx, stop := context.WithCancel(context.Background())
		worker := jobs.Worker{
			Client: s.Client, Mux: mux, Logger: slog.New(slog.DiscardHandler),
			Middleware: []jobs.Middleware{metrics.Middleware}, OnFinish: metrics.OnFinish,
		}
		ended := make(chan error, 1)
		go func() { ended <- worker.Run(ctx) }()
		t.Cleanup(func() {
			stop()
			require.NoError(t, <-ended)
		})
		synctest.Wait()
		check := func(text string, names ...string) {
			t.Helper()
			require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(text), names...))
		}
		check(`
# HELP prony_jobs_running Handlers that run.
# TYPE prony_jobs_running gauge
prony_jobs_running{kind="_other"} 0
prony_jobs_running{kind="quick"} 0
prony_jobs_running{kind="slow"} 1
`, "prony_jobs_running")
		time.Sleep(time.Minute)
		synctest.Wait()
		check(`
# HELP prony_jobs_running Handlers that run.
# TYPE prony_jobs_running gauge
prony_jobs_running{kind="_other"} 0
prony_jobs_running{kind="quick"} 0
prony_jobs_running{kind="slow"} 0
# HELP prony_jobs_started_total Attempts whose handler was called.
# TYPE prony_jobs_started_total counter
prony_jobs_started_total{kind="_other"} 3
prony_jobs_started_total{kind="quick"} 3
prony_jobs_started_total{kind="slow"} 1
# HELP prony_jobs_finished_total Attempts that ended, by outcome.
# TYPE prony_jobs_finished_total counter
prony_jobs_finished_total{kind="_other",outcome="failed"} 3
prony_jobs_finished_total{kind="quick",outcome="cancelled"} 0
prony_jobs_finished_total{kind="quick",outcome="completed"} 2
prony_jobs_finished_total{kind="quick",outcome="dead"} 1
prony_jobs_finished_total{kind="quick",outcome="failed"} 0
prony_jobs_finished_total{kind="quick",outcome="lost"} 0
prony_jobs_finished_total{kind="quick",outcome="released"} 0
prony_jobs_finished_total{kind="quick",outcome="snoozed"} 0
prony_jobs_finished_total{kind="slow",outcome="cancelled"} 0
prony_jobs_finished_total{kind="slow",outcome="completed"} 0
prony_jobs_finished_total{kind="slow",outcome="dead"} 0
prony_jobs_finished_total{kind="slow",outcome="failed"} 1
prony_jobs_finished_total{kind="slow",outcome="lost"} 0
prony_jobs_finished_total{kind="slow",outcome="released"} 0
prony_jobs_finished_total{kind="slow",outcome="snoozed"} 0
`, "prony_jobs_running", "prony_jobs_started_total", "prony_jobs_finished_total")
		families, err := registry.Gather()
		require.NoError(t, err)
		for _, f := range families {
			if f.GetName() != "prony_job_duration_seconds" {
				continue
			}
			require.Len(t, f.GetMetric(), 3)
			h := f.GetMetric()[2].GetHistogram()
			assert.EqualValues(t, 1, h.GetSampleCount())
			assert.InDelta(t, 40, h.GetSampleSum(), 1)
			return
		}
		t.Fatal("there is no histogram")
	})
}

func TestAHandlerThatPanicsNoLongerRuns(t *testing.T) {
	mux := jobs.NewMux()
	metrics := jobsprom.New(mux)
	handler := metrics.Middleware(func(context.Context, *queuepb.Task) error { panic("boom") })
	assert.Panics(t, func() { _ = handler(t.Context(), &queuepb.Task{}) })
	require.NoError(t, testutil.CollectAndCompare(metrics, strings.NewReader(`
# HELP prony_jobs_running Handlers that run.
# TYPE prony_jobs_running gauge
prony_jobs_running{kind="_other"} 0
`), "prony_jobs_running"))
	problems, err := testutil.CollectAndLint(metrics)
	require.NoError(t, err)
	assert.Empty(t, problems)
}
