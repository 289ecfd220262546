package bare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/pronybench/prony/harness/observe"
)

const (
	producers  = 32    // number of producers; each has one call in flight
	workers    = 128   // number of workers; each processes the tasks of one call
	backlogMax = 20000 // if more tasks than this are enqueued and not completed, producers wait

	backlogTick = time.Millisecond
	cycleTick   = time.Millisecond
)

// clientSide is the client's process. It has one stream for producers and one for workers. Each
// stream uses a separate connection.
type clientSide struct {
	batch    int // number of tasks in a call
	conns    []*grpc.ClientConn
	group    *group
	enqueued atomic.Int64 // number of acknowledged enqueues
	cycles   atomic.Int64 // number of acknowledged completions
}

type connectArguments struct {
	Address string `json:"address"`
	Batch   int    `json:"batch"`
}

type measureArguments struct {
	ServerPID int           `json:"server_pid"`
	Warmup    time.Duration `json:"warmup"`
	For       time.Duration `json:"for"`
}

// connect opens the streams and starts the load. The load runs until ctx is done or stop is called.
func (c *clientSide) connect(ctx context.Context, a connectArguments) error {
	c.batch, c.group = a.Batch, newGroup(ctx)
	producing, err := c.open(a.Address, produceMethod)
	if err != nil {
		return err
	}
	working, err := c.open(a.Address, workMethod)
	if err != nil {
		return err
	}
	c.produce(producing)
	c.work(working)
	return nil
}

func (c *clientSide) open(address, method string) (grpc.ClientStream, error) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy(), grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawCodec{})),
		grpc.WithWriteBufferSize(socketBytes), grpc.WithReadBufferSize(socketBytes), grpc.WithInitialWindowSize(streamWindow),
		grpc.WithInitialConnWindowSize(connWindow))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	c.conns = append(c.conns, conn)
	stream, err := conn.NewStream(c.group.ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/"+serviceName+"/"+method)
	if err != nil {
		return nil, fmt.Errorf("open a stream: %w", err)
	}
	return stream, nil
}

// measure counts the cycles in the given time, and the CPU time that both processes use in this
// time. Both the warm-up and the measurement last until at least one cycle has completed.
func (c *clientSide) measure(_ context.Context, a measureArguments) (m Measured, err error) {
	if c.group == nil {
		return m, errors.New("the client is not connected")
	}
	if err := c.cycle(a.Warmup); err != nil {
		return m, err
	}
	before, err := c.read(a.ServerPID)
	if err != nil {
		return m, err
	}
	if err := c.cycle(a.For); err != nil {
		return m, err
	}
	after, err := c.read(a.ServerPID)
	if err != nil {
		return m, err
	}
	return Measured{
		Cycles: uint64(after.cycles - before.cycles), Wall: after.at.Sub(before.at),
		ServerCPU: after.serverCPU - before.serverCPU, ClientCPU: after.clientCPU - before.clientCPU,
	}, nil
}

// cycle waits for the given time. If no cycle has completed by then, it also waits until one
// completes.
func (c *clientSide) cycle(length time.Duration) error {
	began := c.cycles.Load()
	for wait := length; ; wait = cycleTick {
		select {
		case <-time.After(wait):
		case <-c.group.ctx.Done():
			return context.Cause(c.group.ctx)
		}
		if c.cycles.Load() > began {
			return nil
		}
	}
}

// edge contains the counters at the start or the end of a measurement.
type edge struct {
	at                   time.Time
	cycles               int64
	serverCPU, clientCPU time.Duration
}

func (c *clientSide) read(serverPID int) (e edge, err error) {
	e.at, e.cycles = time.Now(), c.cycles.Load()
	if e.clientCPU, err = observe.ProcessCPU(os.Getpid()); err != nil {
		return e, err
	}
	e.serverCPU, err = observe.ProcessCPU(serverPID)
	return e, err
}

func (c *clientSide) stop() (err error) {
	if c.group != nil {
		err = c.group.stop()
	}
	for _, conn := range c.conns {
		err = errors.Join(err, conn.Close())
	}
	return err
}
