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
	producers  = 32    // each has one outstanding call
	workers    = 128   // each has the tasks of one call
	backlogMax = 20000 // producers wait while more tasks than this are enqueued and not completed

	backlogTick = time.Millisecond
	cycleTick   = time.Millisecond
)

// clientSide is the client's process: one stream of producers and one of workers, each on a
// separate connection.
type clientSide struct {
	batch    int // tasks of a call
	conns    []*grpc.ClientConn
	group    *group
	enqueued atomic.Int64 // acknowledged tasks
	cycles   atomic.Int64 // acknowledged completions
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

// connect opens the streams and starts the load, which runs until ctx ends or stop is called.
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

// measure counts the cycles of the given time, and the CPU time that both processes use in it.
// Warm-up and measurement both last at least until a cycle has completed.
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

// cycle waits for the given time, and until a cycle has completed.
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

// edge holds the counters at the begin or the end of a measurement.
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
