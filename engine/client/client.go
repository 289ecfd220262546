// Package client is the Go client of the queue server.
//
// A program enqueues with a Producer and receives tasks with a Worker. Both are sessions over
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
// A session batches calls: callers pass single tasks, from any number of goroutines, and all calls
// that are made while a frame is being sent share the next frame. Client.API returns the unary
// calls, and a UnaryWorker uses them. DialAdmin connects to the admin listener.
//
// An open session reconnects after every failure, even if there is only a single server. In a
// cluster, the session has a stream to each node that leads a shard; unary calls go to any node.
// The client repeats a call after a broken connection, and after a refusal because a server stops
// or another node leads. It does so for up to the time of WithRetryMax, and only if the call had no
// effect or is safe to repeat. The comments of Producer and Worker list the calls that can be
// repeated.
//
// All types are safe for concurrent use unless their comments restrict it. Close a session before
// you close its client: the session's active calls can then end in order.
//
// A nil error means that the server has confirmed the call. An Error means that the server refused
// an item, which had no effect. ErrUnavailable also means that the call had no effect.
// ErrUnknownOutcome means that the call may or may not have taken effect. The errors of unary calls
// are different: they have a gRPC status, and are ErrUnavailable if no server executed the call.
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

// The windows and buffers of a connection are large enough that flow control does not delay a
// batch.
const (
	streamWindowBytes = 1 << 20
	connWindowBytes   = 4 << 20
	bufferBytes       = 64 << 10
	// messageInBytesMax is large because the answer to a claim may contain large payloads. Pushed
	// messages are small.
	messageInBytesMax = 64 << 20
)

// frameTasksMax limits the number of tasks or settlements in one frame. It is the server's limit.
const frameTasksMax = 1_000

// frameBytesMax is the approximate maximum of payload bytes in one frame. It is below the server's
// limit.
const frameBytesMax = 4 << 20

// connectMin limits the time of one attempt to connect. It is short because another node may be
// available immediately.
const connectMin = 5 * time.Second

// peersMax limits the number of addresses that a client connects to: its seeds, and the addresses
// that the cluster reports.
const peersMax = 64

// Client contains the connections to a server, or to the nodes of a cluster. It is safe for
// concurrent use.
type Client struct {
	options  []grpc.DialOption // the caller's options, with the secrets of access tokens
	retryMax time.Duration
	timing   timing
	keys     bool // true if sessions add a unique key to each task without a key
	seeds    []string
	api      queuepb.QueueServiceClient
	once     queuepb.QueueServiceClient // makes each call with only one try per node
	routing  routing

	// only is the peer for all unary calls while the client knows only one address and no cluster.
	only atomic.Pointer[peer]
	last atomic.Pointer[peer] // the peer that last answered a unary call

	mu     sync.Mutex
	peers  []*peer // in the order in which the client learned of them; seeds come first
	closed bool
}

// Dial returns a client for a server at "host:port" or "unix:/path". For a cluster, pass several
// such addresses separated by commas; some of the nodes may be down. Dial itself does not connect:
// the client connects when it is first used. Without WithTLS, connections are not encrypted.
// Without WithToken or WithTokenFile, the client sends no access token.
//
// Dial also accepts gRPC's own options; of several options of the same kind, the last one is used.
// All options, and the restriction of WithToken, also apply to connections to addresses that the
// cluster reports.
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

// API returns the unary calls. The client sends a call to one node. It repeats the call if the node
// cannot be reached, or refuses the call because it does not lead. It also repeats a call whose
// connection breaks if the call is safe to repeat: a read, or an enqueue of tasks that all have a
// key. In a cluster it repeats the call at another node. Retries end with the call's context or
// after the time of WithRetryMax. If a call may have taken effect and is not safe to repeat, it
// fails with the error of the connection.
func (c *Client) API() queuepb.QueueServiceClient { return c.api }

// Close closes the connections. Close all sessions first; otherwise their active calls end with
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

// connect returns a connection to one address. h records refused TLS handshakes of the connection.
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
