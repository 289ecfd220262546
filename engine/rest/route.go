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

// route is a path and its RPC.
type route struct {
	method string // GET or POST
	path   string // "/v1/tasks/{id}"; braces contain a field name
	rpc    string // "/prony.queue.v1.QueueService/GetTask"
	input  protoreflect.MessageDescriptor
	// The request's list of items; the answer has one result for each. It is "" if there is none.
	items  string
	handle grpc.MethodHandler // decodes the request and calls the service
}

// hasBody reports whether the body is the request message. Otherwise the path and the query contain
// its fields.
func (r *route) hasBody() bool { return r.method == http.MethodPost }

// parameter returns the request field, possibly nested, of a query parameter. It returns nil for
// unknown fields and for fields in the path.
func (r *route) parameter(path string) protoreflect.FieldDescriptor {
	if strings.Contains(r.path, "{"+path+"}") {
		return nil
	}
	field, element := fieldOf(r.input, path)
	if field == nil || element || field.Message() != nil {
		return nil
	}
	return field
}

// routesOf returns the routes of a service's methods with their handlers, from their
// google.api.http rules. Methods without a rule, which are the streams, have no routes.
func routesOf(service serviceDescriptor, handlers []grpc.MethodDesc) ([]*route, error) {
	var out []*route
	for i := range service.Methods().Len() {
		m := service.Methods().Get(i)
		rule, _ := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
		if rule == nil {
			continue
		}
		r := &route{rpc: fmt.Sprintf("/%s/%s", service.FullName(), m.Name()), input: m.Input(), items: itemsOf(m)}
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

// itemsOf returns the name of the only list in a call's request, if the call's answer has results.
func itemsOf(m protoreflect.MethodDescriptor) string {
	if m.Output().Fields().ByName("results") == nil {
		return ""
	}
	items := ""
	for i := range m.Input().Fields().Len() {
		if f := m.Input().Fields().Get(i); f.IsList() {
			if items != "" { // two lists: a claim, whose completions are not its items
				return ""
			}
			items = string(f.Name())
		}
	}
	return items
}

// notFound answers requests for unknown paths.
func notFound(w http.ResponseWriter, r *http.Request) {
	writeError(w, http.StatusNotFound,
		status.Errorf(codes.NotFound, "there is no call at %s: GET /openapi.json lists the paths", clip(r.URL.Path)))
}

// notAllowed answers requests whose path has only other methods.
func notAllowed(methods []string) http.HandlerFunc {
	allow := strings.Join(methods, ", ")
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		writeError(w, http.StatusMethodNotAllowed,
			status.Errorf(codes.Unimplemented, "%s takes %s, not %s", clip(r.URL.Path), allow, clip(r.Method)))
	}
}
