package jobsotel

import (
	"context"
	"maps"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/client/jobs"
)

// Enqueuer returns an Enqueuer that stores tasks with another one, each in a span.
func (t *Tracing) Enqueuer(to jobs.Enqueuer) jobs.Enqueuer { return &enqueuer{t, to} }

type enqueuer struct {
	*Tracing

	to jobs.Enqueuer
}

// Enqueue implements jobs.Enqueuer.
func (e *enqueuer) Enqueue(ctx context.Context, task client.Task) (id string, err error) {
	attributes := []attribute.KeyValue{
		system, semconv.MessagingOperationTypeSend, semconv.MessagingOperationName("enqueue"),
		semconv.MessagingDestinationName(task.Queue), semconv.MessagingMessageBodySize(len(task.Payload)),
		KindKey.String(task.Headers[jobs.KindHeader]),
	}
	ctx, span := e.tracer().Start(ctx, "enqueue "+task.Queue, trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(attributes...))
	defer span.End()
	id, err = e.to.Enqueue(ctx, e.Inject(ctx, task))
	if err != nil {
		failed(span, err)
		return id, err
	}
	span.SetAttributes(semconv.MessagingMessageID(id))
	return id, nil
}

// Inject returns the task with the context of the current span of ctx in its headers. It is for
// tasks that are enqueued without Enqueuer, such as those of client.Producer.EnqueueBatch.
//
// Inject omits a header for which the task has no room, so tracing does not make the server refuse a
// task.
func (t *Tracing) Inject(ctx context.Context, task client.Task) client.Task {
	h := headers(maps.Clone(task.Headers)) // the caller may use the map for several tasks
	if h == nil {
		h = headers{}
	}
	t.propagator().Inject(ctx, h)
	task.Headers = h
	return task
}

// headers are the headers of a task as a carrier.
type headers map[string]string

var _ propagation.TextMapCarrier = headers{}

// These are the server's limits of the headers of a task.
const (
	headersMax     = 32
	headerBytesMax = 4 << 10
	valueBytesMax  = 1 << 10
)

// Get implements propagation.TextMapCarrier.
func (h headers) Get(key string) string { return h[key] }

// Keys implements propagation.TextMapCarrier.
func (h headers) Keys() (keys []string) {
	for key := range h {
		keys = append(keys, key)
	}
	return keys
}

// Set implements propagation.TextMapCarrier. It omits the header if the task has no room for it.
func (h headers) Set(key, value string) {
	number, bytes := 1, len(key)+len(value)
	for k, v := range h {
		if k != key {
			number++
			bytes += len(k) + len(v)
		}
	}
	if number > headersMax || bytes > headerBytesMax || len(value) > valueBytesMax {
		return
	}
	h[key] = value
}
