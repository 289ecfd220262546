package rest

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"

	"github.com/pronybench/prony/engine/queuepb"
)

func appendAnswer(b []byte, m proto.Message) ([]byte, error) {
	e := hotEncoder{b}
	if e.answer(m) {
		return e.b, nil
	}
	return marshalOptions.MarshalAppend(b, m)
}

// hotEncoder encodes the answers to an enqueue, a claim and a completion without reflection. The
// text is the same as that of protojson with marshalOptions. The only exception is that protojson
// may add a space after a comma.
type hotEncoder struct{ b []byte }

// answer appends an answer and returns true. It returns false for other messages, for answers that
// contain an error, and for strings that are not UTF-8. It may then have appended a part of the
// answer.
func (e *hotEncoder) answer(m proto.Message) bool {
	switch m := m.(type) {
	case *queuepb.EnqueueResponse:
		return m != nil && e.enqueued(m)
	case *queuepb.ClaimResponse:
		return m != nil && e.claimed(m)
	case *queuepb.CompleteResponse:
		return m != nil && e.completed(m)
	}
	return false
}

func (e *hotEncoder) enqueued(m *queuepb.EnqueueResponse) bool {
	e.raw(`{"results":[`)
	for i, r := range m.GetResults() {
		if r.GetError() != nil {
			return false
		}
		e.separate(i)
		if !e.text(`{"id":`, r.GetId()) {
			return false
		}
		e.raw(`,"duplicate":`)
		e.b = append(strconv.AppendBool(e.b, r.GetDuplicate()), '}')
	}
	e.raw("]}")
	return true
}

func (e *hotEncoder) claimed(m *queuepb.ClaimResponse) bool {
	if m.GetClaimError() != nil {
		return false
	}
	e.raw(`{"tasks":[`)
	for i, t := range m.GetTasks() {
		e.separate(i)
		if !e.task(t) {
			return false
		}
	}
	e.raw(`],"results":[`)
	if !e.settled(m.GetResults()) {
		return false
	}
	e.raw(`],"paused_queues":[`)
	for i, name := range m.GetPausedQueues() {
		e.separate(i)
		if !e.text("", name) {
			return false
		}
	}
	if !e.text(`],"quota":`, m.GetQuota()) {
		return false
	}
	e.raw("}")
	return true
}

func (e *hotEncoder) completed(m *queuepb.CompleteResponse) bool {
	e.raw(`{"results":[`)
	if !e.settled(m.GetResults()) {
		return false
	}
	e.raw("]}")
	return true
}

// settled appends the results of settlements. It returns false unless the server accepted all of
// them.
func (e *hotEncoder) settled(results []*queuepb.SettleResult) bool {
	for i, r := range results {
		if r.GetError() != nil {
			return false
		}
		e.separate(i)
		e.raw("{}")
	}
	return true
}

// task appends a task. It returns false if the task's state is unknown to this build.
func (e *hotEncoder) task(t *queuepb.Task) bool {
	state, known := queuepb.TaskState_name[int32(t.GetState())]
	if !known || !e.text(`{"id":`, t.GetId()) || !e.text(`,"tenant":`, t.GetTenant()) || !e.text(`,"queue":`, t.GetQueue()) {
		return false
	}
	e.uint32(`,"priority":`, t.GetPriority())
	e.raw(`,"payload":"`)
	e.b = append(base64.StdEncoding.AppendEncode(e.b, t.GetPayload()), '"')
	e.uint32(`,"attempt":`, t.GetAttempt())
	e.uint32(`,"max_attempts":`, t.GetMaxAttempts())
	e.raw(`,"token":"`)
	e.b = append(strconv.AppendUint(e.b, t.GetToken(), 10), '"')
	e.int64(`,"lease_expires_at_ms":"`, t.GetLeaseExpiresAtMs())
	e.int64(`,"enqueued_at_ms":"`, t.GetEnqueuedAtMs())
	e.raw(`,"state":"`)
	e.raw(state)
	e.int64(`","due_at_ms":"`, t.GetDueAtMs())
	if !e.text(`,"last_error":`, t.GetLastError()) {
		return false
	}
	e.int64(`,"expires_at_ms":"`, t.GetExpiresAtMs())
	e.raw(`,"headers":{`)
	if headers := t.GetHeaders(); len(headers) > 0 && !e.headers(headers) {
		return false
	}
	e.raw("}")
	if t.Note != nil && !e.text(`,"note":`, t.GetNote()) {
		return false
	}
	e.uint32(`,"waiting_for":`, t.GetWaitingFor())
	e.raw("}")
	return true
}

func (e *hotEncoder) headers(headers map[string]string) bool {
	for i, key := range slices.Sorted(maps.Keys(headers)) {
		e.separate(i)
		if !e.text("", key) || !e.text(":", headers[key]) {
			return false
		}
	}
	return true
}

func (e *hotEncoder) raw(text string) { e.b = append(e.b, text...) }

func (e *hotEncoder) separate(i int) {
	if i > 0 {
		e.b = append(e.b, ',')
	}
}

func (e *hotEncoder) text(before, text string) bool {
	e.raw(before)
	var err error
	e.b, err = jsontext.AppendQuote(e.b, text)
	return err == nil
}

func (e *hotEncoder) uint32(before string, n uint32) {
	e.raw(before)
	e.b = strconv.AppendUint(e.b, uint64(n), 10)
}

// int64 appends a 64-bit number in quotes. The argument before is the text that precedes the
// number, including the opening quote.
func (e *hotEncoder) int64(before string, n int64) {
	e.raw(before)
	e.b = append(strconv.AppendInt(e.b, n, 10), '"')
}
