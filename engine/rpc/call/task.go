package call

import (
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/shard"
)

// TaskMessage returns the message for a task that a shard has found.
func TaskMessage(tenant string, id queue.ID, f shard.Found) *queuepb.Task {
	headers, payload := f.Task.Split()
	t := &queuepb.Task{
		Id:           id.String(),
		Tenant:       tenant,
		Queue:        f.Queue,
		Priority:     uint32(f.Priority()),
		Payload:      payload,
		MaxAttempts:  f.Task.MaxAttempts,
		EnqueuedAtMs: f.Task.EnqueuedAtMs,
		LastError:    f.LastError,
		Headers:      headers.Map(),
	}
	if x := f.Task.Extras; x != nil {
		t.ExpiresAtMs = x.ExpiresAtMs
	}
	if f.HasProgress {
		t.Attempt, t.MaxAttempts, t.ExpiresAtMs = f.Progress.Attempts, f.Progress.MaxAttempts, f.Progress.ExpiresAtMs
	}
	if f.Note != "" {
		t.Note = &f.Note
	}
	t.State = TaskStates[f.State]
	switch f.State {
	case shard.Leased:
		t.Attempt, t.LeaseExpiresAtMs = f.Lease.Attempt, f.Lease.ExpiresAtMs
	case shard.Delayed:
		t.DueAtMs = f.Progress.DueAtMs
	case shard.Waiting:
		t.WaitingFor = f.WaitingFor
	case shard.Ready, shard.Dead, shard.Done:
	}
	return t
}

// TaskStates maps task states to the constants of the schema.
var TaskStates = map[shard.TaskState]queuepb.TaskState{
	shard.Ready:   queuepb.TaskState_TASK_STATE_READY,
	shard.Delayed: queuepb.TaskState_TASK_STATE_DELAYED,
	shard.Leased:  queuepb.TaskState_TASK_STATE_LEASED,
	shard.Done:    queuepb.TaskState_TASK_STATE_DONE,
	shard.Dead:    queuepb.TaskState_TASK_STATE_DEAD,
	shard.Waiting: queuepb.TaskState_TASK_STATE_WAITING,
}

// ItemBytes is the approximate size in bytes of a task's message without its payload, headers and
// texts.
const ItemBytes = 128

// TaskBytes returns the approximate size of a task's message in bytes.
func TaskBytes(t *queuepb.Task) int {
	return ItemBytes + len(t.GetPayload()) + queue.HeadersBytes(t.GetHeaders()) + len(t.GetLastError()) + len(t.GetNote())
}

// BackoffOf converts a backoff.
func BackoffOf(b *queuepb.Backoff) queue.Backoff {
	return queue.Backoff{
		InitialMs: b.GetInitialMs(), MaxMs: b.GetMaxMs(),
		MultiplierPercent: b.GetMultiplierPercent(), JitterPercent: b.GetJitterPercent(),
	}
}
