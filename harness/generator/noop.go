package generator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/harness/load"
)

// NoopSpec defines a load of no-op requests. A server that is built with the tag serialbudget
// treats an empty frame of the stream Produce as a no-op request: the request passes through the
// server's pipeline, and the server stores nothing.
type NoopSpec struct {
	Target      Target `json:"target"`
	Connections int    `json:"connections"` // each connection has one stream
	InFlight    int    `json:"in_flight"`   // unanswered requests per stream
}

// NoopInFlightMax is the number of unanswered requests that a server accepts on one stream.
const NoopInFlightMax = 256

const noopTenant = "serial"

type noopArguments struct {
	Length time.Duration `json:"length_ns"`
	Timed  bool          `json:"timed,omitempty"`
}

// NoopSlice is the result of a slice of no-op requests.
type NoopSlice struct {
	Requests uint64        `json:"requests"` // number of answered requests
	Took     time.Duration `json:"took_ns"`  // time until no request was in flight
	// longest response time; only in timed slices
	Longest time.Duration `json:"longest_ns,omitempty"`
}

// StartNoops starts a generator of no-op requests whose GOMAXPROCS is procs. It returns when each
// stream has received an answer. It returns an error if the server refuses no-op requests. The
// caller must end the generator with Kill.
func StartNoops(ctx context.Context, c Command, procs int, spec NoopSpec) (*Process, error) {
	c.Env = append(slices.Clip(c.Env), "GOMAXPROCS="+strconv.Itoa(procs))
	p, err := StartIdle(c)
	if err != nil {
		return nil, err
	}
	if err := p.call(ctx, openMax, "noop_open", spec, nil); err != nil {
		return nil, errors.Join(err, p.Kill())
	}
	return p, nil
}

// Noops sends no-op requests in a closed loop for the given time, at most load.SliceMax. It returns
// when no request is in flight. If timed is true, the generator measures the response time of each
// request, which costs CPU time.
func (p *Process) Noops(ctx context.Context, length time.Duration, timed bool) (s NoopSlice, err error) {
	err = p.call(ctx, length+load.SliceDrainMax, "noop_slice", noopArguments{length, timed}, &s)
	return s, err
}

type noopLoad struct {
	streams []*noopStream
	clients []*client.Client
	cancel  context.CancelFunc
	reading sync.WaitGroup
}

// noopOpen opens the connections and streams. It waits for one answer on each stream.
func (s *session) noopOpen(_ context.Context, spec NoopSpec) (none, error) {
	switch {
	case s.noops != nil:
		return none{}, errors.New("the load is already open")
	case spec.Connections < 1:
		return none{}, fmt.Errorf("connections is %d; it must be at least 1", spec.Connections)
	case spec.InFlight < 1 || spec.InFlight > NoopInFlightMax:
		return none{}, fmt.Errorf("in_flight is %d; it must be 1 to %d", spec.InFlight, NoopInFlightMax)
	}
	ctx, cancel := context.WithCancel(s.ctx)
	l := &noopLoad{cancel: cancel}
	for range spec.Connections {
		if err := l.open(ctx, spec); err != nil {
			return none{}, errors.Join(err, l.close())
		}
	}
	s.noops = l
	return none{}, nil
}

func (l *noopLoad) open(ctx context.Context, spec NoopSpec) error {
	c, err := spec.Target.driver().Dial()
	if err != nil {
		return err
	}
	l.clients = append(l.clients, c)
	stream, err := c.API().Produce(ctx)
	if err != nil {
		return fmt.Errorf("open a stream: %w", err)
	}
	n := &noopStream{ctx: ctx, stream: stream, inFlight: spec.InFlight, answers: make(chan noopAnswers, spec.InFlight), sentAt: make([]atomic.Int64, spec.InFlight)}
	n.frame.Tenant = noopTenant
	l.streams = append(l.streams, n)
	l.reading.Go(n.receive)
	if err := n.send(); err != nil {
		return err
	}
	return n.drain(nil)
}

func (l *noopLoad) close() error {
	l.cancel()
	var errs []error
	for _, c := range l.clients {
		errs = append(errs, c.Close())
	}
	l.reading.Wait()
	return errors.Join(errs...)
}

func (s *session) noopSlice(_ context.Context, a noopArguments) (done NoopSlice, err error) {
	switch {
	case s.noops == nil:
		return done, errors.New("no load is open; send noop_open first")
	case a.Length <= 0 || a.Length > load.SliceMax:
		return done, fmt.Errorf("a slice of %v; it must be above 0 and at most %v", a.Length, load.SliceMax)
	}
	var over atomic.Bool
	began := time.Now()
	defer time.AfterFunc(a.Length, func() { over.Store(true) }).Stop()
	parts := make([]NoopSlice, len(s.noops.streams))
	errs := make([]error, len(s.noops.streams))
	var all sync.WaitGroup
	for i, n := range s.noops.streams {
		all.Go(func() { errs[i] = n.slice(&over, a.Timed, &parts[i]) })
	}
	all.Wait()
	done.Took = time.Since(began)
	for _, slice := range parts {
		done.Requests += slice.Requests
		done.Longest = max(done.Longest, slice.Longest)
	}
	return done, errors.Join(errs...)
}

// noopStream is a stream of no-op requests. One goroutine sends requests, and another one receives
// answers.
type noopStream struct {
	ctx         context.Context
	stream      grpc.BidiStreamingClient[queuepb.ProduceRequest, queuepb.ProduceResponse]
	inFlight    int
	frame       queuepb.ProduceRequest // used only by the sending goroutine
	outstanding int                    // unanswered requests; used only by the sending goroutine
	answers     chan noopAnswers
	timed       atomic.Bool
	// sentAt contains the times when the requests of timed slices were sent. The index is the
	// number of the request modulo the length of sentAt.
	sentAt []atomic.Int64
}

// noopAnswers describes the answers in one message, or the reason why the stream ended.
type noopAnswers struct {
	count   int
	longest time.Duration // longest response time of timed requests
	err     error
}

// slice sends requests until over is set. It returns when all requests are answered.
func (n *noopStream) slice(over *atomic.Bool, timed bool, into *NoopSlice) error {
	n.timed.Store(timed)
	for !over.Load() {
		if n.outstanding == n.inFlight {
			if err := n.wait(into); err != nil {
				return err
			}
		}
		if err := n.send(); err != nil {
			return err
		}
		into.Requests++
	}
	return n.drain(into)
}

func (n *noopStream) send() error {
	n.frame.Frame++
	if n.timed.Load() {
		n.sentAt[n.frame.Frame%uint64(n.inFlight)].Store(time.Now().UnixNano())
	}
	n.outstanding++
	if err := n.stream.Send(&n.frame); err != nil {
		return n.drain(nil) // the receiving goroutine knows the reason
	}
	return nil
}

func (n *noopStream) wait(into *NoopSlice) error {
	timer := time.NewTimer(load.SliceDrainMax)
	defer timer.Stop()
	select {
	case a := <-n.answers:
		if a.err != nil {
			return cmp.Or(n.ctx.Err(), a.err)
		}
		n.outstanding -= a.count
		if into != nil {
			into.Longest = max(into.Longest, a.longest)
		}
		return nil
	case <-timer.C:
		return fmt.Errorf("%d no-op requests had no answer for %v", n.outstanding, load.SliceDrainMax)
	case <-n.ctx.Done():
		return n.ctx.Err()
	}
}

func (n *noopStream) drain(into *NoopSlice) error {
	for n.outstanding > 0 {
		if err := n.wait(into); err != nil {
			return err
		}
	}
	return nil
}

// receive passes the answers to the sending goroutine until the stream ends.
func (n *noopStream) receive() {
	for {
		in, err := n.stream.Recv()
		a := noopAnswers{count: len(in.GetAnswers())}
		switch {
		case status.Code(err) == codes.InvalidArgument:
			a.err = fmt.Errorf("the server refuses no-op requests: build it with the tag serialbudget: %w", err)
		case err != nil:
			a.err = fmt.Errorf("no-op requests: %w", err)
		case n.timed.Load():
			now := time.Now().UnixNano()
			for _, answer := range in.GetAnswers() {
				a.longest = max(a.longest, time.Duration(now-n.sentAt[answer.GetFrame()%uint64(n.inFlight)].Load()))
			}
		}
		select {
		case n.answers <- a:
		case <-n.ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}
