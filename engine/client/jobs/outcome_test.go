package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/client/jobs"
	"github.com/pronybench/prony/engine/queuepb"
)

const (
	ready   = queuepb.TaskState_TASK_STATE_READY
	delayed = queuepb.TaskState_TASK_STATE_DELAYED
	leased  = queuepb.TaskState_TASK_STATE_LEASED
)

// failing handles emails with an error.
func (b *bench) failing(fails func() error) {
	send.Handle(b.mux, func(context.Context, *jobs.Job[Email]) error { return fails() })
}

func TestAJobGetsItsArgumentsAndIsCompleted(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		var got []jobs.Job[Email]
		send.Handle(b.mux, func(_ context.Context, job *jobs.Job[Email]) error {
			got = append(got, *job)
			return nil
		})
		id := b.enqueue(Email{To: "ada", N: 7}, jobs.Header("trace", "x"))
		require.Len(t, b.Tasks(jobs.DefaultQueue), 1)
		b.run(jobs.Worker{})
		after(time.Second)
		require.Len(t, got, 1)
		assert.Equal(t, Email{To: "ada", N: 7}, got[0].Args)
		assert.Equal(t, id, got[0].GetId())
		assert.Equal(t, map[string]string{"kind": "email.send", "trace": "x"}, got[0].GetHeaders())
		assert.Empty(t, b.Tasks(jobs.DefaultQueue))
		assert.Empty(t, b.Dead(jobs.DefaultQueue))
		assert.Equal(t, []jobs.Outcome{jobs.Completed}, b.outcomes())
	})
}

func TestAFailedJobIsRetried(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		calls := 0
		b.failing(func() error {
			if calls++; calls == 1 {
				return errors.New("no such mailbox " + strings.Repeat("é", 4<<10))
			}
			return nil
		})
		b.enqueue(Email{}, jobs.Backoff(client.Backoff{Initial: time.Minute, Max: time.Minute, JitterPercent: 1}))
		b.run(jobs.Worker{})
		after(time.Second)
		tasks := b.Tasks(jobs.DefaultQueue)
		require.Len(t, tasks, 1)
		assert.Equal(t, delayed, tasks[0].GetState())
		assert.True(t, strings.HasPrefix(tasks[0].GetLastError(), "no such mailbox é"))
		assert.InDelta(t, 4<<10, len(tasks[0].GetLastError()), 1)
		after(time.Minute)
		assert.Equal(t, []jobs.Outcome{jobs.Failed, jobs.Completed}, b.outcomes())
		assert.Empty(t, b.Tasks(jobs.DefaultQueue))
	})
}

func explode(why string) { panic(why) }

func TestAPanicFailsTheAttemptWithItsStack(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		b.failing(func() error {
			explode("boom")
			return nil
		})
		b.enqueue(Email{}, jobs.MaxAttempts(1))
		b.run(jobs.Worker{})
		after(time.Second)
		dead := b.Dead(jobs.DefaultQueue)
		require.Len(t, dead, 1)
		text := dead[0].GetTask().GetLastError()
		assert.True(t, strings.HasPrefix(text, "panic: boom\n\ngithub.com/pronybench/prony/engine/client/jobs_test.explode("), text)
		assert.LessOrEqual(t, len(text), 4<<10)
		require.Equal(t, []jobs.Outcome{jobs.Failed}, b.outcomes())
		var panicked *jobs.PanicError
		require.ErrorAs(t, b.finished[0].Err, &panicked)
		assert.Equal(t, "boom", panicked.Value)
	})
}

func TestAHandlerThatEndsItsGoroutineFailsTheAttempt(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		b.failing(func() error {
			runtime.Goexit()
			return nil
		})
		b.enqueue(Email{}, jobs.MaxAttempts(1))
		b.run(jobs.Worker{Concurrency: 1})
		after(time.Second)
		require.Len(t, b.Dead(jobs.DefaultQueue), 1)
		assert.Contains(t, b.Dead(jobs.DefaultQueue)[0].GetTask().GetLastError(), "Goexit")
	})
}

func TestAPermanentErrorMakesTheTaskADeadLetter(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		b.failing(func() error { return fmt.Errorf("deliver: %w", jobs.Permanent(errors.New("no such account"))) })
		b.enqueue(Email{})
		b.run(jobs.Worker{})
		after(time.Second)
		dead := b.Dead(jobs.DefaultQueue)
		require.Len(t, dead, 1)
		assert.Equal(t, adminpb.DeathReason_DEATH_REASON_PERMANENT, dead[0].GetReason())
		assert.Equal(t, "deliver: no such account", dead[0].GetTask().GetLastError())
		assert.Equal(t, []jobs.Outcome{jobs.Dead}, b.outcomes())
	})
	require.NoError(t, jobs.Permanent(nil))
	require.NoError(t, jobs.RetryIn(time.Second, nil))
}

func TestAnErrorSetsTheTimeOfTheNextAttempt(t *testing.T) {
	for name, c := range map[string]struct {
		err      error
		outcome  jobs.Outcome
		attempts uint32 // that are used up
		text     string
	}{
		"RetryIn": {jobs.RetryIn(time.Hour, errors.New("too many requests")), jobs.Failed, 1, "too many requests"},
		"Snooze":  {jobs.Snooze(time.Hour), jobs.Snoozed, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bench) {
				b.failing(func() error { return c.err })
				b.enqueue(Email{})
				b.run(jobs.Worker{})
				after(time.Second)
				tasks := b.Tasks(jobs.DefaultQueue)
				require.Len(t, tasks, 1)
				assert.Equal(t, delayed, tasks[0].GetState())
				assert.Equal(t, c.attempts, tasks[0].GetAttempt())
				assert.Equal(t, c.text, tasks[0].GetLastError())
				assert.InDelta(t, b.Now().Add(time.Hour).UnixMilli(), tasks[0].GetDueAtMs(), 2_000)
				assert.Equal(t, []jobs.Outcome{c.outcome}, b.outcomes())
			})
		})
	}
}

func TestATaskOfAnUnknownKindWaitsForAnotherWorker(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		send.Handle(b.mux, func(context.Context, *jobs.Job[Email]) error { return nil })
		_, err := jobs.Kind[int]("report.make").Enqueue(t.Context(), b.producer, 1)
		require.NoError(t, err)
		_, err = b.producer.Enqueue(t.Context(), client.Task{Queue: jobs.DefaultQueue})
		require.NoError(t, err)
		b.run(jobs.Worker{})
		after(100 * time.Millisecond)
		assert.Equal(t, []jobs.Outcome{jobs.Failed, jobs.Failed}, b.outcomes())
		tasks := b.Tasks(jobs.DefaultQueue)
		require.Len(t, tasks, 2)
		assert.Equal(t, `the worker has no handler for kind "report.make"`, tasks[0].GetLastError())
		assert.Equal(t, `the task has no header "kind"`, tasks[1].GetLastError())
		assert.Empty(t, b.Dead(jobs.DefaultQueue))
	})
}

func TestAPayloadThatCannotBeDecodedIsADeadLetter(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		b.failing(func() error { return errors.New("not reached") })
		b.enqueue(Email{}, jobs.With(func(t *client.Task) { t.MaxAttempts = 9 }))
		_, err := jobs.Kind[string](send).Enqueue(t.Context(), b.producer, "not an email")
		require.NoError(t, err)
		b.run(jobs.Worker{})
		after(100 * time.Millisecond)
		dead := b.Dead(jobs.DefaultQueue)
		require.Len(t, dead, 1)
		assert.Contains(t, dead[0].GetTask().GetLastError(), `decode the payload of kind "email.send": json: `)
		assert.Len(t, b.Tasks(jobs.DefaultQueue), 1)
	})
}
