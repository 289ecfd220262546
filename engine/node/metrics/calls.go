package metrics

import (
	"context"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/internal/stages"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rest"
	"github.com/pronybench/prony/engine/wire"
)

// These are the values of the label api.
const (
	overGRPC = "grpc"
	overREST = "rest"
)

// callMetrics counts the calls of both APIs. On streams it counts messages, not tasks.
type callMetrics struct {
	seconds *prometheus.HistogramVec // labels: api, method
	total   *prometheus.CounterVec   // labels: api, method, code
	refused *prometheus.CounterVec   // labels: of, reason
	open    *prometheus.GaugeVec     // label: method
	// forwarded counts the REST calls that were forwarded to another node.
	forwarded prometheus.Counter
	frames    *prometheus.CounterVec // label: method
	stages    *stages.Times          // durations of the stage Receive

	methods sync.Map // method to *methodMetrics; looking up labels costs more than counting
}

// method is an RPC over one of the APIs. Only registered methods are counted, so clients cannot
// create new label values.
type method struct{ api, rpc string }

// methodMetrics counts the successful calls of a method.
type methodMetrics struct {
	seconds   prometheus.Observer
	succeeded prometheus.Counter
	arrived   atomic.Uint64 // number of received calls
}

func (m *callMetrics) of(api, rpc string) *methodMetrics {
	key := method{api, rpc}
	if known, ok := m.methods.Load(key); ok {
		return known.(*methodMetrics)
	}
	name := path.Base(rpc)
	known, _ := m.methods.LoadOrStore(key, &methodMetrics{
		seconds: m.seconds.WithLabelValues(api, name), succeeded: m.total.WithLabelValues(api, name, codes.OK.String()),
	})
	return known.(*methodMetrics)
}

func newCallMetrics(times *stages.Times) *callMetrics {
	return &callMetrics{
		stages: times,
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "prony_call_seconds", Help: "Time from a call's arrival to its answer, without streams. Claim and AwaitResult include their wait.",
			Buckets: prometheus.ExponentialBuckets(50e-6, 2, 22),
		}, []string{"api", "method"}),
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "prony_calls_total", Help: "Ended calls and streams, by code.",
		}, []string{"api", "method", "code"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "prony_refusals_total", Help: "Refusals of whole calls (of=call), and of single items of batches and streams (of=item).",
		}, []string{"of", "reason"}),
		open: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "prony_streams_open", Help: "Open streams.",
		}, []string{"method"}),
		frames: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "prony_stream_frames_total", Help: "Messages that streams received from clients.",
		}, []string{"method"}),
		forwarded: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "prony_rest_forwarded_total", Help: "REST calls of the queue service that another node executed, in part or as a whole.",
		}),
	}
}

func (m *callMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.seconds, m.total, m.refused, m.open, m.frames, m.forwarded}
}

// failed counts a call or stream that ended with an error. If the error is a refusal, it also
// counts the refusal.
func (m *callMetrics) failed(api, rpc string, err error) {
	m.ended(api, rpc, err)
	if reason, is := refusals[status.Code(err)]; is {
		m.refused.WithLabelValues("call", reason).Inc()
	}
}

func (m *callMetrics) ended(api, rpc string, err error) {
	m.total.WithLabelValues(api, path.Base(rpc), status.Code(err).String()).Inc()
}

// RefusedByHeaders counts a gRPC call or stream whose headers contain no valid token. The count has
// no label for the method, because the client chooses the method.
func (m *Metrics) RefusedByHeaders(err error) {
	if reason, is := refusals[status.Code(err)]; is {
		m.calls.refused.WithLabelValues("call", reason).Inc()
	}
}

// arrives returns the context of a received unary call. It times one in receiveEvery calls of a
// method.
func (m *callMetrics) arrives(ctx context.Context, api, rpc string) context.Context {
	if m.of(api, rpc).arrived.Add(1)%receiveEvery != 0 {
		return ctx
	}
	return stages.Arrives(ctx, m.stages, receiveEvery)
}

func (m *callMetrics) answered(api, rpc string, answer any, err error, took time.Duration) {
	known := m.of(api, rpc)
	known.seconds.Observe(took.Seconds())
	if err != nil {
		m.failed(api, rpc, err)
		return
	}
	known.succeeded.Inc()
	m.items(answer)
}

// RESTArrives returns the context of a REST call whose body was read. method is the full name of
// the gRPC method.
func (m *Metrics) RESTArrives(ctx context.Context, method string) context.Context {
	return m.calls.arrives(ctx, overREST, method)
}

// RESTCall counts a REST call. If the call's only item was refused, RESTCall counts the refusal of
// an item, not of a call, as it is counted over gRPC.
func (m *Metrics) RESTCall(c rest.Call) {
	if c.Err != nil && c.Response != nil {
		m.calls.of(overREST, c.Method).seconds.Observe(c.Took.Seconds())
		m.calls.ended(overREST, c.Method, c.Err)
		m.calls.items(c.Response)
	} else {
		m.calls.answered(overREST, c.Method, c.Response, c.Err, c.Took)
	}
	if c.Forwarded {
		m.calls.forwarded.Inc()
	}
}

// Interceptors returns the interceptors that count gRPC calls and streams.
func (m *Metrics) Interceptors() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.ChainUnaryInterceptor(m.calls.unary), grpc.ChainStreamInterceptor(m.calls.stream)}
}

func (m *callMetrics) unary(ctx context.Context, in any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	start := time.Now()
	out, err := next(m.arrives(ctx, overGRPC, info.FullMethod), in)
	m.answered(overGRPC, info.FullMethod, out, err, time.Since(start))
	return out, err
}

func (m *callMetrics) stream(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	open := m.open.WithLabelValues(path.Base(info.FullMethod))
	open.Inc()
	defer open.Dec()
	err := next(srv, &countedStream{ServerStream: s, calls: m, frames: m.frames.WithLabelValues(path.Base(info.FullMethod))})
	if err != nil {
		m.failed(overGRPC, info.FullMethod, err)
	} else {
		m.total.WithLabelValues(overGRPC, path.Base(info.FullMethod), codes.OK.String()).Inc()
	}
	return err
}

// receiveEvery is the sampling interval: of the messages of a stream and the calls of a method, one
// in receiveEvery is timed, and its time counts receiveEvery times. Not all are timed, since a
// stream of small messages has several messages per task, and timing one takes two clock readings
// and a lock.
const receiveEvery = 16

// countedStream counts and times the messages that a stream receives, and counts the refused items
// in its answers. Only one goroutine at a time may call RecvMsg.
type countedStream struct {
	grpc.ServerStream

	calls    *callMetrics
	frames   prometheus.Counter
	messages uint64
	received time.Duration // arrival of the timed message, by stages.Now; 0 if none is timed
}

// RecvMsg receives a message. The caller must have handled the previous message, so RecvMsg ends
// the timing of that message.
func (s *countedStream) RecvMsg(m any) error {
	if s.received != 0 {
		s.calls.stages.ObserveSample(stages.Timed{Stage: stages.Receive, Took: stages.Now() - s.received}, receiveEvery)
		s.received = 0
	}
	err := s.ServerStream.RecvMsg(m)
	if err == nil {
		s.frames.Inc()
		if s.messages++; s.messages%receiveEvery == 0 {
			s.received = stages.Now()
		}
	}
	return err
}

func (s *countedStream) SendMsg(m any) error {
	s.calls.items(m)
	return s.ServerStream.SendMsg(m)
}

// refusals maps the codes that count as refusals of a call to the values of the label reason. All
// other codes mean that the client has disconnected or the server has failed.
var refusals = map[codes.Code]string{
	codes.InvalidArgument:    "invalid_argument",
	codes.NotFound:           "not_found",
	codes.AlreadyExists:      "already_exists",
	codes.PermissionDenied:   "permission_denied",
	codes.Unauthenticated:    "unauthenticated",
	codes.ResourceExhausted:  "resource_exhausted",
	codes.FailedPrecondition: "failed_precondition",
	codes.Unavailable:        "unavailable",
	codes.Unimplemented:      "unimplemented",
}

// itemRefusals maps error codes of items of a batch to the values of the label reason.
var itemRefusals = map[queuepb.ErrorCode]string{
	queuepb.ErrorCode_ERROR_CODE_UNSPECIFIED:        "internal",
	queuepb.ErrorCode_ERROR_CODE_INVALID_ARGUMENT:   "invalid_argument",
	queuepb.ErrorCode_ERROR_CODE_NOT_FOUND:          "not_found",
	queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN:        "stale_token",
	queuepb.ErrorCode_ERROR_CODE_CANCELLED:          "cancelled",
	queuepb.ErrorCode_ERROR_CODE_ALREADY_EXISTS:     "already_exists",
	queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED: "resource_exhausted",
	queuepb.ErrorCode_ERROR_CODE_UNAVAILABLE:        "unavailable",
	queuepb.ErrorCode_ERROR_CODE_PERMISSION_DENIED:  "permission_denied",
	queuepb.ErrorCode_ERROR_CODE_NOT_LEADER:         "not_leader",
	queuepb.ErrorCode_ERROR_CODE_UNKNOWN_OUTCOME:    "unknown_outcome",
}

func (m *callMetrics) items(answer any) {
	switch a := answer.(type) {
	case *wire.Frame: // the messages of a stream
		m.itemErrors(a.Refused)
	case *queuepb.EnqueueResponse:
		for _, result := range a.GetResults() {
			m.itemError(result.GetError())
		}
	case interface {
		GetResults() []*queuepb.SettleResult
	}: // settling calls, claims with completions, and admin calls with IDs
		for _, result := range a.GetResults() {
			m.itemError(result.GetError())
		}
	}
}

var _ = []interface {
	GetResults() []*queuepb.SettleResult
}{
	(*queuepb.ClaimResponse)(nil), (*queuepb.CompleteResponse)(nil), (*queuepb.FailResponse)(nil), (*queuepb.ExtendResponse)(nil), (*queuepb.ReleaseResponse)(nil),
	(*adminpb.CancelTasksResponse)(nil), (*adminpb.RedriveDeadResponse)(nil), (*adminpb.PurgeDeadResponse)(nil),
}

func (m *callMetrics) itemErrors(errs []*queuepb.ItemError) {
	for _, e := range errs {
		m.itemError(e)
	}
}

func (m *callMetrics) itemError(e *queuepb.ItemError) {
	if e == nil {
		return
	}
	reason, is := itemRefusals[e.GetCode()]
	if !is {
		reason = "internal"
	}
	m.refused.WithLabelValues("item", reason).Inc()
}
