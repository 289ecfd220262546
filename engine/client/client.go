// Package client is the Go client of the queue server.
//
// A program enqueues with a Producer and takes tasks with a Worker; both are sessions over streams:
//
//	c, err := client.Dial("127.0.0.1:7070", client.WithTokenFile("data/admin.token"))
//	p, err := c.Producer(ctx, "")
//	id, err := p.Enqueue(ctx, client.Task{Queue: "mail", Payload: text})
//
//	w, err := c.Worker(ctx, client.WorkerConfig{Queues: []string{"mail"}, Slots: 64})
//	task, err := w.Receive(ctx)
//	err = w.Complete(ctx, task)
//
// A session batches by itself: callers pass single tasks, from any number of goroutines, and the calls that wait while a frame is on
// its way go out together in the next frame. Client.API has the unary calls, and a UnaryWorker works with them; DialAdmin connects to the
// admin listener.
//
// An open session reconnects after every failure, also to a single server. In a cluster it keeps a stream to each node that leads a
// shard, and unary calls go to any node. After a broken connection, and after a refusal because a server stops or another node leads, the
// client sends a call again if nothing was done or if the call can be repeated without harm, for the time of WithRetryMax. The comments
// of Producer and Worker list the calls that can be repeated.
//
// All types are safe for concurrent use, except where their comments say otherwise. Close a session before its client: the calls of
// the session that are under way then end in order.
//
// A nil error means that the server has confirmed the call. The other outcomes are an Error, with which the server refused an item
// and nothing was done; ErrUnavailable, after which nothing was done either; and ErrUnknownOutcome, after which the call may or may
// not have taken effect. The errors of unary calls have a gRPC status instead, and are ErrUnavailable if no server executed the call.
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
	messageInBytesMax = 64 << 20 // a pushed message is small; an answer to a claim may carry large payloads
)

// frameTasksMax is how many tasks or settlements one frame carries: the server's own limit.
const frameTasksMax = 1_000

// frameBytesMax is about how many bytes of payloads one frame carries, below what the server accepts.
const frameBytesMax = 4 << 20

// connectMin is how long one attempt to connect may take. Another node may be there at once.
const connectMin = 5 * time.Second

// peersMax is how many addresses a client connects to: those it was given, and those that the cluster named.
const peersMax = 64

// Client is the connections to a server, or to the nodes of a cluster. It is safe for concurrent use.
type Client struct {
	options  []grpc.DialOption // as the caller gave them, with the secrets of access tokens
	retryMax time.Duration
	timing   timing
	keys     bool // sessions give tasks without a key one of their own
	seeds    []string
	api      queuepb.QueueServiceClient
	once     queuepb.QueueServiceClient // tries each node once
	routing  routing

	only atomic.Pointer[peer] // where all unary calls go while there is one address and no cluster is known
	last atomic.Pointer[peer] // that answered a unary call

	mu     sync.Mutex
	peers  []*peer // in the order in which they became known; seeds come first
	closed bool
}

// Dial returns a client for a server at "host:port" or "unix:/path", or for a cluster at several such addresses with
// commas between them, any of which may be down. It connects at first use. Without WithTLS the connections are not
// encrypted, and without WithToken or WithTokenFile no access token is sent. Options of gRPC's own go too, and the last of a kind
// counts; all hold for every connection, and so does WithToken's rule for addresses that the cluster names.
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

// API returns the unary calls. A call goes to one node. It is sent again, in a cluster to another node, if that node can't be reached,
// refuses the call because it does not lead, or breaks the connection during a call that only reads or can be repeated: an enqueue of
// tasks that all have a key. That goes on until the call's context or the time of WithRetryMax ends. A call that may have taken effect
// and can't be repeated fails with the error of the connection.
func (c *Client) API() queuepb.QueueServiceClient { return c.api }

// Close cuts the connections. Close sessions first: calls under way end with ErrUnknownOutcome.
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

// connect returns a connection to one address, whose TLS handshakes are recorded in h.
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
