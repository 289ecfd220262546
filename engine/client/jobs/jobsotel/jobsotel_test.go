package jobsotel_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/client/jobs"
	"github.com/pronybench/prony/engine/client/jobs/jobsotel"
	"github.com/pronybench/prony/engine/queuedtest"
	"github.com/pronybench/prony/engine/queuepb"
)

const greet jobs.Kind[string] = "greet"

// recorder returns a provider that records all spans.
func recorder() (*tracetest.SpanRecorder, trace.TracerProvider) {
	r := tracetest.NewSpanRecorder()
	return r, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r))
}

// named returns the ended spans with a name.
func named(r *tracetest.SpanRecorder, name string) (spans []sdktrace.ReadOnlySpan) {
	for _, s := range r.Ended() {
		if s.Name() == name {
			spans = append(spans, s)
		}
	}
	return spans
}

func attributes(s sdktrace.ReadOnlySpan) map[attribute.Key]any {
	all := map[attribute.Key]any{}
	for _, a := range s.Attributes() {
		all[a.Key] = a.Value.AsInterface()
	}
	return all
}

func TestAttemptsAreLinkedToTheProducersSpan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := queuedtest.Start(t)
		spans, provider := recorder()
		tracing := jobsotel.Tracing{Provider: provider}
		var inHandler []trace.SpanContext
		mux := jobs.NewMux()
		greet.Handle(mux, func(ctx context.Context, job *jobs.Job[string]) error {
			inHandler = append(inHandler, trace.SpanContextFromContext(ctx))
			switch job.GetAttempt() {
			case 1:
				return errors.New("not yet")
			case 2:
				panic("boom")
			}
			return nil
		})
		p, err := s.Client.Producer(context.Background(), "")
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, p.Close(context.Background())) })
		state, err := trace.ParseTraceState("vendor=7")
		require.NoError(t, err)
		parent := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, TraceState: state})
		id, err := greet.Enqueue(trace.ContextWithSpanContext(t.Context(), parent), tracing.Enqueuer(p), "ada", jobs.In("mail"), jobs.Header("a", "b"))
		require.NoError(t, err)
		sent := named(spans, "enqueue mail")
		require.Len(t, sent, 1)
		assert.Equal(t, trace.SpanKindProducer, sent[0].SpanKind())
		assert.Equal(t, parent.TraceID(), sent[0].SpanContext().TraceID())
		assert.Equal(t, parent.SpanID(), sent[0].Parent().SpanID())
		assert.Equal(t, map[attribute.Key]any{
			"messaging.system": "prony", "messaging.operation.type": "send", "messaging.operation.name": "enqueue",
			"messaging.destination.name": "mail", "messaging.message.id": id, "messaging.message.body.size": int64(len(`"ada"`)), "prony.job.kind": "greet",
		}, attributes(sent[0]))
		task := s.Tasks("mail")[0]
		assert.Equal(t, map[string]string{
			"kind": "greet", "a": "b", "tracestate": "vendor=7",
			"traceparent": fmt.Sprintf("00-%s-%s-01", parent.TraceID(), sent[0].SpanContext().SpanID()),
		}, task.GetHeaders())

		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		ended := make(chan error, 1)
		worker := jobs.Worker{
			Client: s.Client, Mux: mux, Queues: map[string]int{"mail": 1}, Logger: slog.New(slog.DiscardHandler),
			Middleware: []jobs.Middleware{tracing.Middleware},
		}
		go func() { ended <- worker.Run(trace.ContextWithSpanContext(ctx, parent)) }()
		time.Sleep(time.Hour)
		stop()
		require.NoError(t, <-ended)
		attempts := named(spans, "process mail")
		require.Len(t, attempts, 3)
		for i, a := range attempts {
			assert.Equal(t, trace.SpanKindConsumer, a.SpanKind())
			assert.False(t, a.Parent().IsValid(), "neither the producer's span nor that of Run is the parent")
			require.Len(t, a.Links(), 1)
			assert.Equal(t, sent[0].SpanContext().SpanID(), a.Links()[0].SpanContext.SpanID())
			assert.Equal(t, "vendor=7", a.Links()[0].SpanContext.TraceState().String())
			assert.Equal(t, a.SpanContext(), inHandler[i])
			got := attributes(a)
			delete(got, "error.type")
			assert.Equal(t, map[attribute.Key]any{
				"messaging.system": "prony", "messaging.operation.type": "process", "messaging.operation.name": "process",
				"messaging.destination.name": "mail", "messaging.message.id": id, "messaging.message.body.size": int64(len(`"ada"`)),
				"prony.job.kind": "greet", "prony.job.attempt": int64(i + 1),
			}, got)
		}
		assert.Equal(t, sdktrace.Status{Code: codes.Error, Description: "not yet"}, attempts[0].Status())
		assert.Equal(t, "*errors.errorString", attributes(attempts[0])["error.type"])
		assert.Equal(t, sdktrace.Status{Code: codes.Error, Description: "panic: boom"}, attempts[1].Status())
		require.Len(t, attempts[1].Events(), 1)
		assert.Contains(t, fmt.Sprint(attempts[1].Events()[0].Attributes), "jobsotel_test.TestAttemptsAreLinked")
		assert.Equal(t, codes.Unset, attempts[2].Status().Code)
		assert.NotContains(t, attributes(attempts[2]), attribute.Key("error.type"))
	})
}

func TestASnoozeIsNotAFailure(t *testing.T) {
	spans, provider := recorder()
	tracing := jobsotel.Tracing{Provider: provider}
	handler := tracing.Middleware(func(context.Context, *queuepb.Task) error { return fmt.Errorf("early: %w", jobs.Snooze(time.Second)) })
	require.True(t, jobs.IsSnooze(handler(t.Context(), &queuepb.Task{Queue: "mail"})))
	require.Len(t, named(spans, "process mail"), 1)
	assert.Equal(t, codes.Unset, named(spans, "process mail")[0].Status().Code)
	assert.Empty(t, named(spans, "process mail")[0].Links(), "the producer does not trace")
}

// enqueuer is an Enqueuer that stores nothing.
type enqueuer func(client.Task) (string, error)

func (f enqueuer) Enqueue(_ context.Context, t client.Task) (string, error) { return f(t) }

func TestAnEnqueueThatFailsIsAFailedSpan(t *testing.T) {
	spans, provider := recorder()
	tracing := jobsotel.Tracing{Provider: provider}
	to := tracing.Enqueuer(enqueuer(func(client.Task) (string, error) { return "", client.ErrOverloaded }))
	_, err := to.Enqueue(t.Context(), client.Task{Queue: "mail"})
	require.ErrorIs(t, err, client.ErrOverloaded)
	require.Len(t, named(spans, "enqueue mail"), 1)
	assert.Equal(t, sdktrace.Status{Code: codes.Error, Description: "overloaded"}, named(spans, "enqueue mail")[0].Status())
	assert.NotContains(t, attributes(named(spans, "enqueue mail")[0]), attribute.Key("messaging.message.id"))
}

// Tracing must not make the server refuse a task that it would store otherwise.
func TestATaskWithoutRoomIsEnqueuedWithoutAContext(t *testing.T) {
	s := queuedtest.Start(t)
	_, provider := recorder()
	tracing := jobsotel.Tracing{Provider: provider}
	ctx, span := provider.Tracer("").Start(t.Context(), "")
	defer span.End()
	value := strings.Repeat("v", 1<<10)
	many := map[string]string{}
	for i := range 32 {
		many[fmt.Sprintf("k%02d", i)] = ""
	}
	for name, full := range map[string]map[string]string{
		"number": many, "bytes": {"a": value, "b": value, "c": value, "d": value[:1<<10-len("abcd")]},
	} {
		t.Run(name, func(t *testing.T) {
			before := maps.Clone(full)
			p, err := s.Client.Producer(t.Context(), "")
			require.NoError(t, err)
			_, err = p.Enqueue(t.Context(), tracing.Inject(ctx, client.Task{Queue: name, Headers: full}))
			require.NoError(t, err)
			assert.Equal(t, before, s.Tasks(name)[0].GetHeaders())
			require.NoError(t, p.Close(t.Context()))
			for key := range full {
				delete(full, key)
				break
			}
			before = maps.Clone(full)
			assert.Contains(t, tracing.Inject(ctx, client.Task{Headers: full}).Headers, "traceparent")
			assert.Equal(t, before, full, "the caller's map is unchanged")
		})
	}
}

func TestTheGlobalProviderIsTheDefault(t *testing.T) {
	spans, provider := recorder()
	before := otel.GetTracerProvider()
	otel.SetTracerProvider(provider)
	defer otel.SetTracerProvider(before)
	var tracing jobsotel.Tracing
	require.NoError(t, tracing.Middleware(func(context.Context, *queuepb.Task) error { return nil })(t.Context(), &queuepb.Task{Queue: "mail"}))
	assert.Len(t, named(spans, "process mail"), 1)
}

// A program that does not trace does not link OpenTelemetry.
func TestPackageJobsDoesNotDependOnOpenTelemetry(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "..", "../../../cmd/queued").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "prony/engine/client/jobs\n")
	for _, name := range strings.Fields(string(out)) {
		assert.NotContains(t, name, "opentelemetry")
	}
}
