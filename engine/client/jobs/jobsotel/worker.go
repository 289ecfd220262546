package jobsotel

import (
	"context"
	"errors"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/pronybench/prony/engine/client/jobs"
	"github.com/pronybench/prony/engine/queuepb"
)

// Middleware runs each attempt in a span, which is the current span of the handler's context. The
// span has failed if the handler returned an error, unless the error is a Snooze. Pass Middleware to
// Worker.Middleware, before middleware that uses the span.
func (t *Tracing) Middleware(next jobs.Handler) jobs.Handler {
	return func(ctx context.Context, task *queuepb.Task) error {
		options := []trace.SpanStartOption{
			trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
				system, semconv.MessagingOperationTypeProcess, semconv.MessagingOperationName("process"),
				semconv.MessagingDestinationName(task.GetQueue()), semconv.MessagingMessageID(task.GetId()),
				semconv.MessagingMessageBodySize(len(task.GetPayload())),
				KindKey.String(jobs.KindOf(task)), AttemptKey.Int64(int64(task.GetAttempt())),
			),
		}
		ctx = t.propagator().Extract(ctx, headers(task.GetHeaders()))
		if from := trace.SpanContextFromContext(ctx); from.IsRemote() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: from}))
		}
		ctx, span := t.tracer().Start(ctx, "process "+task.GetQueue(), options...)
		defer span.End()
		err := next(ctx, task)
		var panicked *jobs.PanicError
		switch {
		case err == nil || jobs.IsSnooze(err):
		case errors.As(err, &panicked):
			failed(span, err, semconv.ExceptionStacktrace(string(panicked.Stack)))
		default:
			failed(span, err)
		}
		return err
	}
}
