package bare

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
)

const (
	callsPerFrameMax       = 512  // calls of producers in one frame
	completionsPerFrameMax = 4096 // completed tasks in one frame
)

// call is the request of a producer to enqueue the tasks of one call.
type call struct{ acknowledged chan<- struct{} }

// produce starts the producers, a goroutine that sends their calls, and a goroutine that receives
// the acknowledgements. Each frame contains all pending calls.
func (c *clientSide) produce(stream grpc.ClientStream) {
	// Both channels have room for one call of each producer.
	calls, outstanding := make(chan call, producers), make(chan []call, producers)
	for range producers {
		c.group.run(func() error { return c.producer(calls) })
	}
	c.group.run(func() error { return c.sendCalls(stream, calls, outstanding) })
	c.group.run(func() error { return c.receiveEnqueued(stream, outstanding) })
}

// producer enqueues one call after the other. While the backlog is too large, it waits.
func (c *clientSide) producer(calls chan<- call) error {
	acknowledged := make(chan struct{}, 1)
	for {
		for c.enqueued.Load()-c.cycles.Load() > backlogMax {
			select {
			case <-time.After(backlogTick):
			case <-c.group.ctx.Done():
				return nil
			}
		}
		if !send(c.group, calls, call{acknowledged}) {
			return nil
		}
		if _, ok := receive(c.group, acknowledged); !ok {
			return nil
		}
	}
}

func (c *clientSide) sendCalls(stream grpc.ClientStream, calls <-chan call, outstanding chan<- []call) error {
	payloads := make([]byte, c.batch*payloadBytes)
	for {
		next, ok := receive(c.group, calls)
		if !ok {
			return nil
		}
		var carried []call
		f, yielded := make([]byte, 0, max(len(payloads), BatchTasks*payloadBytes)), false
		for has := true; has; {
			carried, f = append(carried, next), append(f, payloads...)
			if has = len(carried) < callsPerFrameMax; has {
				next, has = gather(calls, &yielded)
			}
		}
		if !send(c.group, outstanding, carried) {
			return nil
		}
		if err := stream.SendMsg(&frame{f}); err != nil {
			return c.sent("enqueue", err)
		}
	}
}

func (c *clientSide) receiveEnqueued(stream grpc.ClientStream, outstanding <-chan []call) error {
	for {
		var f frame
		if err := stream.RecvMsg(&f); err != nil {
			return c.received("receive acknowledgements", err)
		}
		sequences, err := readReply(f.bytes, kindEnqueued, sequenceBytes)
		if err != nil {
			return err
		}
		carried, ok := receive(c.group, outstanding)
		if !ok {
			return nil
		}
		if got, want := len(sequences)/sequenceBytes, len(carried)*c.batch; got != want {
			return fmt.Errorf("expected %d acknowledgements, got %d", want, got)
		}
		for _, one := range carried {
			// This never blocks, because a producer has only one call in flight.
			one.acknowledged <- struct{}{}
		}
		c.enqueued.Add(int64(len(sequences) / sequenceBytes))
	}
}

// work starts the workers, a goroutine that receives their tasks, and a goroutine that sends their
// completions. Each frame contains all pending completions.
func (c *clientSide) work(stream grpc.ClientStream) {
	credits := workers * c.batch
	// Neither channel is ever full, because the number of credits bounds both.
	claimed, completed := make(chan []byte, credits), make(chan []byte, credits)
	for range workers {
		c.group.run(func() error { return c.worker(claimed, completed) })
	}
	c.group.run(func() error { return c.receiveTasks(stream, claimed) })
	c.group.run(func() error {
		if err := stream.SendMsg(&frame{workFrame(credits, 0)}); err != nil {
			return c.sent("claim tasks", err)
		}
		return c.sendCompleted(stream, completed)
	})
}

func (c *clientSide) worker(claimed <-chan []byte, completed chan<- []byte) error {
	for {
		tasks, ok := receive(c.group, claimed)
		if !ok {
			return nil
		}
		sequences := make([]byte, 0, c.batch*sequenceBytes)
		for ; len(tasks) > 0; tasks = tasks[taskBytes:] {
			sequences = append(sequences, tasks[:sequenceBytes]...)
		}
		if !send(c.group, completed, sequences) {
			return nil
		}
	}
}

// receiveTasks passes tasks to the workers. It also counts the acknowledged completions.
func (c *clientSide) receiveTasks(stream grpc.ClientStream, claimed chan<- []byte) error {
	for {
		var f frame
		if err := stream.RecvMsg(&f); err != nil {
			return c.received("receive tasks", err)
		}
		if len(f.bytes) == 1+countBytes && f.bytes[0] == kindCompleted {
			c.cycles.Add(int64(binary.LittleEndian.Uint32(f.bytes[1:])))
			continue
		}
		tasks, err := readReply(f.bytes, kindTasks, taskBytes)
		if err != nil {
			return err
		}
		for len(tasks) > 0 {
			n := min(len(tasks), c.batch*taskBytes)
			if !send(c.group, claimed, tasks[:n]) {
				return nil
			}
			tasks = tasks[n:]
		}
	}
}

func (c *clientSide) sendCompleted(stream grpc.ClientStream, completed <-chan []byte) error {
	for {
		sequences, ok := receive(c.group, completed)
		if !ok {
			return nil
		}
		f, yielded := workFrame(0, BatchTasks), false
		for has := true; has; {
			f = append(f, sequences...)
			if has = len(f) < completionsPerFrameMax*sequenceBytes; has {
				sequences, has = gather(completed, &yielded)
			}
		}
		// Each completed task returns one credit.
		binary.LittleEndian.PutUint32(f, uint32((len(f)-creditBytes)/sequenceBytes))
		if err := stream.SendMsg(&frame{f}); err != nil {
			return c.sent("complete tasks", err)
		}
	}
}

// received returns the error of a goroutine whose receive failed because its stream has ended. It
// returns nil if the load was stopped.
func (c *clientSide) received(doing string, err error) error {
	select {
	case <-c.group.ctx.Done():
		return nil
	default:
		return fmt.Errorf("%s: %w", doing, err)
	}
}

// sent returns the error of a goroutine whose send failed because its stream has ended. It returns
// nil if the load was stopped, or if the goroutine that receives from the stream returns the
// reason.
func (c *clientSide) sent(doing string, err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return c.received(doing, err)
}
