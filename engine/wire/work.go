package wire

import (
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pronybench/prony/engine/queuepb"
)

// The fields of a WorkRequest.
const (
	WorkRequestCredits     protowire.Number = 2
	WorkRequestFrame       protowire.Number = 3
	WorkRequestSettlements protowire.Number = 4
)

// Those fields of a Settlement that usually differ between the settlements of a request.
const (
	settlementID    protowire.Number = 1
	settlementToken protowire.Number = 2
)

// The fields of a WorkResponse.
const (
	WorkResponseTasks     protowire.Number = 1
	WorkResponseAnswers   protowire.Number = 2
	WorkResponseNowMs     protowire.Number = 3
	WorkResponseCancelled protowire.Number = 4
)

// settlements is a pool of lists of Settlement messages. The messages in the lists are reused too.
var settlements sync.Pool // contains *[]*queuepb.Settlement

// RecycleWorkRequest puts the messages of the request's settlements back into a pool, and removes
// them from the request. The caller must no longer use these messages. It may still use the memory
// that their fields refer to, which is not reused.
func RecycleWorkRequest(m *queuepb.WorkRequest) {
	putMessages(&settlements, m.Settlements)
	m.Settlements = nil
}

func decodeWorkRequest(b []byte, m *queuepb.WorkRequest) bool {
	const items = byte(WorkRequestSettlements)<<3 | bytesType
	n, ok := count(b, items)
	if !ok {
		return false
	}
	m.Reset()
	m.Settlements = takeMessages[queuepb.Settlement](&settlements, n)
	g := group{bytesMax: newTaskGroupBytes}
	n = 0
	for i := 0; i < len(b); {
		tag, v, next := read(b, i)
		switch tag {
		case 1<<3 | bytesType:
			if m.Open == nil {
				m.Open = &queuepb.WorkOpen{}
			}
			ok = merge.Unmarshal(b[next-int(v):next:next], m.Open) == nil
		case byte(WorkRequestCredits)<<3 | integerType:
			m.Credits = uint32(v)
		case byte(WorkRequestFrame)<<3 | integerType:
			m.Frame = v
		case items:
			ok = decodeSettlement(g.element(b, next-int(v), next), m.Settlements[n])
			n++
		default:
			ok = false
		}
		if !ok {
			return false
		}
		i = next
	}
	return true
}

func decodeSettlement(b []byte, m *queuepb.Settlement) (ok bool) {
	for i := 0; i < len(b); {
		tag, v, next := read(b, i)
		if next < 0 {
			return false
		}
		i = next
		ok = true
		switch tag {
		case 1<<3 | bytesType:
			m.Id, ok = text(b[next-int(v) : next : next])
		case 2<<3 | integerType:
			m.Token = v
		case 3<<3 | integerType:
			m.Action = queuepb.SettleAction(v)
		case 4<<3 | bytesType:
			m.Error, ok = text(b[next-int(v) : next : next])
		case 5<<3 | integerType:
			m.DelayMs = v
		case 6<<3 | integerType:
			m.LeaseMs = v
		case 7<<3 | bytesType:
			m.Result = b[next-int(v) : next : next]
		case 8<<3 | integerType:
			m.Permanent = v != 0
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return true
}

// The tasks of a WorkResponse share memory: several tasks share an allocation of about
// taskGroupBytes for their strings and payloads, and taskGroup Task messages share an allocation.
const (
	taskGroupBytes = 4 << 10
	taskGroup      = 16
)

func decodeWorkResponse(b []byte, m *queuepb.WorkResponse) bool {
	const tasks, answers = 1<<3 | bytesType, 2<<3 | bytesType
	nTasks, ok := count(b, tasks)
	if !ok {
		return false
	}
	nAnswers, _ := count(b, answers)
	oldTasks, oldAnswers := m.Tasks[:0], m.Answers[:0]
	m.Reset()
	m.Answers = refill(oldAnswers, nAnswers)
	if nTasks > 0 {
		m.Tasks = oldTasks
	}
	nAnswers = 0
	g := group{bytesMax: taskGroupBytes}
	var slab []queuepb.Task
	for i := 0; i < len(b); {
		tag, v, next := read(b, i)
		switch tag {
		case tasks:
			if len(slab) == 0 {
				slab = make([]queuepb.Task, min(nTasks-len(m.Tasks), taskGroup))
			}
			t := &slab[0]
			slab = slab[1:]
			m.Tasks = append(m.Tasks, t)
			ok = decodeTask(g.element(b, next-int(v), next), t)
		case answers:
			ok = decodeSettleAnswer(b[next-int(v):next:next], m.Answers[nAnswers])
			nAnswers++
		case 3<<3 | integerType:
			m.NowMs = int64(v)
		case byte(WorkResponseCancelled)<<3 | bytesType: // it is rare
			c := &queuepb.CancelledLease{}
			ok = merge.Unmarshal(b[next-int(v):next:next], c) == nil
			m.Cancelled = append(m.Cancelled, c)
		default:
			ok = false
		}
		if !ok {
			return false
		}
		i = next
	}
	return true
}

func decodeTask(b []byte, m *queuepb.Task) (ok bool) {
	for i := 0; i < len(b); {
		tag, v, next := read(b, i)
		if next < 0 {
			if i = decodeRareOfTask(b, i, m); i < 0 {
				return false
			}
			continue
		}
		i = next
		ok = true
		switch tag {
		case 1<<3 | bytesType:
			m.Id, ok = text(b[next-int(v) : next : next])
		case 2<<3 | bytesType:
			m.Tenant, ok = text(b[next-int(v) : next : next])
		case 3<<3 | bytesType:
			m.Queue, ok = text(b[next-int(v) : next : next])
		case 4<<3 | integerType:
			m.Priority = uint32(v)
		case 5<<3 | bytesType:
			m.Payload = b[next-int(v) : next : next]
		case 6<<3 | integerType:
			m.Attempt = uint32(v)
		case 7<<3 | integerType:
			m.MaxAttempts = uint32(v)
		case 8<<3 | integerType:
			m.Token = v
		case 9<<3 | integerType:
			m.LeaseExpiresAtMs = int64(v)
		case 10<<3 | integerType:
			m.EnqueuedAtMs = int64(v)
		case 11<<3 | integerType:
			m.State = queuepb.TaskState(v)
		case 12<<3 | integerType:
			m.DueAtMs = int64(v)
		case 13<<3 | bytesType:
			m.LastError, ok = text(b[next-int(v) : next : next])
		case 14<<3 | integerType:
			m.ExpiresAtMs = int64(v)
		case 15<<3 | bytesType:
			ok = decodeHeader(b[next-int(v):next:next], &m.Headers)
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return true
}

// decodeRareOfTask is as decodeRareOfNewTask.
func decodeRareOfTask(b []byte, i int, m *queuepb.Task) (next int) {
	number, kind, v, next := readRare(b, i)
	switch {
	case number == 16 && kind == protowire.BytesType:
		note, ok := text(b[next-int(v) : next : next])
		if !ok {
			return -1
		}
		m.Note = &note
	case number == 17 && kind == protowire.VarintType:
		m.WaitingFor = uint32(v)
	default:
		return -1
	}
	return next
}

func decodeSettleAnswer(b []byte, m *queuepb.SettleAnswer) bool {
	m.Reset()
	ok := true
	for i := 0; i < len(b); {
		tag, v, next := read(b, i)
		if next < 0 {
			return false
		}
		switch tag {
		case 1<<3 | integerType:
			m.Frame = v
		case 2<<3 | bytesType:
			m.Errors, ok = appendError(m.Errors, b[next-int(v):next:next])
		default:
			ok = false
		}
		if !ok {
			return false
		}
		i = next
	}
	return true
}
