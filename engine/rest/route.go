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
	path   string // such as "/v1/tasks/{id}"; braces contain the name of a field
	rpc    string // such as "/prony.queue.v1.QueueService/GetTask"
	input  protoreflect.MessageDescriptor
	// items is the name of the request's list of items. The answer has one result for each item.
	// items is "" if the request has no such list.
	items  string
	handle grpc.MethodHandler // decodes the request and calls the service
}

// hasBody reports whether the body is the request message. Otherwise the path and the query contain
// the fields of the message.
func (r *route) hasBody() bool { return r.method == http.MethodPost }

// parameter returns the request field that a query parameter sets. The field may be nested. It
// returns nil for unknown fields and for fields in the path.
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

// routesOf returns the routes for a service's methods, with their handlers. The routes come from
// the methods' google.api.http rules. A method without a rule has no route; these are the streams.
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

// itemsOf returns the name of the only list in a request, if the answer has a result for each
// element of a list.
func itemsOf(m protoreflect.MethodDescriptor) string {
	if m.Output().Fields().ByName("results") == nil {
		return ""
	}
	items := ""
	for i := range m.Input().Fields().Len() {
		if f := m.Input().Fields().Get(i); f.IsList() {
			if items != "" { // a second list: claims have completions, which are not their items
				return ""
			}
			items = string(f.Name())
		}
	}
	return items
}

func notFound(w http.ResponseWriter, r *http.Request) {
	writeError(w, http.StatusNotFound,
		status.Errorf(codes.NotFound, "there is no call at %s: GET /openapi.json lists the paths", clip(r.URL.Path)))
}

func notAllowed(methods []string) http.HandlerFunc {
	allow := strings.Join(methods, ", ")
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		writeError(w, http.StatusMethodNotAllowed,
			status.Errorf(codes.Unimplemented, "%s takes %s, not %s", clip(r.URL.Path), allow, clip(r.Method)))
	}
}
