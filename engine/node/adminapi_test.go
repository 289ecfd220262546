package node

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/memory"
	"github.com/pronybench/prony/engine/node/metrics"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/rpc/call"
)

// fakeAdmin is an admin service with one queue.
type fakeAdmin struct {
	adminpb.UnimplementedAdminServiceServer
}

func (fakeAdmin) GetQueue(_ context.Context, in *adminpb.GetQueueRequest) (*adminpb.GetQueueResponse, error) {
	if in.GetQueue() != "q" {
		return nil, status.Errorf(codes.NotFound, "no queue %q", in.GetQueue())
	}
	return &adminpb.GetQueueResponse{Queue: &adminpb.Queue{Queue: "q", Tenant: in.GetTenant(), Ready: 7}}, nil
}

func (fakeAdmin) PauseQueue(context.Context, *adminpb.PauseQueueRequest) (*adminpb.PauseQueueResponse, error) {
	return &adminpb.PauseQueueResponse{}, nil
}

// serveAdmin serves an admin listener with only a service.
func serveAdmin(t *testing.T, service adminpb.AdminServiceServer) *Node {
	t.Helper()
	n := &Node{log: slog.New(slog.DiscardHandler), health: health.NewServer(), metrics: metrics.New(1), auth: call.NoAuth(), bounds: call.NewBounds(memory.SharesOf(0, 1, false), nil)}
	var err error
	n.adminAt, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, n.newAdmin(service, Config{Limits: queue.DefaultLimits()}))
	n.serveHTTP("the admin listener", n.admin, n.adminAt)
	t.Cleanup(func() {
		n.stopAdmin(context.Background())
		n.serving.Wait()
	})
	return n
}

// gRPC and REST share one port.
func TestTheAdminServiceIsThereOverGRPCAndREST(t *testing.T) {
	n := serveAdmin(t, fakeAdmin{})
	conn, err := grpc.NewClient("passthrough:///"+n.Admin(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close() //nolint:errcheck // the test's own
	ctx, cancel := context.WithTimeout(context.Background(), adminPatience)
	defer cancel()
	c := adminpb.NewAdminServiceClient(conn)
	out, err := c.GetQueue(ctx, &adminpb.GetQueueRequest{Queue: "q", Tenant: "t"})
	require.NoError(t, err)
	assert.EqualValues(t, 7, out.GetQueue().GetReady())
	_, err = c.GetQueue(ctx, &adminpb.GetQueueRequest{Queue: "other"})
	assert.Equal(t, codes.NotFound, status.Code(err))
	_, err = c.GetQueue(ctx, &adminpb.GetQueueRequest{Queue: string(bytes.Repeat([]byte("x"), 17<<20))})
	assert.Equal(t, codes.ResourceExhausted, status.Code(err), "the size of a message is bounded")
	_, err = healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	require.NoError(t, err)

	code, body := ask(t, n.Admin(), "/v1/queues:get?queue=q&tenant=t")
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, string(body), `"7"`)
	code, body = ask(t, n.Admin(), "/v1/queues:get?queue=other")
	assert.Equal(t, http.StatusNotFound, code)
	assert.Contains(t, string(body), `no queue`)
	code, body = ask(t, n.Admin(), "/openapi.json")
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, string(body), "/v1/queues:configure")
	code, body = ask(t, n.Admin(), "/openapi-3.1.json")
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, string(body), "/v1/queues:configure")
	code, body = ask(t, n.Admin(), "/v1/nothing")
	assert.Equal(t, http.StatusNotFound, code)
	assert.Contains(t, string(body), "/openapi.json lists the paths")
	code, body = ask(t, n.Admin(), "/livez")
	assert.Equal(t, http.StatusOK, code)
	assert.Equal(t, "ok\n", string(body))

	metrics := scrape(t, n)
	assert.Equal(t, "1", metrics[`prony_calls_total{api="grpc",code="OK",method="GetQueue"}`])
	assert.Equal(t, "1", metrics[`prony_calls_total{api="rest",code="OK",method="GetQueue"}`])
	assert.Equal(t, "1", metrics[`prony_calls_total{api="rest",code="NotFound",method="GetQueue"}`])
}

func TestHealthOfTheAdminServiceIsToldWhereItIsServed(t *testing.T) {
	a := newAdminTest(t)
	conn, err := grpc.NewClient("passthrough:///"+a.node.Admin(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close() //nolint:errcheck // the test's own
	for _, service := range []string{"", adminpb.AdminService_ServiceDesc.ServiceName} {
		out, err := healthpb.NewHealthClient(conn).Check(a.ctx, &healthpb.HealthCheckRequest{Service: service})
		require.NoError(t, err)
		assert.Equal(t, healthpb.HealthCheckResponse_SERVING, out.GetStatus())
	}
}

// The same listener serves REST over HTTP/2 without TLS. It does not treat requests over HTTP/1.1
// as gRPC.
func TestTheAdminListenerTellsGRPCFromOthers(t *testing.T) {
	n := serveAdmin(t, fakeAdmin{})
	post := func(transport *http.Transport, media string) (protoMajor, status int, body string) {
		t.Helper()
		defer transport.CloseIdleConnections()
		in, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+n.Admin()+"/v1/queues:pause", bytes.NewBufferString("{}"))
		require.NoError(t, err)
		in.Header.Set("Content-Type", media)
		out, err := (&http.Client{Transport: transport}).Do(in)
		require.NoError(t, err)
		text, err := io.ReadAll(out.Body)
		require.NoError(t, errors.Join(err, out.Body.Close()))
		return out.ProtoMajor, out.StatusCode, string(text)
	}
	h2 := &http.Transport{Protocols: new(http.Protocols)}
	h2.Protocols.SetUnencryptedHTTP2(true)
	major, code, body := post(h2, "application/json")
	assert.Equal(t, 2, major)
	assert.Equal(t, http.StatusOK, code)
	assert.JSONEq(t, "{}", body)
	_, code, _ = post(&http.Transport{}, "application/grpc")
	assert.Equal(t, http.StatusUnsupportedMediaType, code)
}
