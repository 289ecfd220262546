package node

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/adminpb"
)

// The HTTP server in front of gRPC on the admin listener buffers a body until a handler reads it.
func TestAdminCallsWithoutATokenAreRefusedBeforeTheirMessageComes(t *testing.T) {
	n, _ := openAuth(t, t.TempDir(), nil)
	conn, err := grpc.NewClient(n.Admin(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	ctx, cancel := context.WithTimeout(t.Context(), adminPatience)
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, adminpb.AdminService_CancelTasks_FullMethodName)
	require.NoError(t, err)
	err = stream.RecvMsg(&adminpb.CancelTasksResponse{})
	require.Equal(t, codes.Unauthenticated, status.Code(err), "%v", err)
	assert.Contains(t, err.Error(), "no access token")
}

// zeros is a body of zeros.
type zeros struct{ left int }

func (z *zeros) Read(b []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := min(z.left, len(b))
	z.left -= n
	clear(b[:n])
	return n, nil
}

// Health checks need no token. A health message of 15 MiB must be refused.
func TestBodiesOfAdminCallsAreBounded(t *testing.T) {
	n, _ := openAuth(t, t.TempDir(), nil)
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	const length = 15 << 20
	body := &zeros{left: length}
	ctx, cancel := context.WithTimeout(t.Context(), adminPatience)
	defer cancel()
	in, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+n.Admin()+healthpb.Health_Check_FullMethodName,
		io.MultiReader(bytes.NewReader([]byte{0, 0, length >> 16, 0, 0}), body))
	require.NoError(t, err)
	in.Header.Set("Content-Type", "application/grpc")
	out, err := transport.RoundTrip(in)
	if err == nil {
		_, err = io.Copy(io.Discard, out.Body)
		require.NoError(t, out.Body.Close())
	}
	require.NotErrorIs(t, err, context.DeadlineExceeded, "the call did not end")
	assert.Greater(t, body.left, length/2, "the server took all of the body")
}
