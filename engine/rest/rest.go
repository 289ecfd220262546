// Package rest answers REST calls with JSON for the queue service and the admin service.
//
// The paths are those of the google.api.http rules in engine/proto. A POST, whose body is the whole request message, is decoded here and passed to
// the service; the code that makes a request message of the path and the query of a GET is generated under gateway/, and the OpenAPI descriptions
// under openapi/. The bodies of an enqueue, a claim and a completion are decoded and encoded without reflection where that gives the same result as
// protojson; protojson does all others. A call goes to the service in this process, without a second connection. All is strict: unknown fields and
// query parameters are refused, a mistake names its field, everything is bounded, and every error is JSON.
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

// Options say how calls are guarded and watched.
type Options struct {
	// Guard, if not nil, is put around each call. It authenticates: it hands the call on with the caller's
	// identity in the request's context, where the service looks for it, or answers by WriteError. It sees the
	// request before its body is read. The OpenAPI descriptions are not guarded.
	Guard func(http.Handler) http.Handler
	// Arrives, if not nil, returns the context for a call whose body was read and is not decoded yet. method is as that of Call. The call's
	// goroutine calls Arrives.
	Arrives func(ctx context.Context, method string) context.Context
	// Observe, if not nil, is called for each call that has an RPC, also if the guard refused it. It is
	// called by the call's goroutine.
	Observe func(Call)
	// ItemsMax is how many elements each list of a request may have; 0 means 1,000.
	ItemsMax int
	// Requests, if not nil, is what the bytes of requests are taken from, memory.MessageFactor times; nil: 256 MiB of bodies.
	Requests *memory.Budget
	// RequestBytesMax is how large a body may be; 0 means 16 MiB, which is the most.
	RequestBytesMax int
	// Holds, if not nil, is called with the change in the number of bytes of an answer that wait for the client of a call.
	Holds func(ctx context.Context, bytes int)
	// Leader, if not nil, returns where REST clients reach a node that leads, host:port, or "" if this node does as well. Answers to calls
	// that the guard let through name it in the header LeaderHeader. Leader must not block.
	Leader func() string
	// Forwards, if not nil, returns the context for a call, and a function that reports whether another node executed a part of the call.
	Forwards func(context.Context) (context.Context, func() bool)
	// Range, if not nil, returns the least and the greatest value of a number in a request, by its name, for what refusals say.
	Range func(field string) (least, most uint64, ok bool)
}

// LeaderHeader is the header of an answer that names the node to which a client of a cluster should send its next calls.
const LeaderHeader = "Prony-Leader"

// Call is a call that was answered.
type Call struct {
	Method   string // as gRPC writes it: "/prony.queue.v1.QueueService/Enqueue"
	Response any    // the RPC's answer; nil when the call was refused as a whole
	Err      error  // why the call was refused, or the only item of its answer
	Took     time.Duration
	// Forwarded says that another node executed a part of the call.
	Forwarded bool
}

// Bounds of what one handler holds at a time.
const (
	bodyBytesMax   = 16 << 20  // of one request, as on the gRPC listener
	bodiesBytesMax = 256 << 20 // of all requests under way, unless the options say otherwise
	callsMax       = 1 << 14   // under way, waiting claims included
	bodyReadMax    = 30 * time.Second
	itemsMax       = 1_000 // unless the options say otherwise
)

// handler answers the calls of one service.
type handler struct {
	routes  []*route
	service any // that the routes' handlers call
	mux     *http.ServeMux
	gateway *runtime.ServeMux
	arrives func(ctx context.Context, method string) context.Context
	observe func(Call)

	calls       atomic.Int64 // under way
	callsMax    int64
	bodies      *memory.Budget
	bodyMax     int // bytes
	holds       func(ctx context.Context, bytes int)
	leader      func() string                                        // or nil
	forwards    func(context.Context) (context.Context, func() bool) // or nil
	bodyReadMax time.Duration
	itemsMax    int
	mistakes    mistakes
}

// NewQueue returns a handler of the queue service's REST paths and of its descriptions (OpenAPIPaths).
func NewQueue(service queuepb.QueueServiceServer, o Options) (http.Handler, error) {
	return newHandler(queuepb.File_prony_queue_v1_queue_proto.Services().ByName("QueueService"), queuepb.QueueService_ServiceDesc.Methods, service, queueOpenAPI, o,
		func(mux *runtime.ServeMux) error {
			return queuegw.RegisterQueueServiceHandlerServer(context.Background(), mux, service)
		})
}

// NewAdmin returns a handler of the admin service's REST paths and of its descriptions (OpenAPIPaths).
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
			_, _ = w.Write(text) // an error here is the asker's connection
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

// newGateway returns a router for the generated code. Which route a call takes was decided before it comes there.
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
		// An escaped slash stays a part of an id, as it did when the route was chosen.
		runtime.WithUnescapingMode(runtime.UnescapingModeAllExceptSlash),
	)
}
