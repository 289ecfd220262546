//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
)

// memoryLimit is the memory bound of the attacked servers.
const memoryLimit = 200_000_000

// attack loads a server from many sides at once, until ctx ends or it is done.
type attack func(ctx context.Context, p *process)

// attacks are the ways to make a server's memory grow.
var attacks = map[string]attack{
	"calls without a token":       func(ctx context.Context, p *process) { p.flood(ctx, "", emptyTasks(16<<20)) },
	"calls with a token":          func(ctx context.Context, p *process) { p.flood(ctx, p.token(), largeTasks(5<<20)) },
	"calls that are too large":    func(ctx context.Context, p *process) { p.flood(ctx, p.token(), largeTasks(15<<20)) },
	"empty tasks":                 func(ctx context.Context, p *process) { p.flood(ctx, p.token(), emptyTasks(5<<20)) },
	"messages that never end":     endlessMessages,
	"streams that are never read": unreadStreams,
	"claims of a large backlog":   largeClaims,
	"answers that are never read": unreadAnswers,
	"many queues":                 manyQueues,
	"idle connections":            idleConnections,
	"long polls":                  longPolls,
}

// memoryTime returns how long each attack lasts: PRONY_MEMORY_SECONDS, or a short time.
func memoryTime(t *testing.T) time.Duration {
	t.Helper()
	return time.Duration(fromEnvironment(t, "PRONY_MEMORY_SECONDS", 2)) * time.Second
}

// TestMemoryStaysBelowItsLimit runs each attack alone, and all attacks at once.
func TestMemoryStaysBelowItsLimit(t *testing.T) {
	all := func(ctx context.Context, p *process) {
		var running sync.WaitGroup
		defer running.Wait()
		for _, a := range attacks {
			running.Go(func() { a(ctx, p) })
		}
	}
	for name, a := range attacks {
		t.Run(name, func(t *testing.T) { underAttack(t, a) })
	}
	t.Run("all at once", func(t *testing.T) { underAttack(t, all) })
}

// mostBytes is what the server may have in memory. The long form holds the server to its limit. The short one allows twice as
// much: it runs beside other tests, and how soon a busy host lets the server look at its memory is not what it tests. Without
// the limit most attacks take more than that.
func mostBytes() int64 {
	if os.Getenv("PRONY_MEMORY_SECONDS") != "" {
		return memoryLimit
	}
	return 2 * memoryLimit
}

func underAttack(t *testing.T, a attack) {
	p := start(t, "--data", t.TempDir(), "--durability", "none", "--memory", strconv.Itoa(memoryLimit))
	ctx, cancel := context.WithTimeout(t.Context(), memoryTime(t))
	defer cancel()
	a(ctx, p)
	peak := p.peakBytes()
	t.Logf("peak %d MB", peak/1_000_000)
	assert.Less(t, peak, mostBytes(), "%s", p.log)
	c := p.dial()
	defer func() { require.NoError(t, c.Close()) }()
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := c.API().Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "after", Payload: []byte("x")}}})
		return err == nil
	}, patience, 50*time.Millisecond, "the server does not serve any more: %s", p.log)
	assert.Less(t, p.peakBytes(), mostBytes(), "%s", p.log)
}

// peakBytes is the most that the process ever had in memory.
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
	require.Fail(p, "the system does not say how much memory the process had")
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

// emptyTasks is an encoded EnqueueRequest of a size with as many tasks as fit.
func emptyTasks(size int) []byte { return bytes.Repeat([]byte{2<<3 | 2, 0}, size/2) }

// largeTasks is an encoded EnqueueRequest of about a size, with tasks of 250 KB.
func largeTasks(size int) []byte {
	task := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "large")
	task = protowire.AppendBytes(protowire.AppendTag(task, 3, protowire.BytesType), make([]byte, 250_000))
	var b []byte
	for len(b)+len(task)+16 < size {
		b = protowire.AppendBytes(protowire.AppendTag(b, 2, protowire.BytesType), task)
	}
	return b
}

// connections opens connections that send a token, if there is one.
func (p *process) connections(n int) []*grpc.ClientConn {
	p.Helper()
	conns := make([]*grpc.ClientConn, n)
	for i := range conns {
		c, err := grpc.NewClient(p.Listen[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
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

// everywhere calls f on several connections, several times on each, until ctx ends.
func (p *process) everywhere(ctx context.Context, conns, calls int, f func(c *grpc.ClientConn)) {
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

// flood sends a message as many calls at once. Whether they are refused does not matter here.
func (p *process) flood(ctx context.Context, secret string, message []byte) {
	p.everywhere(ctx, 8, 8, func(c *grpc.ClientConn) {
		_ = c.Invoke(withSecret(ctx, secret), queuepb.QueueService_Enqueue_FullMethodName, message, &queuepb.EnqueueResponse{}, sendEncoded)
	})
}

// endlessMessages sends only the first part of messages, and keeps their calls open.
func endlessMessages(ctx context.Context, p *process) {
	secret := p.token()
	message := largeTasks(5 << 20)
	p.everywhere(ctx, 8, 16, func(*grpc.ClientConn) {
		c, err := net.Dial("tcp", p.Listen[0])
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		_ = sendPartOfACall(c, secret, message[:len(message)-1])
		<-ctx.Done()
	})
}

// unreadStreams lets streams be sent a backlog that they do not read.
func unreadStreams(ctx context.Context, p *process) {
	secret := p.token()
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
func largeClaims(ctx context.Context, p *process) {
	secret := p.token()
	p.backlog(ctx, "backlog", 200)
	p.everywhere(ctx, 8, 8, func(c *grpc.ClientConn) { _ = claimSome(withSecret(ctx, secret), c, "backlog", 0) })
}

// unreadAnswers claims large tasks without reading the answers: a client that gives no window is sent nothing.
func unreadAnswers(ctx context.Context, p *process) {
	secret := p.token()
	p.backlog(ctx, "answers", 100)
	var running sync.WaitGroup
	defer running.Wait()
	for range 8 {
		running.Go(func() {
			for ctx.Err() == nil {
				c, err := net.Dial("tcp", p.Listen[0])
				if err != nil {
					return
				}
				_ = claimWithoutWindow(ctx, c, secret, "answers")
				_ = c.Close()
			}
		})
	}
}

// manyQueues makes as many queues as the time allows.
func manyQueues(ctx context.Context, p *process) {
	secret := p.token()
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

// idleConnections opens more connections than the server can have.
func idleConnections(ctx context.Context, p *process) {
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	for len(conns) < 3_000 && ctx.Err() == nil {
		c, err := net.Dial("tcp", p.Listen[0])
		if err != nil {
			return
		}
		conns = append(conns, c)
		_ = sendPreface(c)
	}
	<-ctx.Done()
}

// longPolls waits for tasks of a queue that has none, in more calls than the server takes.
func longPolls(ctx context.Context, p *process) {
	secret := p.token()
	p.everywhere(ctx, 4, 400, func(c *grpc.ClientConn) {
		if claimSome(withSecret(ctx, secret), c, "empty", 20_000) != nil {
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond): // as the refusal says
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

// backlog enqueues so many tasks of 250 KB, unless ctx ends before.
func (p *process) backlog(ctx context.Context, queue string, tasks int) {
	c, err := client.Dial(p.Listen[0], client.WithToken(p.token()))
	if !assert.NoError(p, err) {
		return
	}
	defer func() { _ = c.Close() }()
	for i := 0; i < tasks && ctx.Err() == nil; i++ {
		_, _ = c.API().Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: queue, Payload: make([]byte, 250_000)}}})
	}
}
