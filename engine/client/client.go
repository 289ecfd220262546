// Package client is the Go client of the queue server.
//
// A program enqueues with a Producer and receives tasks with a Worker; both are sessions over
// streams:
//
//	c, err := client.Dial("127.0.0.1:7070", client.WithTokenFile("data/admin.token"))
//	p, err := c.Producer(ctx, "")
//	id, err := p.Enqueue(ctx, client.Task{Queue: "mail", Payload: text})
//
//	w, err := c.Worker(ctx, client.WorkerConfig{Queues: []string{"mail"}, Slots: 64})
//	task, err := w.Receive(ctx)
//	err = w.Complete(ctx, task)
//
// A session batches calls: callers pass single tasks, from any number of goroutines, and the calls
// that wait while a frame is being sent share the next frame. Client.API has the unary calls, and a
// UnaryWorker uses them; DialAdmin connects to the admin listener.
//
// An open session reconnects after every failure, also to a single server. In a cluster it has a
// stream to each node that leads a shard, and unary calls go to any node. After a broken
// connection, and after a refusal because a server stops or another node leads, the client repeats
// a call for up to the time of WithRetryMax, provided that the call had no effect or is safe to
// repeat. The comments of Producer and Worker list the calls that can be repeated.
//
// All types are safe for concurrent use unless their comments restrict it. Close a session before
// its client: the session's active calls then end in order.
//
// A nil error means that the server has confirmed the call. The other outcomes are an Error, which
// is the server's refusal of an item without any effect; ErrUnavailable, which also means no
// effect; and ErrUnknownOutcome, which means that the call may or may not have taken effect. The
// errors of unary calls have a gRPC status instead, and are ErrUnavailable if no server executed
// the call.
package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/pronybench/prony/engine/internal/planted/plantedclient"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/wire"
)

// Window and buffer sizes of a connection: large enough that flow control does not hold up a batch.
const (
	streamWindowBytes = 1 << 20
	connWindowBytes   = 4 << 20
	bufferBytes       = 64 << 10
	// Pushed messages are small; an answer to a claim may have large payloads.
	messageInBytesMax = 64 << 20
)

// frameTasksMax bounds the tasks or settlements of one frame: the server's limit.
const frameTasksMax = 1_000

// frameBytesMax is the approximate bound of the payload bytes in one frame, below the server's
// limit.
const frameBytesMax = 4 << 20

// connectMin bounds one attempt to connect. Another node may be available immediately.
const connectMin = 5 * time.Second

// peersMax bounds the addresses that a client connects to: its seeds, and those that the cluster
// names.
const peersMax = 64

// Client has the connections to a server, or to the nodes of a cluster. It is safe for concurrent
// use.
type Client struct {
	options  []grpc.DialOption // the caller's, with the secrets of access tokens
	retryMax time.Duration
	timing   timing
	keys     bool // sessions give each task without a key a unique key
	seeds    []string
	api      queuepb.QueueServiceClient
	once     queuepb.QueueServiceClient // tries each node once
	routing  routing

	// The peer for all unary calls while there is only one address and no known cluster.
	only atomic.Pointer[peer]
	last atomic.Pointer[peer] // the peer that last answered a unary call

	mu     sync.Mutex
	peers  []*peer // in the order in which they became known; seeds come first
	closed bool
}

// Dial returns a client for a server at "host:port" or "unix:/path", or for a cluster at several
// such addresses, separated by commas, any of which may be down. It connects at first use. Without
// WithTLS the connections are not encrypted, and without WithToken or WithTokenFile no access token
// is sent. Dial also accepts gRPC's own options, of which the last of a kind counts. All options,
// and WithToken's rule, also apply to connections to addresses that the cluster names.
func Dial(addresses string, options ...grpc.DialOption) (*Client, error) {
	if err := plantedclient.Begin(); err != nil {
		return nil, fmt.Errorf("dial %s: %w", addresses, err)
	}
	options, err := readTokens(addresses, options)
	if err != nil {
		return nil, err
	}
	c := &Client{options: options, retryMax: retryMaxDefault, timing: defaultTiming}
	for _, o := range options {
		switch o := o.(type) {
		case retryOption:
			c.retryMax = o.max
		case keysOption:
			c.keys = true
		case timingOption:
			c.timing = o.timing
		}
	}
	for _, address := range strings.Split(addresses, ",") {
		if address = strings.TrimSpace(address); address == "" {
			return nil, fmt.Errorf("dial %q: %w: an address is empty: pass host:port or unix:/path", addresses, ErrInvalidArgument)
		}
		if !slices.Contains(c.seeds, address) {
			c.seeds = append(c.seeds, address)
		}
	}
	if len(c.seeds) > peersMax {
		return nil, fmt.Errorf("dial %s: %w: %d addresses: pass at most %d", addresses, ErrInvalidArgument, len(c.seeds), peersMax)
	}
	for _, address := range c.seeds {
		if _, err := c.peer(address); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	if len(c.seeds) == 1 {
		c.only.Store(c.peers[0])
	}
	c.api = queuepb.NewQueueServiceClient(&unary{client: c, most: c.retryMax})
	c.once = queuepb.NewQueueServiceClient(&unary{client: c})
	c.routing.client = c
	c.routing.answers, c.routing.changed = map[*peer]*queuepb.GetRoutesResponse{}, make(chan struct{})
	return c, nil
}

// API returns the unary calls. A call goes to one node. It is repeated, in a cluster at another
// node, if that node cannot be reached, refuses the call because it does not lead, or breaks the
// connection during a repeatable call: a read, or an enqueue of tasks that all have a key. Retries
// end with the call's context or the time of WithRetryMax. A call that may have taken effect and is
// not repeatable fails with the error of the connection.
func (c *Client) API() queuepb.QueueServiceClient { return c.api }

// Close closes the connections. Close sessions first: otherwise their active calls end with
// ErrUnknownOutcome.
func (c *Client) Close() error {
	c.mu.Lock()
	peers := c.peers
	c.peers, c.closed = nil, true
	c.only.Store(nil)
	c.mu.Unlock()
	var errs []error
	for _, p := range peers {
		if err := p.conn.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close the connection to %s: %w", p.address, err))
		}
	}
	return errors.Join(errs...)
}

func (c *Client) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// connect returns a connection to one address and records its TLS handshakes in h.
func connect(address string, r *timing, options []grpc.DialOption, h *handshakes) (*grpc.ClientConn, error) {
	target := address
	if !strings.HasPrefix(address, "unix:") {
		target = "passthrough:///" + address
	}
	options, guarded := grpcOptions(address, options, h)
	conn, err := grpc.NewClient(target, append([]grpc.DialOption{
		grpc.WithTransportCredentials(plainCredentials(options)),
		grpc.WithInitialWindowSize(streamWindowBytes),
		grpc.WithInitialConnWindowSize(connWindowBytes),
		grpc.WithReadBufferSize(bufferBytes),
		grpc.WithWriteBufferSize(bufferBytes),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: r.waitMin, Multiplier: 2, Jitter: 0.2, MaxDelay: r.waitMax},
			MinConnectTimeout: connectMin,
		}),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(wire.Codec()), grpc.MaxCallRecvMsgSize(messageInBytesMax)),
	}, options...)...)
	if err != nil && guarded {
		return nil, fmt.Errorf("dial %s: %w: an access token goes to another host with WithTLS, or with WithPlaintextToken", address, err)
	}
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", address, err)
	}
	return conn, nil
}
