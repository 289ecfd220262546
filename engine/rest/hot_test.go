package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queuepb"
)

func hotRequests() []proto.Message {
	return []proto.Message{&queuepb.EnqueueRequest{}, &queuepb.ClaimRequest{}, &queuepb.CompleteRequest{}}
}

// drawText draws a string, often with characters that JSON escapes.
func drawText(t *rapid.T, label string) string {
	return rapid.OneOf(rapid.StringMatching(`[a-z0-9-]{0,12}`), rapid.String(),
		rapid.SampledFrom([]string{"\"\\/\b\f\n\r\t\x00\x1f\x7f", "<&>\u2028\u2029", "äß€𝄞", "\uFFFD", "null"})).Draw(t, label)
}

func drawBytes(t *rapid.T, label string) []byte {
	return rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, label)
}

func drawHeaders(t *rapid.T) map[string]string {
	text := rapid.Custom(func(t *rapid.T) string { return drawText(t, "header") })
	return rapid.MapOfN(text, text, 0, 3).Draw(t, "headers")
}

func drawCompletions(t *rapid.T) []*queuepb.Completion {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *queuepb.Completion {
		return &queuepb.Completion{Id: drawText(t, "id"), Token: rapid.Uint64().Draw(t, "token"), Result: drawBytes(t, "result")}
	}), 0, 3).Draw(t, "completions")
}

func drawRequest(t *rapid.T) proto.Message {
	switch rapid.IntRange(0, 2).Draw(t, "call") {
	case 0:
		m := &queuepb.EnqueueRequest{Tenant: drawText(t, "tenant")}
		for range rapid.IntRange(0, 3).Draw(t, "tasks") {
			m.Tasks = append(m.Tasks, &queuepb.NewTask{
				Queue: drawText(t, "queue"), Priority: rapid.Uint32().Draw(t, "priority"), Payload: drawBytes(t, "payload"),
				DelayMs: rapid.Uint64().Draw(t, "delay"), MaxAttempts: rapid.Uint32().Draw(t, "attempts"),
				LeaseMs: rapid.Uint64().Draw(t, "lease"), IdempotencyKey: drawText(t, "key"),
				Headers: drawHeaders(t), BatchSize: rapid.Uint32().Draw(t, "batch size"), Batch: drawText(t, "batch"),
				After: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return drawText(t, "dependency") }), 0, 3).Draw(t, "after"),
			})
		}
		return m
	case 1:
		return &queuepb.ClaimRequest{
			Tenant: drawText(t, "tenant"), Queues: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return drawText(t, "queue") }), 0, 3).Draw(t, "queues"),
			MaxTasks: rapid.Uint32().Draw(t, "most"), LeaseMs: rapid.Uint64().Draw(t, "lease"), WaitMs: rapid.Uint64().Draw(t, "wait"),
			Completions: drawCompletions(t),
		}
	default:
		return &queuepb.CompleteRequest{Tenant: drawText(t, "tenant"), Completions: drawCompletions(t)}
	}
}

// Any hot request that protojson writes is decoded without reflection to the same message.
func TestHotRequestsAreDecodedWithoutReflection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawRequest(t)
		text, err := protojson.MarshalOptions{
			UseProtoNames: rapid.Bool().Draw(t, "proto names"), Multiline: rapid.Bool().Draw(t, "lines"),
		}.Marshal(want)
		require.NoError(t, err)
		got := want.ProtoReflect().New().Interface()
		require.True(t, decodeHot(text, got), "%s", text)
		require.True(t, proto.Equal(want, got), "%s: %v", text, got)
	})
}

// Other notations of a request are decoded to the same message, or passed to protojson.
func TestHotRequestsAreDecodedAsByProtojson(t *testing.T) {
	for text, hot := range map[string]bool{
		`{}`:                                true,
		" {\t}\r\n ":                        true,
		``:                                  false,
		`{} {}`:                             false,
		`{},`:                               false,
		`[]`:                                false,
		`null`:                              false,
		`{"tenant":"a"`:                     false,
		`{"tenant":"a","tenant":"b"}`:       false,
		`{"tenant":null}`:                   false,
		`{"tenant":7}`:                      false,
		`{"tenant":"\ud834\udd1e\/\u00e4"}`: true,
		`{"\u0074enant":"a"}`:               true,
		`{"tenant":"\ud834"}`:               false,
		"{\"tenant\":\"\xff\"}":             false,
		"{\"tenant\":\"\n\"}":               false,
		`{"other":1}`:                       false,
		`{"tasks":{}}`:                      false,
		`{"tasks":[null]}`:                  false,
		`{"tasks":[{},]}`:                   false,
		`{"tasks":[{"queue":"a"},{},{"queue":"b"}]}`:      true,
		`{"tasks":[{"queue":"a","queue":"a"}]}`:           false,
		`{"tasks":[{"lease_ms":1,"leaseMs":1}]}`:          false,
		`{"tasks":[{"payload":""}]}`:                      true,
		`{"tasks":[{"payload":"AA=="}]}`:                  true,
		`{"tasks":[{"payload":"AA"}]}`:                    false,
		`{"tasks":[{"payload":"-_-_"}]}`:                  false,
		`{"tasks":[{"payload":"A==="}]}`:                  false,
		`{"tasks":[{"payload":"AA\n=="}]}`:                false,
		`{"tasks":[{"priority":"3"}]}`:                    true,
		`{"tasks":[{"priority":" 3"}]}`:                   false,
		`{"tasks":[{"priority":3.0}]}`:                    false,
		`{"tasks":[{"priority":30e-1}]}`:                  false,
		`{"tasks":[{"priority":-1}]}`:                     false,
		`{"tasks":[{"priority":-0}]}`:                     false,
		`{"tasks":[{"priority":"03"}]}`:                   false,
		`{"tasks":[{"priority":""}]}`:                     false,
		`{"tasks":[{"priority":"\u0033"}]}`:               false,
		`{"tasks":[{"priority":4294967295}]}`:             true,
		`{"tasks":[{"priority":4294967296}]}`:             false,
		`{"tasks":[{"delay_ms":18446744073709551615}]}`:   true,
		`{"tasks":[{"delay_ms":"18446744073709551616"}]}`: false,
		`{"tasks":[{"backoff":{"initial_ms":1}}]}`:        false,
		`{"tasks":[{"headers":{}}]}`:                      true,
		`{"tasks":[{"headers":{"":"","a":"\u0062"}}]}`:    true,
		`{"tasks":[{"headers":{"a":"b","\u0061":"c"}}]}`:  false,
		`{"tasks":[{"headers":{"a":1}}]}`:                 false,
		`{"tasks":[{"headers":{"a":null}}]}`:              false,
		`{"tasks":[{"headers":["a"]}]}`:                   false,
		`{"tasks":[{"headers":{},"headers":{}}]}`:         false,
		`{"tasks":[{"headers":{"a":"b"`:                   false,
		`{"tasks":[{"after":["a","b"],"batchSize":"2"}]}`: true,
		`{"tasks":[{"after":[]}]}`:                        true,
		`{"tasks":[{"after":["a",7]}]}`:                   false,
		`{"tasks":[{"after":"a"}]}`:                       false,
		`{"tasks":[{"after":[],"after":[]}]}`:             false,
		`{"tasks":[{"batch":"a","batch":"b"}]}`:           false,
		`{"tasks":[{"dead_dependency":2}]}`:               false,
		`{"tasks":[` + strings.Repeat(`[`, 200) + `]}`:    false,
	} {
		t.Run(text, func(t *testing.T) {
			got, want := &queuepb.EnqueueRequest{}, &queuepb.EnqueueRequest{}
			assert.Equal(t, hot, decodeHot([]byte(text), got))
			if hot {
				require.NoError(t, unmarshalOptions.Unmarshal([]byte(text), want))
				assert.True(t, proto.Equal(want, got), "%v", got)
			}
		})
	}
}

// Messages of other calls are passed to protojson.
func TestOtherRequestsAreLeftToProtojson(t *testing.T) {
	assert.False(t, decodeHot([]byte(`{}`), &queuepb.FailRequest{}))
}

// A decoder works on the next text after a mistake.
func TestADecoderForgetsTheLastText(t *testing.T) {
	for range 100 {
		require.False(t, decodeHot([]byte(`{"tasks":[{"queue":"a`), &queuepb.EnqueueRequest{}))
		m := &queuepb.CompleteRequest{}
		require.True(t, decodeHot([]byte(`{"tenant":"b"}`), m))
		require.Equal(t, "b", m.GetTenant())
	}
}

// Decoded messages do not share memory with the text, whose buffer is reused.
func TestDecodedMessagesKeepTheirContents(t *testing.T) {
	text := []byte(`{"tenant":"tenant","tasks":[{"queue":"queue","payload":"AAAA"},{"queue":"queue","idempotency_key":"\u0061b"}]}`)
	m := &queuepb.EnqueueRequest{}
	require.True(t, decodeHot(text, m))
	want := proto.Clone(m)
	for i := range text {
		text[i] = 'x'
	}
	require.True(t, decodeHot([]byte(`{"tenant":"\u0063\u0064"}`), &queuepb.CompleteRequest{}))
	assert.True(t, proto.Equal(want, m), "%v", m)
}

func FuzzHotRequestsAreDecodedAsByProtojson(f *testing.F) {
	for _, text := range []string{
		`{"tenant":"a","tasks":[{"queue":"q","priority":1,"payload":"AA==","delayMs":"7","max_attempts":2,"lease_ms":3,"idempotencyKey":"k"}]}`,
		`{"queues":["a","b"],"max_tasks":1,"leaseMs":"2","wait_ms":3,"completions":[{"id":"i","token":"18446744073709551615","result":"/+8="}]}`,
		`{"tenant":"\ud834\udd1e\n","completions":[]}`, `{"tenant":null}`, "\ufeff{}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		for _, got := range hotRequests() {
			hot := decodeHot(text, got)
			require.Equal(t, before, text)
			if !hot {
				continue
			}
			want := got.ProtoReflect().New().Interface()
			require.NoError(t, unmarshalOptions.Unmarshal(text, want))
			require.True(t, proto.Equal(want, got), "%v, want %v", got, want)
		}
	})
}

// drawAnswer draws an answer to a hot call, and reports whether it is encoded without reflection.
func drawAnswer(t *rapid.T) (m proto.Message, hot bool) {
	hot = true
	mistake := func() *queuepb.ItemError {
		if rapid.IntRange(0, 9).Draw(t, "error") > 0 {
			return nil
		}
		hot = false
		return &queuepb.ItemError{Index: 1, Code: queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN, Message: drawText(t, "message")}
	}
	results := func() (out []*queuepb.SettleResult) {
		for range rapid.IntRange(0, 3).Draw(t, "results") {
			out = append(out, &queuepb.SettleResult{Error: mistake()})
		}
		return out
	}
	switch rapid.IntRange(0, 2).Draw(t, "call") {
	case 0:
		a := &queuepb.EnqueueResponse{}
		for range rapid.IntRange(0, 3).Draw(t, "results") {
			a.Results = append(a.Results, &queuepb.EnqueueResult{
				Id: drawText(t, "id"), Duplicate: rapid.Bool().Draw(t, "duplicate"), Error: mistake(),
			})
		}
		return a, hot
	case 1:
		a := &queuepb.ClaimResponse{}
		for range rapid.IntRange(0, 3).Draw(t, "tasks") {
			state := rapid.Int32Range(0, 7).Draw(t, "state")
			if _, known := queuepb.TaskState_name[state]; !known {
				hot = false
			}
			a.Tasks = append(a.Tasks, &queuepb.Task{
				Id: drawText(t, "id"), Tenant: drawText(t, "tenant"), Queue: drawText(t, "queue"), Priority: rapid.Uint32().Draw(t, "priority"),
				Payload: drawBytes(t, "payload"), Attempt: rapid.Uint32().Draw(t, "attempt"), MaxAttempts: rapid.Uint32().Draw(t, "attempts"),
				Token: rapid.Uint64().Draw(t, "token"), LeaseExpiresAtMs: rapid.Int64().Draw(t, "expires"),
				EnqueuedAtMs: rapid.Int64().Draw(t, "enqueued"), State: queuepb.TaskState(state), DueAtMs: rapid.Int64().Draw(t, "due"),
				LastError: drawText(t, "last error"), ExpiresAtMs: rapid.Int64().Draw(t, "ttl"),
				Headers: drawHeaders(t), WaitingFor: rapid.Uint32().Draw(t, "waiting for"),
			})
			if rapid.Bool().Draw(t, "noted") {
				note := drawText(t, "note")
				a.Tasks[len(a.Tasks)-1].Note = &note
			}
		}
		a.Results, a.ClaimError = results(), mistake()
		a.Quota = drawText(t, "quota")
		for range rapid.IntRange(0, 2).Draw(t, "paused") {
			a.PausedQueues = append(a.PausedQueues, drawText(t, "paused queue"))
		}
		return a, hot
	default:
		return &queuepb.CompleteResponse{Results: results()}, hot
	}
}

// An answer has the bytes of protojson, except for the space that protojson may put after a comma.
func TestAnswersAreEncodedAsByProtojson(t *testing.T) {
	compact := func(t *rapid.T, text []byte) string {
		var out bytes.Buffer
		require.NoError(t, json.Compact(&out, text))
		return out.String()
	}
	rapid.Check(t, func(t *rapid.T) {
		m, hot := drawAnswer(t)
		e := hotEncoder{}
		require.Equal(t, hot, e.answer(m), "%v", m)
		text, err := appendAnswer([]byte("before"), m)
		require.NoError(t, err)
		require.Equal(t, "before", string(text[:6]))
		if hot {
			require.Equal(t, string(e.b), string(text[6:]))
		}
		want, err := marshalOptions.Marshal(m)
		require.NoError(t, err)
		require.Equal(t, compact(t, want), compact(t, text[6:]))
	})
}

// The encoder handles every field of the messages that it encodes: new fields must be added there.
func TestAllFieldsOfAnswersAreEncoded(t *testing.T) {
	for m, fields := range map[proto.Message]int{
		&queuepb.EnqueueResponse{}: 1, &queuepb.EnqueueResult{}: 3, &queuepb.ClaimResponse{}: 5, &queuepb.Task{}: 17,
		&queuepb.CompleteResponse{}: 1, &queuepb.SettleResult{}: 1,
	} {
		assert.Equal(t, fields, m.ProtoReflect().Descriptor().Fields().Len(), "%T", m)
	}
}

func TestAnswersWithInvalidTextsAreRefusedAsByProtojson(t *testing.T) {
	_, err := appendAnswer(nil, &queuepb.EnqueueResponse{Results: []*queuepb.EnqueueResult{{Id: "\xff"}}})
	require.ErrorContains(t, err, "invalid UTF-8")
}

func BenchmarkDecodeClaim(b *testing.B) {
	text := []byte(`{"tenant":"default","queues":["queue"],"lease_ms":30000,"wait_ms":10000,"max_tasks":1,"completions":[{"id":"0123456789abcdefghij","token":"123456"}]}`)
	for _, hot := range []bool{true, false} {
		b.Run(fmt.Sprintf("hot=%v", hot), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m := &queuepb.ClaimRequest{}
				if hot != (hot && decodeHot(text, m)) || !hot && unmarshalOptions.Unmarshal(text, m) != nil {
					b.Fatal("not decoded")
				}
			}
		})
	}
}

func BenchmarkEncodeClaim(b *testing.B) {
	m := &queuepb.ClaimResponse{Tasks: []*queuepb.Task{{
		Id: "0123456789abcdefghij", Tenant: "default", Queue: "queue", Payload: make([]byte, 64), Attempt: 1, MaxAttempts: 20, Token: 123456,
		LeaseExpiresAtMs: 1_700_000_000_000, EnqueuedAtMs: 1_700_000_000_000, State: queuepb.TaskState_TASK_STATE_LEASED,
	}}}
	var text []byte
	for _, hot := range []bool{true, false} {
		b.Run(fmt.Sprintf("hot=%v", hot), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if hot {
					text, err = appendAnswer(text[:0], m)
				} else {
					text, err = marshalOptions.MarshalAppend(text[:0], m)
				}
				require.NoError(b, err)
			}
		})
	}
}
