package rpc_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/storage"
)

// stallingDisk blocks fsyncs of logs while it is locked.
type stallingDisk struct {
	sync.RWMutex

	entered chan struct{} // has an element once an fsync has blocked
}

func (d *stallingDisk) wait(op errorfs.Op) error {
	if isLogSync(op) {
		select {
		case d.entered <- struct{}{}:
		default:
		}
		d.RLock()
		defer d.RUnlock()
	}
	return nil
}

func onStallingDisk(t *testing.T) (queuepb.QueueServiceClient, *stallingDisk) {
	t.Helper()
	disk := &stallingDisk{entered: make(chan struct{}, 1)}
	store, err := storage.Open("shard", storage.Options{FS: errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(disk.wait)), Durability: storage.Sync})
	require.NoError(t, err)
	return serveStore(t, store, func(err error) { require.NoError(t, err) }), disk
}

// callsUnderWay returns the stacks of the goroutines that execute calls.
func callsUnderWay() (out []string) {
	buf := make([]byte, 1<<20)
	for _, stack := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		for _, of := range []string{"rpc.(*Service).", "rpc.(*workStream).", "rpc.(*produceStream)."} {
			if strings.Contains(stack, "prony/engine/"+of) {
				out = append(out, stack)
				break
			}
		}
	}
	return out
}

// Each call ends with its context, even while the shard does not answer because the disk is
// stalled. Tasks leased by an ended claim are released.
func TestCallsEndWithTheirContextsWhileTheDiskStalls(t *testing.T) {
	api, disk := onStallingDisk(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	enqueued, err := api.Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: newTasks("q", 4)})
	require.NoError(t, err)
	leased, err := api.Claim(ctx, &queuepb.ClaimRequest{Queues: []string{"q"}})
	require.NoError(t, err)
	task := leased.GetTasks()[0]
	id := enqueued.GetResults()[3].GetId()

	for name, call := range map[string]func(context.Context){
		"Enqueue": func(ctx context.Context) {
			_, _ = api.Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: newTasks("other", 1)})
		},
		"Claim": func(ctx context.Context) {
			_, _ = api.Claim(ctx, &queuepb.ClaimRequest{Queues: []string{"q"}})
		},
		"Claim that waits": func(ctx context.Context) {
			_, _ = api.Claim(ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, WaitMs: 60_000})
		},
		"Claim that waited": func(ctx context.Context) {
			_, _ = api.Claim(ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, WaitMs: 1})
		},
		"Extend": func(ctx context.Context) {
			_, _ = api.Extend(ctx, &queuepb.ExtendRequest{Extensions: []*queuepb.Extension{{Id: task.GetId(), Token: task.GetToken(), LeaseMs: 60_000}}})
		},
		"GetTask": func(ctx context.Context) { _, _ = api.GetTask(ctx, &queuepb.GetTaskRequest{Id: id}) },
		"AwaitResult": func(ctx context.Context) {
			_, _ = api.AwaitResult(ctx, &queuepb.AwaitResultRequest{Id: id, WaitMs: 60_000})
		},
		"AwaitResult that waited": func(ctx context.Context) {
			_, _ = api.AwaitResult(ctx, &queuepb.AwaitResultRequest{Id: id, WaitMs: 1})
		},
		"Produce": func(ctx context.Context) {
			stream, err := api.Produce(ctx)
			if err == nil && stream.Send(&queuepb.ProduceRequest{Frame: 1, Tasks: newTasks("other", 1)}) == nil && stream.CloseSend() == nil {
				_, _ = stream.Recv()
			}
		},
		"Work": func(ctx context.Context) {
			stream, err := api.Work(ctx)
			if err == nil && stream.Send(&queuepb.WorkRequest{Open: &queuepb.WorkOpen{Queues: []string{"q"}}, Credits: 1}) == nil && stream.CloseSend() == nil {
				_, _ = stream.Recv()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			disk.Lock()
			stalled, end := context.WithCancel(ctx)
			select { // drain the element of a previous call
			case <-disk.entered:
			default:
			}
			blocked := make(chan struct{})
			go func() { // all later commands wait behind this call
				defer close(blocked)
				_, _ = api.Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: newTasks("stalled", 1)})
			}()
			<-disk.entered
			done := make(chan struct{})
			go func() {
				defer close(done)
				call(stalled)
			}()
			require.Eventually(t, func() bool { return len(callsUnderWay()) >= 2 }, patience, time.Millisecond)
			end()
			<-done
			over := func() bool { return len(callsUnderWay()) <= 1 }
			if !waitFor(over) {
				t.Errorf("the call continues after its context has ended:\n%s", strings.Join(callsUnderWay(), "\n\n"))
			}
			disk.Unlock()
			<-blocked
			require.True(t, waitFor(func() bool { return len(callsUnderWay()) == 0 }))
		})
	}
	// The test has the lease of one task. The ended stream has the lease of another, until it
	// expires. The two tasks leased by ended claims were released.
	back := 0
	for back < 2 {
		out, err := api.Claim(ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, MaxTasks: 10, WaitMs: 20_000})
		require.NoError(t, err)
		require.NotEmpty(t, out.GetTasks())
		back += len(out.GetTasks())
	}
}

// waitFor reports whether a condition becomes true in time.
func waitFor(is func() bool) bool {
	for end := time.Now().Add(patience / 3); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if is() {
			return true
		}
	}
	return is()
}
