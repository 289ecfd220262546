package call

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/proto"

	"github.com/pronybench/prony/engine/memory"
)

// Guard authenticates HTTP requests by their header "Authorization: Bearer SECRET". It passes
// accepted requests to next with the caller in the context, where the calls of a service expect it.
// It refuses other requests before it reads their body. refuse answers them; its error has a gRPC
// status.
func (a *Auth) Guard(next http.Handler, refuse func(http.ResponseWriter, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		authorization := in.Header.Values("Authorization")
		i, err := a.authenticate(authorization)
		if err != nil {
			refuse(w, Status(err))
			return
		}
		tenant := i.Tenant
		if i.Operator() {
			tenant = ""
		}
		if err := LinkOf(in.Context()).Known(tenant); err != nil {
			refuse(w, Status(err))
			return
		}
		next.ServeHTTP(w, in.WithContext(withAuthorization(withIdentity(in.Context(), i), authorization)))
	})
}

// GuardOperator is Guard for handlers that require an operator with the scope admin.
func (a *Auth) GuardOperator(next http.Handler, refuse func(http.ResponseWriter, error)) http.Handler {
	return a.Guard(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		if _, err := Operator(in.Context()); err != nil {
			refuse(w, Status(err))
			return
		}
		next.ServeHTTP(w, in)
	}), refuse)
}

// openBytesMax limits the bytes of a call that requires no token.
const openBytesMax = 4 << 10

const grpcPrefixBytes = 5

// GuardGRPC authenticates gRPC calls that arrive through an HTTP server, before it reads their
// bodies. It ends a call whose body exceeds the limit. Without the limit, gRPC would read the whole
// body, even if no handler asks for it.
func (a *Auth) GuardGRPC(next http.Handler, bounds *Bounds) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		call := &tap.Info{FullMethodName: in.URL.Path, Header: metadata.MD{"authorization": in.Header.Values("Authorization")}}
		ctx, err := a.Arrives(in.Context(), call)
		if err != nil {
			writeGRPCError(w, err)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		in = in.WithContext(ctx)
		most := int64(bounds.shares.MessageBytes)
		if isOpen(call.FullMethodName) {
			most = openBytesMax
		}
		body := &boundedBody{ReadCloser: in.Body, left: most + grpcPrefixBytes, budget: bounds.requests, end: cancel}
		defer func() { bounds.requests.Give(body.taken) }()
		in.Body = body
		next.ServeHTTP(w, in)
	})
}

// boundedBody is a body of limited length. It calls end if the body exceeds the limit or the
// budget.
type boundedBody struct {
	io.ReadCloser

	left   int64
	budget *memory.Budget
	taken  int64
	end    func()
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		b.end()
		return 0, errors.New("the body exceeds the limit of a call: send fewer or smaller items in a call")
	}
	if !b.budget.Take(int64(n)) {
		b.end()
		return 0, memory.ErrExhausted
	}
	b.taken += int64(n)
	return n, err
}

func writeGRPCError(w http.ResponseWriter, err error) {
	s := status.Convert(err)
	h := w.Header()
	h.Set("Content-Type", "application/grpc")
	h.Set("Grpc-Status", strconv.Itoa(int(s.Code())))
	h.Set("Grpc-Message", url.PathEscape(s.Message()))
	if len(s.Proto().GetDetails()) > 0 {
		if b, err := proto.Marshal(s.Proto()); err == nil {
			h.Set("Grpc-Status-Details-Bin", base64.RawStdEncoding.EncodeToString(b))
		}
	}
	w.WriteHeader(http.StatusOK)
}
