// Package client is the Go client of the queue server: sessions for producers and workers over
// streams, and the plain calls.
//
// A session batches by itself: callers call per task, from any number of goroutines, and whatever
// waits while a frame is on its way goes out together in the next one.
package client

import (
	"fmt"
	"strings"

	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/wire"
)

// Window and buffer sizes of a connection: large enough that flow control does not hold up a batch.
const (
	streamWindowBytes = 1 << 20
	connWindowBytes   = 4 << 20
	bufferBytes       = 64 << 10
	messageInBytesMax = 64 << 20 // a pushed message is small; an answer to a claim may carry large payloads
)

// frameTasksMax is how many tasks or settlements one frame carries: the server's own limit.
const frameTasksMax = 1_000

// frameBytesMax is about how many bytes of payloads one frame carries, below what the server accepts.
const frameBytesMax = 4 << 20

// Client is one connection to a server. It is safe for concurrent use.
type Client struct {
	conn *grpc.ClientConn
	api  queuepb.QueueServiceClient
}

// Dial returns a client for a server at "host:port" or "unix:/path". It connects at first use. Without WithTLS the
// connection is not encrypted, and without WithToken no access token is sent. Options of gRPC's own go too, and the
// last of a kind counts.
func Dial(address string, options ...grpc.DialOption) (*Client, error) {
	target := address
	if !strings.HasPrefix(address, "unix:") {
		target = "passthrough:///" + address
	}
	options, guarded := tokenOptions(address, options)
	conn, err := grpc.NewClient(target, append([]grpc.DialOption{
		grpc.WithTransportCredentials(plain(options)),
		grpc.WithInitialWindowSize(streamWindowBytes),
		grpc.WithInitialConnWindowSize(connWindowBytes),
		grpc.WithReadBufferSize(bufferBytes),
		grpc.WithWriteBufferSize(bufferBytes),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(wire.Codec()), grpc.MaxCallRecvMsgSize(messageInBytesMax)),
	}, options...)...)
	if err != nil && guarded {
		return nil, fmt.Errorf("dial %s: %w: an access token goes to another host with WithTLS, or with WithPlaintextToken", address, err)
	}
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", address, err)
	}
	return &Client{conn: conn, api: queuepb.NewQueueServiceClient(conn)}, nil
}

// API returns the plain calls.
func (c *Client) API() queuepb.QueueServiceClient { return c.api }

// Close cuts the connection. Close sessions first: calls under way end with ErrUnknownOutcome.
func (c *Client) Close() error {
	if err := c.conn.Close(); err != nil {
		return fmt.Errorf("close the connection: %w", err)
	}
	return nil
}
