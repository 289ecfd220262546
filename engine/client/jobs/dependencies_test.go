package jobs_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/client/jobs"
	"github.com/pronybench/prony/engine/queuepb"
)

const report jobs.Kind[int] = "report"

// reports handles reports: each notes the outcomes and the results of its dependencies.
func (b *bench) reports() *[]string {
	var seen []string
	report.Handle(b.mux, func(ctx context.Context, job *jobs.Job[int]) error {
		for d, err := range job.Dependencies(ctx) {
			if err != nil {
				return err
			}
			var receipt Receipt
			text := d.GetOutcome().String()
			if err := d.Result(&receipt); err != nil {
				text = err.Error()
			}
			if d.Done() != (d.GetOutcome() == queuepb.DependencyOutcome_DEPENDENCY_OUTCOME_DONE) {
				return errors.New("Done differs from the outcome")
			}
			seen = append(seen, d.GetId()+" "+text)
			job.Args += receipt.Bytes
		}
		return job.SetResult(job.Args)
	})
	return &seen
}

func TestAJobRunsAfterOthers(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		seen := b.reports()
		send.Handle(b.mux, func(_ context.Context, job *jobs.Job[Email]) error {
			switch job.Args.N {
			case 0:
				return jobs.Permanent(errors.New("no such mailbox"))
			case 1:
				return job.SetResult("not a receipt")
			case 2:
				return job.SetResult(make([]byte, 4<<10))
			}
			return job.SetResult(Receipt{job.Args.N})
		})
		var ids []string
		for n := range 5 {
			ids = append(ids, b.enqueue(Email{N: n}))
		}
		id, err := report.Enqueue(t.Context(), b.producer, 100, jobs.After(ids[:2]...), jobs.After(ids[2:]...),
			jobs.DeadDependency(client.RunAnyway), jobs.ResultRetention(time.Hour))
		require.NoError(t, err)
		dies, err := report.Enqueue(t.Context(), b.producer, 0, jobs.After(ids...), jobs.DeadDependency(client.DieToo))
		require.NoError(t, err)
		waits, err := report.Enqueue(t.Context(), b.producer, 0, jobs.After(ids...))
		require.NoError(t, err)
		after(time.Second) // until the server has noted which tasks wait for which
		b.run(jobs.Worker{})
		sum, err := jobs.Await[int](t.Context(), b.Client, "", id)
		require.NoError(t, err)
		assert.Equal(t, 107, sum)
		slices.Sort(*seen)
		want := []string{
			ids[0] + " DEPENDENCY_OUTCOME_DEAD", ids[1] + " decode the result of dependency " + ids[1],
			ids[2] + " the result of dependency " + ids[2] + " has more than 4 KiB",
			ids[3] + " DEPENDENCY_OUTCOME_DONE", ids[4] + " DEPENDENCY_OUTCOME_DONE",
		}
		require.Len(t, *seen, len(want))
		for _, text := range want {
			assert.Condition(t, func() bool {
				return slices.ContainsFunc(*seen, func(s string) bool { return len(s) >= len(text) && s[:len(text)] == text })
			}, "%s in %v", text, *seen)
		}
		_, err = jobs.Await[int](t.Context(), b.Client, "", dies)
		var dead *jobs.DeadError
		require.ErrorAs(t, err, &dead)
		out, err := b.Client.API().GetTask(t.Context(), &queuepb.GetTaskRequest{Id: waits})
		require.NoError(t, err)
		assert.Equal(t, queuepb.TaskState_TASK_STATE_WAITING, out.GetTask().GetState())
		waiting := b.Tasks(jobs.DefaultQueue)
		require.Len(t, waiting, 1)
		assert.Equal(t, waits, waiting[0].GetId())
	})
}

func TestABatchOfJobs(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		b.reports()
		send.Handle(b.mux, func(_ context.Context, job *jobs.Job[Email]) error { return job.SetResult(Receipt{job.Args.N}) })
		newBatch := func() *jobs.Batch {
			batch := jobs.NewBatch(report.Task(0, jobs.Key("r"), jobs.ResultRetention(time.Hour), jobs.In("reports")))
			for n := range 3 {
				batch.Add(send.Task(Email{N: n}))
			}
			return batch
		}
		id, err := newBatch().Enqueue(t.Context(), b.producer)
		require.NoError(t, err)
		again, err := newBatch().Enqueue(t.Context(), b.producer)
		require.NoError(t, err)
		assert.Equal(t, id, again)
		assert.Len(t, b.Tasks(jobs.DefaultQueue), 3)
		b.run(jobs.Worker{Queues: map[string]int{jobs.DefaultQueue: 1, "reports": 1}})
		sum, err := jobs.Await[int](t.Context(), b.Client, "", id)
		require.NoError(t, err)
		assert.Equal(t, 3, sum)
	})
}

func TestABatchWithAMistakeIsNotStored(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		const bad jobs.Kind[func()] = "bad"
		good, err := send.Task(Email{})
		require.NoError(t, err)
		first := jobs.NewBatch(bad.Task(nil))
		first.Add(good, nil)
		second := jobs.NewBatch(good, nil)
		second.Add(bad.Task(nil))
		second.Add(good, nil)
		for _, batch := range []*jobs.Batch{first, second} {
			_, err := batch.Enqueue(t.Context(), b.producer)
			require.ErrorContains(t, err, `encode the arguments of a job of kind "bad"`)
		}
		assert.Empty(t, b.Tasks(jobs.DefaultQueue))
	})
}

func TestWithoutAWorkerAJobHasNoDependencies(t *testing.T) {
	for d, err := range (&jobs.Job[Email]{}).Dependencies(t.Context()) {
		t.Fatal("there are none", d, err)
	}
}
