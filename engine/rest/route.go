package rest

import (
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

type serviceDescriptor = protoreflect.ServiceDescriptor

// route is a path with its RPC.
type route struct {
	method string // GET or POST
	path   string // "/v1/tasks/{id}"; the braces hold a field's name
	rpc    string // "/prony.queue.v1.QueueService/GetTask"
	input  protoreflect.MessageDescriptor
	handle grpc.MethodHandler // decodes the request and calls the service
}

// hasBody says whether the request message is the body. Otherwise it is in the path and the query.
func (r *route) hasBody() bool { return r.method == http.MethodPost }

// parameter says whether a query may have a field: one of the request message, or of a message in it, that the path
// does not have.
func (r *route) parameter(path string) bool {
	if strings.Contains(r.path, "{"+path+"}") {
		return false
	}
	message := r.input
	for name := range strings.SplitSeq(path, ".") {
		if message == nil {
			return false
		}
		field := message.Fields().ByTextName(name)
		if field == nil {
			field = message.Fields().ByJSONName(name)
		}
		if field == nil {
			return false
		}
		message = field.Message()
	}
	return message == nil
}

// routesOf returns the routes of a service's methods, each with its handler, by their google.api.http rules. Methods without a rule, the
// streams, have none.
func routesOf(service serviceDescriptor, handlers []grpc.MethodDesc) ([]*route, error) {
	var out []*route
	for i := range service.Methods().Len() {
		m := service.Methods().Get(i)
		rule, _ := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
		if rule == nil {
			continue
		}
		r := &route{rpc: fmt.Sprintf("/%s/%s", service.FullName(), m.Name()), input: m.Input()}
		for _, h := range handlers {
			if h.MethodName == string(m.Name()) {
				r.handle = h.Handler
			}
		}
		switch {
		case r.handle == nil:
			return nil, fmt.Errorf("%s has no handler", r.rpc)
		case rule.GetPost() != "" && rule.GetBody() == "*":
			r.method, r.path = http.MethodPost, rule.GetPost()
		case rule.GetGet() != "" && rule.GetBody() == "":
			r.method, r.path = http.MethodGet, rule.GetGet()
		default:
			return nil, fmt.Errorf("the HTTP rule of %s is neither a GET nor a POST of the whole message", r.rpc)
		}
		out = append(out, r)
	}
	return out, nil
}

// notFound answers for a path that nothing is at.
func notFound(w http.ResponseWriter, r *http.Request) {
	writeError(w, http.StatusNotFound,
		status.Errorf(codes.NotFound, "nothing is at %s: GET /openapi.json lists the paths", clip(r.URL.Path)))
}

// notAllowed answers for a path that has other methods.
func notAllowed(methods []string) http.HandlerFunc {
	allow := strings.Join(methods, ", ")
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		writeError(w, http.StatusMethodNotAllowed,
			status.Errorf(codes.Unimplemented, "%s takes %s, not %s", clip(r.URL.Path), allow, clip(r.Method)))
	}
}
