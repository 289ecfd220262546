// Package rest serves the queue service and the admin service as REST calls with JSON.
//
// The paths come from the google.api.http rules in engine/proto. The body of a POST is the whole
// request message: this package decodes it and passes it to the service. For a GET, generated code
// under gateway/ creates the request message from the path and the query. The OpenAPI descriptions
// under openapi/ are generated too.
//
// Enqueues, claims and completions are decoded and encoded without reflection if the result is the
// same as that of protojson. protojson handles all other messages. A call reaches the service in
// this process without another connection. The package is strict: it refuses unknown fields and
// query parameters, names the invalid field, limits all resources, and answers every error as JSON.
package rest

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/memory"
	"github.com/pronybench/prony/engine/queuepb"
	admingw "github.com/pronybench/prony/engine/rest/gateway/adminpb"
	queuegw "github.com/pronybench/prony/engine/rest/gateway/queuepb"
)

// Options configures a handler.
type Options struct {
	// Guard, if not nil, wraps the handling of each call and authenticates the caller. It either
	// passes the call on, with the caller's identity in the request's context, where the service
	// expects it, or answers with WriteError. It runs before the request's body is read. It does
	// not apply to the OpenAPI descriptions.
	Guard func(http.Handler) http.Handler
	// Arrives, if not nil, returns the context for a call whose body was read but not yet decoded.
	// method has the form of Call.Method. Arrives runs in the goroutine of the call.
	Arrives func(ctx context.Context, method string) context.Context
	// Observe, if not nil, is called after each call that matches an RPC, even if the guard refused
	// the call. It runs in the goroutine of the call.
	Observe func(Call)
	// ItemsMax is the maximum number of elements in each list of a request; 0 means 1,000.
	ItemsMax int
	// Requests, if not nil, is the budget for requests in bytes. Each request takes
	// memory.MessageFactor times the size of its body. nil means a separate budget of 256 MiB.
	Requests *memory.Budget
	// RequestBytesMax is the maximum size of a body in bytes; 0 means 16 MiB, the largest possible
	// value.
	RequestBytesMax int
	// Holds, if not nil, is called with each change of the number of answer bytes that a call is
	// writing to its client.
	Holds func(ctx context.Context, bytes int)
	// Leader, if not nil, returns the REST address, as host:port, of a node that leads. It returns
	// "" if this node leads a shard or no address is known. If the guard has accepted a call, the
	// answer contains the address in the header LeaderHeader. Leader must not block.
	Leader func() string
	// Forwards, if not nil, returns the context for a call, and a function that reports whether
	// another node has executed a part of the call.
	Forwards func(context.Context) (context.Context, func() bool)
	// Range, if not nil, returns the smallest and largest value of a numeric request field by the
	// field's name. Error messages contain these values.
	Range func(field string) (least, most uint64, ok bool)
}

// LeaderHeader is the header of an answer with the REST address of the node that the client should
// use for later calls.
const LeaderHeader = "Prony-Leader"

// Call describes a call that was answered.
type Call struct {
	Method   string // the gRPC method, such as "/prony.queue.v1.QueueService/Enqueue"
	Response any    // the answer of the RPC; nil if the whole call was refused
	Err      error  // the reason why the call, or its only item, was refused
	Took     time.Duration
	// Forwarded is true if another node executed a part of the call.
	Forwarded bool
}

// These are the limits of one handler.
const (
	bodyBytesMax   = 16 << 20  // bytes of one request; the same as on the gRPC listener
	bodiesBytesMax = 256 << 20 // bytes of all active requests; default of Options.Requests
	callsMax       = 1 << 14   // number of active calls, including waiting claims
	bodyReadMax    = 30 * time.Second
	itemsMax       = 1_000 // default of Options.ItemsMax
)

// handler answers the calls of one service.
type handler struct {
	routes  []*route
	service any // the service that the routes' handlers call
	mux     *http.ServeMux
	gateway *runtime.ServeMux
	arrives func(ctx context.Context, method string) context.Context
	observe func(Call)

	calls       atomic.Int64 // number of active calls
	callsMax    int64
	bodies      *memory.Budget
	bodyMax     int // maximum size of a body in bytes
	holds       func(ctx context.Context, bytes int)
	leader      func() string                                        // may be nil
	forwards    func(context.Context) (context.Context, func() bool) // may be nil
	bodyReadMax time.Duration
	itemsMax    int
	mistakes    mistakes
}

// NewQueue returns a handler for the REST paths of the queue service and for its OpenAPI
// descriptions (OpenAPIPaths).
func NewQueue(service queuepb.QueueServiceServer, o Options) (http.Handler, error) {
	return newHandler(queuepb.File_prony_queue_v1_queue_proto.Services().ByName("QueueService"), queuepb.QueueService_ServiceDesc.Methods, service, queueOpenAPI, o,
		func(mux *runtime.ServeMux) error {
			return queuegw.RegisterQueueServiceHandlerServer(context.Background(), mux, service)
		})
}

// NewAdmin returns a handler for the REST paths of the admin service and for its OpenAPI
// descriptions (OpenAPIPaths).
func NewAdmin(service adminpb.AdminServiceServer, o Options) (http.Handler, error) {
	return newHandler(adminpb.File_prony_admin_v1_admin_proto.Services().ByName("AdminService"), adminpb.AdminService_ServiceDesc.Methods, service, adminOpenAPI, o,
		func(mux *runtime.ServeMux) error {
			return admingw.RegisterAdminServiceHandlerServer(context.Background(), mux, service)
		})
}

func newHandler(service serviceDescriptor, handlers []grpc.MethodDesc, server any, described openAPI, o Options, register func(*runtime.ServeMux) error) (*handler, error) {
	routes, err := routesOf(service, handlers)
	if err != nil {
		return nil, err
	}
	h := &handler{
		routes: routes, service: server, mux: http.NewServeMux(), gateway: newGateway(), arrives: o.Arrives, observe: o.Observe,
		callsMax: callsMax, bodies: o.Requests, bodyReadMax: bodyReadMax, bodyMax: cmp.Or(o.RequestBytesMax, bodyBytesMax), holds: o.Holds,
		leader: o.Leader, forwards: o.Forwards,
		itemsMax: cmp.Or(o.ItemsMax, itemsMax), mistakes: mistakes{o.Range},
	}
	if h.bodies == nil {
		h.bodies = memory.NewBudget(bodiesBytesMax)
	}
	if h.arrives == nil {
		h.arrives = func(ctx context.Context, _ string) context.Context { return ctx }
	}
	if h.holds == nil {
		h.holds = func(context.Context, int) {}
	}
	if err := register(h.gateway); err != nil {
		return nil, fmt.Errorf("register the REST paths: %w", err)
	}
	allowed := map[string][]string{}
	for path, text := range described {
		h.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", jsonType)
			_, _ = w.Write(text) // fails only if the client has closed the connection
		})
		allowed[path] = []string{http.MethodGet}
	}
	for _, r := range routes {
		serve := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) { h.serve(r, w, in) }))
		if o.Guard != nil {
			serve = o.Guard(serve)
		}
		h.mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, in *http.Request) { h.watch(r, serve, w, in) })
		allowed[r.path] = append(allowed[r.path], r.method)
	}
	for path, methods := range allowed {
		h.mux.HandleFunc(path, notAllowed(methods))
	}
	h.mux.HandleFunc("/", notFound)
	return h, nil
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

// newGateway returns the gateway's router, which calls the generated code. The handler has already
// chosen the route of each call.
func newGateway() *runtime.ServeMux {
	none := func(string) (string, bool) { return "", false }
	return runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, marshaler{}),
		runtime.WithIncomingHeaderMatcher(none),
		runtime.WithOutgoingHeaderMatcher(none),
		runtime.WithOutgoingTrailerMatcher(none),
		runtime.WithErrorHandler(gatewayError),
		runtime.WithRoutingErrorHandler(routingError),
		runtime.WithForwardResponseOption(noteResponse),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
		runtime.WithWriteContentLength(),
		// An escaped slash remains a part of an id. The choice of the route treats it in the same
		// way.
		runtime.WithUnescapingMode(runtime.UnescapingModeAllExceptSlash),
	)
}
