package wire

import (
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pronybench/prony/engine/queuepb"
)

// The fields of a ProduceRequest.
const (
	ProduceRequestTenant protowire.Number = 1
	ProduceRequestFrame  protowire.Number = 2
	ProduceRequestTasks  protowire.Number = 3
)

// ProduceResponseAnswers is a field of a ProduceResponse.
const ProduceResponseAnswers protowire.Number = 1

// newTaskGroupBytes is the maximum size, in bytes, of the memory that several new tasks share. It
// is small, because the server retains the payloads of waiting tasks, and one payload should not
// keep a whole frame in memory.
const newTaskGroupBytes = 512

// newTasks is a pool of lists of NewTask messages. The messages in the lists are reused too.
var newTasks sync.Pool // contains *[]*queuepb.NewTask

// RecycleProduceRequest puts the messages of the request's tasks back into a pool, and removes them
// from the request. The caller must no longer use these messages. It may still use the memory that
// their fields refer to, which is not reused.
func RecycleProduceRequest(m *queuepb.ProduceRequest) {
	putMessages(&newTasks, m.Tasks)
	m.Tasks = nil
}

func decodeProduceRequest(b []byte, m *queuepb.ProduceRequest) bool {
	const tasks = byte(ProduceRequestTasks)<<3 | bytesType
	n, ok := count(b, tasks)
	if !ok {
		return false
	}
	m.Reset()
	m.Tasks = takeMessages[queuepb.NewTask](&newTasks, n)
	g := group{bytesMax: newTaskGroupBytes}
	n = 0
	for i := 0; i < len(b); {
		tag, v, next := read(b, i)
		switch tag {
		case byte(ProduceRequestTenant)<<3 | bytesType:
			m.Tenant, ok = text([]byte(string(b[next-int(v) : next : next])))
		case byte(ProduceRequestFrame)<<3 | integerType:
			m.Frame = v
		case tasks:
			ok = decodeNewTask(g.element(b, next-int(v), next), m.Tasks[n])
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

func decodeNewTask(b []byte, m *queuepb.NewTask) (ok bool) {
	for i := 0; i < len(b); {
		tag, v, next := read(b, i)
		if next < 0 {
			if i = decodeRareOfNewTask(b, i, m); i < 0 {
				return false
			}
			continue
		}
		i = next
		ok = true
		switch tag {
		case 1<<3 | bytesType:
			m.Queue, ok = text(b[next-int(v) : next : next])
		case 2<<3 | integerType:
			m.Priority = uint32(v)
		case 3<<3 | bytesType:
			m.Payload = b[next-int(v) : next : next]
		case 4<<3 | integerType:
			m.DelayMs = v
		case 5<<3 | integerType:
			m.MaxAttempts = uint32(v)
		case 6<<3 | integerType:
			m.LeaseMs = v
		case 7<<3 | integerType:
			m.NotBeforeMs = int64(v)
		case 8<<3 | integerType:
			m.TtlMs = v
		case 9<<3 | bytesType:
			if m.Backoff == nil {
				m.Backoff = &queuepb.Backoff{}
			}
			ok = merge.Unmarshal(b[next-int(v):next:next], m.Backoff) == nil
		case 10<<3 | integerType:
			m.ResultRetentionMs = v
		case 11<<3 | bytesType:
			m.IdempotencyKey, ok = text(b[next-int(v) : next : next])
		case 12<<3 | bytesType:
			ok = decodeHeader(b[next-int(v):next:next], &m.Headers)
		case 13<<3 | bytesType:
			if m.Unique == nil {
				m.Unique = &queuepb.Unique{}
			}
			ok = merge.Unmarshal(b[next-int(v):next:next], m.Unique) == nil
		case 14<<3 | bytesType:
			var id string
			id, ok = text(b[next-int(v) : next : next])
			m.After = append(m.After, id)
		case 15<<3 | integerType:
			m.BatchSize = uint32(v)
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return true
}

// decodeRareOfNewTask decodes the field at b[i:], whose number is greater than 15. It returns the
// offset of the next field, or a negative number if the field is invalid or unknown.
func decodeRareOfNewTask(b []byte, i int, m *queuepb.NewTask) (next int) {
	number, kind, v, next := readRare(b, i)
	switch {
	case number == 16 && kind == protowire.BytesType:
		id, ok := text(b[next-int(v) : next : next])
		if !ok {
			return -1
		}
		m.Batch = id
	case number == 17 && kind == protowire.VarintType:
		m.DeadDependency = queuepb.DeadDependency(v)
	default:
		return -1
	}
	return next
}

// idGroupBytes is the maximum size, in bytes, of the memory that several ids of one answer share.
const idGroupBytes = 512

func decodeProduceResponse(b []byte, m *queuepb.ProduceResponse) bool {
	const answers = 1<<3 | bytesType
	n, ok := count(b, answers)
	if !ok {
		return false
	}
	list := m.Answers[:0]
	m.Reset()
	m.Answers = refill(list, n)
	n = 0
	for i := 0; i < len(b); n++ {
		tag, v, next := read(b, i)
		if tag != answers || !decodeEnqueueAnswer(b[next-int(v):next:next], m.Answers[n]) {
			return false
		}
		i = next
	}
	return true
}

func decodeEnqueueAnswer(b []byte, m *queuepb.EnqueueAnswer) bool {
	const ids = 2<<3 | bytesType
	n, ok := count(b, ids)
	if !ok {
		return false
	}
	m.Reset()
	if n > 0 {
		m.Ids = make([]string, 0, n)
	}
	g := group{bytesMax: idGroupBytes}
	for i := 0; i < len(b); {
		tag, v, next := read(b, i)
		switch tag {
		case 1<<3 | integerType:
			m.Frame = v
		case ids:
			var id string
			id, ok = text(g.element(b, next-int(v), next))
			m.Ids = append(m.Ids, id)
		case 3<<3 | bytesType:
			m.Errors, ok = appendError(m.Errors, b[next-int(v):next:next])
		case 4<<3 | integerType:
			m.Duplicates = append(m.Duplicates, uint32(v))
		case 4<<3 | bytesType:
			m.Duplicates, ok = appendPlaces(m.Duplicates, b[next-int(v):next:next])
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

func appendError(errs []*queuepb.ItemError, b []byte) ([]*queuepb.ItemError, bool) {
	e := &queuepb.ItemError{}
	return append(errs, e), merge.Unmarshal(b, e) == nil
}

func appendPlaces(places []uint32, b []byte) ([]uint32, bool) {
	for i := 0; i < len(b); {
		v, next := varint(b, i)
		if next < 0 {
			return places, false
		}
		places = append(places, uint32(v))
		i = next
	}
	return places, true
}

func refill[T any](list []*T, n int) []*T {
	if n == 0 {
		return nil
	}
	list = list[:min(n, cap(list))]
	for i := range list {
		if list[i] == nil {
			list[i] = new(T)
		}
	}
	for len(list) < n {
		list = append(list, new(T))
	}
	return list
}
