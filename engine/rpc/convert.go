package rpc

import (
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
)

// newTasks converts and checks the tasks of one call. Those at fault are left out, with an error each;
// places[i] is the place in the call of the i-th task that is left, and nil if all are.
func (s *Service) newTasks(tenant string, in []*queuepb.NewTask) (tasks []queue.NewTask, places []int, errs []*queuepb.ItemError) {
	now, payloadMax := s.shards.NowMs(), s.quotas.PayloadBytesMax(tenant)
	tasks = make([]queue.NewTask, 0, len(in))
	for i, t := range in {
		n := queue.NewTask{
			Queue: t.GetQueue(), Priority: uint8(min(t.GetPriority(), 255)), Payload: t.GetPayload(),
			DelayMs: t.GetDelayMs(), NotBeforeMs: t.GetNotBeforeMs(), MaxAttempts: t.GetMaxAttempts(), LeaseMs: t.GetLeaseMs(),
			TTLMs: t.GetTtlMs(), RetentionMs: t.GetResultRetentionMs(), Key: t.GetIdempotencyKey(),
		}
		if b := t.GetBackoff(); b != nil {
			n.Backoff = call.BackoffOf(b)
		}
		err := call.FieldErr(s.limits.CheckTask(now, &n, t.GetPriority()))
		if err == nil && len(n.Payload) > payloadMax {
			err = s.quotas.CheckPayload(tenant, len(n.Payload))
		}
		if err != nil {
			if errs == nil {
				places = call.FirstPlaces(i)
			}
			errs = append(errs, call.ItemError(i, err))
			continue
		}
		tasks = append(tasks, n)
		if errs != nil {
			places = append(places, i)
		}
	}
	return tasks, places, errs
}

// writeIDs writes the ids of accepted tasks into out, all in one piece of memory.
func writeIDs(results []queue.Enqueued, places []int, out []string) {
	text := make([]byte, 0, len(results)*queue.IDLen)
	for i := range results {
		text = queue.ID{Shard: results[i].Shard, Ref: results[i].Ref}.AppendText(text)
	}
	all := string(text)
	for i := range results {
		if results[i].Err == nil {
			out[call.Place(places, i)] = all[i*queue.IDLen : (i+1)*queue.IDLen]
		}
	}
}

// leasedTasks converts what a shard leased.
func leasedTasks(shard uint16, deliveries []queue.Delivery) []*queuepb.Task {
	messages := make([]queuepb.Task, len(deliveries))
	out := make([]*queuepb.Task, len(deliveries))
	text := make([]byte, 0, len(deliveries)*queue.IDLen)
	for i := range deliveries {
		text = queue.ID{Shard: shard, Ref: deliveries[i].Ref}.AppendText(text)
	}
	all := string(text)
	for i := range deliveries {
		d, m := &deliveries[i], &messages[i]
		m.Id = all[i*queue.IDLen : (i+1)*queue.IDLen]
		m.Tenant = d.Queue.Tenant()
		m.Queue = d.Queue.Name()
		m.Priority = uint32(d.Priority)
		m.Payload = d.Payload
		m.Attempt = d.Attempt
		m.MaxAttempts = d.MaxAttempts
		m.Token = d.Token
		m.LeaseExpiresAtMs = d.ExpiresAtMs
		m.EnqueuedAtMs = d.EnqueuedAtMs
		m.State = queuepb.TaskState_TASK_STATE_LEASED
		m.LastError = d.LastError
		if d.Extras != nil {
			m.ExpiresAtMs = d.Extras.ExpiresAtMs
		}
		out[i] = m
	}
	return out
}

// item is what the settling messages have in common.
type item interface {
	GetId() string
	GetToken() uint64
}

// settlement checks one item and fills in its task and token.
func (s *Service) settlement(in item, t *queue.Settlement) error {
	id, err := queue.ParseID(in.GetId())
	if err != nil {
		return call.IDError(err)
	}
	t.Shard, t.Ref, t.Token = id.Shard, id.Ref, in.GetToken()
	return call.FieldErr(s.limits.CheckSettlement(t))
}

// settlements converts and checks the items of one call, as newTasks does.
func settlements[T item](s *Service, in []T, fill func(T, *queue.Settlement) error) (
	out []queue.Settlement, places []int, errs []*queuepb.ItemError,
) {
	out = make([]queue.Settlement, 0, len(in))
	for i, m := range in {
		var t queue.Settlement
		err := fill(m, &t)
		if err == nil {
			err = s.settlement(m, &t)
		}
		if err != nil {
			if errs == nil {
				places = call.FirstPlaces(i)
			}
			errs = append(errs, call.ItemError(i, err))
			continue
		}
		out = append(out, t)
		if errs != nil {
			places = append(places, i)
		}
	}
	return out, places, errs
}

func streamSettlement(m *queuepb.Settlement, t *queue.Settlement) error {
	switch m.GetAction() {
	case queuepb.SettleAction_SETTLE_ACTION_COMPLETE:
		t.Action, t.Result = queue.Complete, m.GetResult()
	case queuepb.SettleAction_SETTLE_ACTION_FAIL:
		t.Action, t.Error, t.DelayMs = queue.Fail, m.GetError(), m.GetDelayMs()
	case queuepb.SettleAction_SETTLE_ACTION_RELEASE:
		t.Action, t.DelayMs = queue.Release, m.GetDelayMs()
	case queuepb.SettleAction_SETTLE_ACTION_EXTEND:
		t.Action, t.LeaseMs = queue.Extend, m.GetLeaseMs()
	default:
		return &queue.FieldError{Field: "action", Problem: "is not set to a known action: use COMPLETE, FAIL, RELEASE or EXTEND"}
	}
	return nil
}
