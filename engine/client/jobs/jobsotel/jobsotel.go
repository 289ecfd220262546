// Package jobsotel traces the jobs of package jobs with OpenTelemetry:
//
//	var tracing jobsotel.Tracing
//
//	id, err := SendEmail.Enqueue(ctx, tracing.Enqueuer(producer), Email{To: "ada"})
//
//	worker := jobs.Worker{Client: c, Mux: mux, Middleware: []jobs.Middleware{tracing.Middleware}}
//
// An enqueue is a span of the kind producer. Its context is stored with the task, in the headers
// traceparent and tracestate of W3C Trace Context. Each attempt is a span of the kind consumer with
// a link to the producer's span. The names and attributes are those of the semantic conventions for
// messaging.
//
// Each attempt has a new trace, because a job may run long after its enqueue, and several times.
package jobsotel

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Tracing creates the spans of producers and workers. The zero value is ready for use.
type Tracing struct {
	// Provider creates the tracer; nil means the global provider of package otel.
	Provider trace.TracerProvider
	// Propagator writes and reads the headers; nil means propagation.TraceContext. If it also
	// propagates baggage, each value must fit into a header.
	Propagator propagation.TextMapPropagator
}

// scope is the name of the instrumentation.
const scope = "github.com/pronybench/prony/engine/client/jobs/jobsotel"

// These attributes are not part of the semantic conventions.
const (
	KindKey    = attribute.Key("prony.job.kind")    // the kind of the job
	AttemptKey = attribute.Key("prony.job.attempt") // the number of the attempt, from 1
)

var system = semconv.MessagingSystemKey.String("prony")

func (t *Tracing) tracer() trace.Tracer {
	provider := t.Provider
	if provider == nil {
		provider = otel.GetTracerProvider()
	}
	return provider.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL))
}

func (t *Tracing) propagator() propagation.TextMapPropagator {
	if t.Propagator == nil {
		return propagation.TraceContext{}
	}
	return t.Propagator
}

// failed records the error of a span.
func failed(span trace.Span, err error, attributes ...attribute.KeyValue) {
	span.RecordError(err, trace.WithAttributes(attributes...))
	span.SetAttributes(semconv.ErrorType(err))
	span.SetStatus(codes.Error, err.Error())
}
