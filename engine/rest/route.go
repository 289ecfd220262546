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
	items  string             // the request's list of items, of which the answer has one result each; "" if there is none
	handle grpc.MethodHandler // decodes the request and calls the service
}

// hasBody says whether the request message is the body. Otherwise it is in the path and the query.
func (r *route) hasBody() bool { return r.method == http.MethodPost }

// parameter returns the field that a parameter of a query is for: one of the request message, or of a message in it, that the path does
// not have. It returns nil if there is none.
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

// itemsOf returns the name of the only list of a call's request, if the call's answer has results.
func itemsOf(m protoreflect.MethodDescriptor) string {
	if m.Output().Fields().ByName("results") == nil {
		return ""
	}
	items := ""
	for i := range m.Input().Fields().Len() {
		if f := m.Input().Fields().Get(i); f.IsList() {
			if items != "" { // a claim, whose completions are beside the point
				return ""
			}
			items = string(f.Name())
		}
	}
	return items
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
