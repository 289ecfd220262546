package storage

import (
	"fmt"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/record"
)

// progressOf returns the stored progress of a task, even if the task no longer exists.
func (s *Store) progressOf(ref queue.Ref) (p queue.Progress, found bool, err error) {
	v, found, err := s.get(record.RefKey(record.PrefixProgress, ref))
	if err != nil || !found {
		return p, false, err
	}
	p, err = record.DecodeProgress(v)
	return p, true, record.Named(err, "progress of task", ref)
}

// deadRecord returns the record of a dead task, even if the task no longer exists.
func (s *Store) deadRecord(ref queue.Ref) (x queue.Dead, found bool, err error) {
	v, found, err := s.get(record.RefKey(record.PrefixDead, ref))
	if err != nil || !found {
		return x, false, err
	}
	x, err = record.DecodeDead(v)
	return x, true, record.Named(err, "dead task", ref)
}

// withHeaders returns a task whose payload begins with headers, for every third seq.
func withHeaders(seq uint64, payload []byte) queue.Task {
	n := queue.NewTask{Payload: payload}
	if seq%3 == 0 {
		n.AddHeaders(map[string]string{"kind": fmt.Sprint(seq % 2), "trace": ""})
	}
	return queue.Task{HasHeaders: n.HasHeaders, Payload: n.Payload}
}

// contentOf returns the headers and the payload of a task as text.
func contentOf(t queue.Task) string {
	headers, payload := t.Split()
	return fmt.Sprint(headers.Map(), " ", string(payload))
}
