//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/engine/queuepb"
)

// memoryLimit is the memory limit of the attacked servers.
const memoryLimit = 200_000_000

// mostBytes returns the bound that a test enforces on the resident size of a server with the given
// limit. The long form enforces the limit. The short form allows twice the limit, since it must not
// depend on the host's speed: the resident size overshoots while the garbage collector waits for a
// processor. Without the limit, the attacks take more than five times the limit.
func mostBytes(t *testing.T, limit int64) int64 {
	t.Helper()
	if longtest.Asked(t) {
		return limit
	}
	return 2 * limit
}

// attacked is a server under attack.
type attacked struct {
	*process

	secret string      // a token; "" if the server requires none
	tls    *tls.Config // nil means plain text
}

// credentials returns the transport credentials of the clients.
func (p *attacked) credentials() credentials.TransportCredentials {
	if p.tls == nil {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(p.tls)
}

// connect opens a connection to the server's gRPC listener.
func (p *attacked) connect() (net.Conn, error) {
	if p.tls == nil {
		return net.Dial("tcp", p.Listen[0])
	}
	own := p.tls.Clone()
	own.NextProtos = []string{"h2"}
	return tls.Dial("tcp", p.Listen[0], own)
}

// attack loads a server from several connections until ctx ends or it is done.
type attack func(ctx context.Context, p *attacked)

// attacks are the known ways to make a server's memory grow.
var attacks = map[string]attack{
	"calls without a token":        func(ctx context.Context, p *attacked) { p.flood(ctx, "", emptyTasks(16<<20)) },
	"refused calls with deadlines": refusedWithDeadlines,
	"calls with a token":           func(ctx context.Context, p *attacked) { p.flood(ctx, p.secret, largeTasks(5<<20)) },
	"calls that are too large":     func(ctx context.Context, p *attacked) { p.flood(ctx, p.secret, largeTasks(15<<20)) },
	"empty tasks":                  func(ctx context.Context, p *attacked) { p.flood(ctx, p.secret, emptyTasks(5<<20)) },
	"messages that never end":      endlessMessages,
	"streams that are never read":  unreadStreams,
	"claims of a large backlog":    largeClaims,
	"answers that are never read":  unreadAnswers,
	"many queues":                  manyQueues,
	"calls over REST":              restCalls,
	"idle connections":             idleConnections,
	"long polls":                   longPolls,
}

// memoryTime returns the duration of each attack.
func memoryTime(t *testing.T) time.Duration {
	t.Helper()
	return time.Duration(longtest.Count(t, 2, 60)) * time.Second
}

// allAttacks runs all attacks concurrently.
func allAttacks(ctx context.Context, p *attacked) {
	var running sync.WaitGroup
	defer running.Wait()
	for _, a := range attacks {
		running.Go(func() { a(ctx, p) })
	}
}

// TestMemoryStaysBelowItsLimit runs each attack alone and all attacks at once: on plain listeners,
// on listeners with TLS, and on the leader of a cluster of three, whose other nodes must stay below
// their limit too. The short form runs all attacks at once on plain listeners.
func TestMemoryStaysBelowItsLimit(t *testing.T) {
	t.Run("all at once", func(t *testing.T) { serveAttacked(t).endure(memoryLimit, allAttacks) })
	if !longtest.Asked(t) {
		return
	}
	for name, a := range attacks {
		t.Run(name, func(t *testing.T) { serveAttacked(t).endure(memoryLimit, a) })
	}
	t.Run("all at once over TLS", func(t *testing.T) {
		cert, key := certificate(t, "server")
		text, err := os.ReadFile(cert)
		require.NoError(t, err)
		roots := x509.NewCertPool()
		require.True(t, roots.AppendCertsFromPEM(text))
		p := serveAttacked(t, "--tls-cert", cert, "--tls-key", key)
		p.tls = &tls.Config{RootCAs: roots}
		p.endure(memoryLimit, allAttacks)
	})
	t.Run("all at once on a cluster", func(t *testing.T) {
		c := newCluster(t, memoryArguments()...)
		p := &attacked{process: c.nodes[c.leader()].process}
		p.endure(memoryLimit, allAttacks)
		for _, id := range c.up() {
			peak := c.nodes[id].peakBytes()
			t.Logf("peak of %s %d MB", id, peak/1_000_000)
			assert.Less(t, peak, mostBytes(t, memoryLimit), id)
		}
	})
}

func memoryArguments() []string {
	return []string{"--durability", "none", "--http", "127.0.0.1:0", "--memory", strconv.Itoa(memoryLimit)}
}

func serveAttacked(t *testing.T, args ...string) *attacked {
	t.Helper()
	p := start(t, slices.Concat([]string{"--data", t.TempDir()}, memoryArguments(), args)...)
	return &attacked{process: p, secret: p.token()}
}

// endure attacks the server, which must stay below mostBytes of its limit and must serve
// afterwards.
func (p *attacked) endure(limit int64, a attack) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), memoryTime(p.T))
	defer cancel()
	a(ctx, p)
	conn := p.connections(1)[0]
	require.Eventually(p, func() bool {
		ctx, cancel := context.WithTimeout(withSecret(p.Context(), p.secret), patience)
		defer cancel()
		_, err := queuepb.NewQueueServiceClient(conn).Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "after", Payload: []byte("x")}}})
		return err == nil
	}, patience, 50*time.Millisecond, "the server no longer serves: %s", p.log)
	peak := p.peakBytes()
	p.Logf("peak %d MB", peak/1_000_000)
	assert.Less(p, peak, mostBytes(p.T, limit), "%s", lastLines(p.log.String(), 60))
}

// peakBytes returns the largest resident size that the process ever had.
func (p *process) peakBytes() int64 {
	p.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID))
	require.NoError(p, err, "%s", p.log)
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			require.NoError(p, err)
			return n << 10
		}
	}
	require.Fail(p, "the system does not report the process's memory")
	return 0
}

// encodedMessages is a codec for messages that are already encoded.
type encodedMessages struct{ encoding.CodecV2 }

func (c encodedMessages) Marshal(v any) (mem.BufferSlice, error) {
	if b, ok := v.([]byte); ok {
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	return c.CodecV2.Marshal(v)
}

var sendEncoded = grpc.ForceCodecV2(encodedMessages{encoding.GetCodecV2(proto.Name)})

// emptyTasks returns an encoded EnqueueRequest of the given size, full of empty tasks.
func emptyTasks(size int) []byte { return bytes.Repeat([]byte{2<<3 | 2, 0}, size/2) }

// largeTasks returns an encoded EnqueueRequest of about the given size, with tasks of 250 KB.
func largeTasks(size int) []byte {
	task := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "large")
	task = protowire.AppendBytes(protowire.AppendTag(task, 3, protowire.BytesType), make([]byte, 250_000))
	var b []byte
	for len(b)+len(task)+16 < size {
		b = protowire.AppendBytes(protowire.AppendTag(b, 2, protowire.BytesType), task)
	}
	return b
}

// connections opens n connections that send the server's token, if any.
func (p *attacked) connections(n int) []*grpc.ClientConn {
	p.Helper()
	conns := make([]*grpc.ClientConn, n)
	for i := range conns {
		c, err := grpc.NewClient(p.Listen[0], grpc.WithTransportCredentials(p.credentials()))
		require.NoError(p, err)
		p.Cleanup(func() { _ = c.Close() })
		conns[i] = c
	}
	return conns
}

func withSecret(ctx context.Context, secret string) context.Context {
	if secret == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+secret)
}

// everywhere calls f repeatedly on conns connections, from calls goroutines each, until ctx ends.
func (p *attacked) everywhere(ctx context.Context, conns, calls int, f func(c *grpc.ClientConn)) {
	var running sync.WaitGroup
	defer running.Wait()
	for _, c := range p.connections(conns) {
		for range calls {
			running.Go(func() {
				for ctx.Err() == nil {
					f(c)
				}
			})
		}
	}
}

// flood sends a message in many concurrent calls and ignores their outcomes.
func (p *attacked) flood(ctx context.Context, secret string, message []byte) {
	p.everywhere(ctx, 8, 8, func(c *grpc.ClientConn) {
		_ = c.Invoke(withSecret(ctx, secret), queuepb.QueueService_Enqueue_FullMethodName, message, &queuepb.EnqueueResponse{}, sendEncoded)
	})
}

// refusedWithDeadlines sends headers of calls without a valid token and with a distant deadline, as
// fast as the server refuses them.
func refusedWithDeadlines(ctx context.Context, p *attacked) {
	p.refusals(ctx, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, hpack.HeaderField{Name: "grpc-timeout", Value: "59S"})
}

// refusals sends headers of calls without a valid token on several connections, and replaces
// connections that are cut.
func (p *attacked) refusals(ctx context.Context, read func(net.Conn), more ...hpack.HeaderField) {
	p.everywhere(ctx, 4, 2, func(*grpc.ClientConn) {
		c, err := p.connect()
		if err != nil {
			return
		}
		go read(c)
		_ = sendRefusedCalls(ctx, c, more...)
		_ = c.Close()
	})
}

// restCalls enqueues large bodies over REST, and claims a backlog of large tasks without reading
// the answers.
func restCalls(ctx context.Context, p *attacked) {
	transport := &http.Transport{TLSClientConfig: p.tls}
	defer transport.CloseIdleConnections()
	scheme := "http://"
	if p.tls != nil {
		scheme = "https://"
	}
	call := func(path string, body []byte) {
		in, err := http.NewRequestWithContext(ctx, http.MethodPost, scheme+p.HTTP+path, bytes.NewReader(body))
		if err != nil {
			return
		}
		in.Header.Set("Authorization", "Bearer "+p.secret)
		in.Header.Set("Content-Type", "application/json")
		out, err := transport.RoundTrip(in)
		if err != nil {
			return
		}
		_, _ = io.CopyN(io.Discard, out.Body, 1<<10)
		_ = out.Body.Close()
	}
	large := []byte(`{"tasks":[{"queue":"rest","payload":"` + strings.Repeat("A", 300_000) + `"}` + strings.Repeat(`,{"queue":"rest"}`, 900) + `]}`)
	var running sync.WaitGroup
	defer running.Wait()
	for i := range 32 {
		running.Go(func() {
			for ctx.Err() == nil {
				if i%2 == 0 {
					call("/v1/tasks:enqueue", large)
				} else {
					call("/v1/tasks:claim", []byte(`{"queues":["rest","backlog","large"],"max_tasks":1000,"lease_ms":100}`))
				}
			}
		})
	}
}

// endlessMessages sends only the first part of messages and keeps their calls open.
func endlessMessages(ctx context.Context, p *attacked) {
	secret := p.secret
	message := largeTasks(5 << 20)
	p.everywhere(ctx, 8, 16, func(*grpc.ClientConn) {
		c, err := p.connect()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		_ = sendPartOfACall(c, secret, message[:len(message)-1])
		<-ctx.Done()
	})
}

// unreadStreams opens streams over a backlog and does not read them.
func unreadStreams(ctx context.Context, p *attacked) {
	secret := p.secret
	p.backlog(ctx, "unread", 200)
	p.everywhere(ctx, 8, 16, func(c *grpc.ClientConn) {
		s, err := queuepb.NewQueueServiceClient(c).Work(withSecret(ctx, secret))
		if err != nil {
			return
		}
		err = s.Send(&queuepb.WorkRequest{Open: &queuepb.WorkOpen{Queues: []string{"unread", "large"}, LeaseMs: 100}, Credits: 1_000})
		if err == nil {
			<-ctx.Done()
		}
	})
}

// largeClaims claims and releases a backlog of large tasks.
func largeClaims(ctx context.Context, p *attacked) {
	secret := p.secret
	p.backlog(ctx, "backlog", 200)
	p.everywhere(ctx, 8, 8, func(c *grpc.ClientConn) { _ = claimSome(withSecret(ctx, secret), c, "backlog", 0) })
}

// unreadAnswers claims large tasks without reading the answers: the client opens no flow-control
// window.
func unreadAnswers(ctx context.Context, p *attacked) {
	secret := p.secret
	p.backlog(ctx, "answers", 100)
	var running sync.WaitGroup
	defer running.Wait()
	for range 8 {
		running.Go(func() {
			for ctx.Err() == nil {
				c, err := p.connect()
				if err != nil {
					return
				}
				_ = claimWithoutWindow(ctx, c, secret, "answers")
				_ = c.Close()
			}
		})
	}
}

// manyQueues creates queues until ctx ends.
func manyQueues(ctx context.Context, p *attacked) {
	secret := p.secret
	var mu sync.Mutex
	next := 0
	p.everywhere(ctx, 2, 2, func(c *grpc.ClientConn) {
		mu.Lock()
		first := next
		next += 500
		mu.Unlock()
		in := &queuepb.EnqueueRequest{}
		for i := range 500 {
			in.Tasks = append(in.Tasks, &queuepb.NewTask{Queue: fmt.Sprintf("queue-%d", first+i), Payload: make([]byte, 100)})
		}
		_, _ = queuepb.NewQueueServiceClient(c).Enqueue(withSecret(ctx, secret), in)
	})
}

// idleConnections opens more connections than the server allows.
func idleConnections(ctx context.Context, p *attacked) {
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	for len(conns) < 3_000 && ctx.Err() == nil {
		c, err := p.connect()
		if err != nil {
			return
		}
		conns = append(conns, c)
		_ = sendPreface(c)
	}
	<-ctx.Done()
}

// longPolls waits for tasks of an empty queue in more calls than the server allows.
func longPolls(ctx context.Context, p *attacked) {
	secret := p.secret
	p.everywhere(ctx, 4, 400, func(c *grpc.ClientConn) {
		if claimSome(withSecret(ctx, secret), c, "empty", 20_000) != nil {
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond): // the refusal's retry delay
			}
		}
	})
}

func claimSome(ctx context.Context, c *grpc.ClientConn, queue string, waitMs uint64) error {
	api := queuepb.NewQueueServiceClient(c)
	out, err := api.Claim(ctx, &queuepb.ClaimRequest{Queues: []string{queue}, MaxTasks: 1_000, WaitMs: waitMs})
	if err != nil || len(out.GetTasks()) == 0 {
		return err
	}
	in := &queuepb.ReleaseRequest{}
	for _, t := range out.GetTasks() {
		in.Releases = append(in.Releases, &queuepb.Releasing{Id: t.GetId(), Token: t.GetToken()})
	}
	_, err = api.Release(ctx, in)
	return err
}

// backlog enqueues the given number of tasks of 250 KB, unless ctx ends first.
func (p *attacked) backlog(ctx context.Context, queue string, tasks int) {
	api := queuepb.NewQueueServiceClient(p.connections(1)[0])
	for i := 0; i < tasks && ctx.Err() == nil; i++ {
		_, _ = api.Enqueue(withSecret(ctx, p.secret), &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: queue, Payload: make([]byte, 250_000)}}})
	}
}
