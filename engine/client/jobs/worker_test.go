package jobs_test

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/client/jobs"
	"github.com/pronybench/prony/engine/queuepb"
)

func TestHandlersAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		var mu sync.Mutex
		running, most := 0, 0
		send.Handle(b.mux, func(context.Context, *jobs.Job[Email]) error {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			running--
			mu.Unlock()
			return nil
		})
		for range 10 {
			b.enqueue(Email{})
		}
		b.run(jobs.Worker{Concurrency: 3})
		after(10 * time.Second)
		assert.Equal(t, 3, most)
		assert.Len(t, b.outcomes(), 10)
	})
}

func TestQueuesShareTheWorkerByTheirWeights(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		var order []string
		send.Handle(b.mux, func(_ context.Context, job *jobs.Job[Email]) error {
			order = append(order, job.GetQueue())
			return nil
		})
		for range 40 {
			b.enqueue(Email{}, jobs.In("often"))
			b.enqueue(Email{}, jobs.In("rarely"))
		}
		b.run(jobs.Worker{Concurrency: 1, Queues: map[string]int{"often": 3, "rarely": 1}})
		after(time.Minute)
		require.Len(t, order, 80)
		often := 0
		for _, queue := range order[:40] {
			if queue == "often" {
				often++
			}
		}
		assert.InDelta(t, 30, often, 2)
	})
}

func TestMiddlewareWrapsHandlersInOrder(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		var events []string
		logs := func(name string) jobs.Middleware {
			return func(next jobs.Handler) jobs.Handler {
				return func(ctx context.Context, task *queuepb.Task) error {
					events = append(events, name+" "+jobs.KindOf(task))
					err := next(ctx, task)
					var panicked *jobs.PanicError
					if errors.As(err, &panicked) {
						events = append(events, name+" panicked")
					}
					return jobs.Permanent(errors.New(name))
				}
			}
		}
		b.failing(func() error {
			events = append(events, "handler")
			panic("boom")
		})
		b.enqueue(Email{})
		b.run(jobs.Worker{Middleware: []jobs.Middleware{logs("outer"), logs("inner")}})
		after(time.Second)
		assert.Equal(t, []string{"outer email.send", "inner email.send", "handler", "inner panicked"}, events)
		require.Len(t, b.Dead(jobs.DefaultQueue), 1)
		assert.Equal(t, "outer", b.Dead(jobs.DefaultQueue)[0].GetTask().GetLastError())
	})
}

func TestOptionsSetTheFieldsOfTheTask(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	shared := map[string]string{"a": "b"}
	task, err := send.Task(Email{To: "ada"}, jobs.In("mail"), jobs.Delay(time.Minute), jobs.At(at), jobs.MaxAttempts(3), jobs.Priority(9),
		jobs.Backoff(client.Backoff{Initial: time.Second}), jobs.Key("k"), jobs.With(func(t *client.Task) { t.TTL, t.Headers = time.Hour, shared }), jobs.Header("c", "d"))
	require.NoError(t, err)
	assert.Equal(t, client.Task{
		Queue: "mail", Payload: []byte(`{"To":"ada","N":0}`), Delay: time.Minute, NotBefore: at, MaxAttempts: 3, Priority: 9,
		Backoff: client.Backoff{Initial: time.Second}, Key: "k", TTL: time.Hour, Headers: map[string]string{"a": "b", "c": "d", "kind": "email.send"},
	}, task)
	assert.Len(t, shared, 1)
	task, err = send.Task(Email{To: "ada"}, jobs.Unique("ada", client.Unique{Scope: client.UntilFinished, Conflict: client.RefuseSecond}))
	require.NoError(t, err)
	assert.Equal(t, "ada", task.Key)
	assert.Equal(t, &client.Unique{Scope: client.UntilFinished, Conflict: client.RefuseSecond}, task.Unique)
	_, err = jobs.Kind[func()]("f").Task(func() {})
	require.ErrorContains(t, err, `encode the arguments of a job of kind "f"`)
}

// bigEndian encodes numbers.
type bigEndian struct{}

func (bigEndian) Encode(v any) ([]byte, error) { return binary.Append(nil, binary.BigEndian, v) }

func (bigEndian) Decode(b []byte, v any) error {
	_, err := binary.Decode(b, binary.BigEndian, v)
	return err
}

func TestTheCodecIsReplaceable(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		const count jobs.Kind[uint32] = "count"
		var got uint32
		count.Handle(b.mux, func(_ context.Context, job *jobs.Job[uint32]) error {
			got = job.Args
			return nil
		}, jobs.Encoding(bigEndian{}))
		_, err := count.Enqueue(t.Context(), b.producer, 7, jobs.Encoding(bigEndian{}))
		require.NoError(t, err)
		assert.Equal(t, []byte{0, 0, 0, 7}, b.Tasks(jobs.DefaultQueue)[0].GetPayload())
		b.run(jobs.Worker{})
		after(time.Second)
		assert.EqualValues(t, 7, got)
	})
}

func TestAKindHasOneHandler(t *testing.T) {
	mux := jobs.NewMux()
	handler := func(context.Context, *jobs.Job[Email]) error { return nil }
	send.Handle(mux, handler)
	assert.PanicsWithValue(t, `jobs: kind "email.send" already has a handler`, func() { send.Handle(mux, handler) })
}
