package rpc

import (
	"errors"
	"io"
	"runtime"
	"slices"

	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/internal/serialbudget"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/wire"
)

// framesMax limits the number of unanswered frames of one stream. At the limit the server stops
// reading, and flow control then stops the client.
const framesMax = 256

// Produce implements queuepb.QueueServiceServer. The handler's goroutine sends; a second goroutine
// receives.
func (s *Service) Produce(stream grpc.BidiStreamingServer[queuepb.ProduceRequest, queuepb.ProduceResponse]) error {
	if _, err := call.Allowed(stream.Context(), access.Produce); err != nil {
		return call.Status(err)
	}
	if err := s.leadsNothing(); err != nil {
		return s.refuse(err)
	}
	p := &produceStream{
		service: s, stream: stream, out: newOutbox[produceItem](),
		inFlight: newInFlight(framesMax), received: make(chan error, 1), failed: make(chan error, 1), lost: make(chan error, 1),
	}
	go func() { p.received <- p.receive() }()
	return p.send()
}

type produceStream struct {
	service  *Service
	stream   grpc.BidiStreamingServer[queuepb.ProduceRequest, queuepb.ProduceResponse]
	out      *outbox[produceItem]
	inFlight *inFlight  // frames read but not answered
	received chan error // receives the reason why receive ended
	failed   chan error // receives the error of a commit
	message  wire.Frame // used by the sending goroutine
	lost     chan error // receives the error once this node no longer leads any shard
}

type produceItem struct {
	answer *queuepb.EnqueueAnswer // nil if all tasks were accepted and none was a duplicate
	// If answer is nil, these are the number of the frame and its accepted tasks.
	frame    uint64
	accepted []queue.Enqueued
}

func (it *produceItem) bytes() int {
	if it.answer == nil {
		return call.ItemBytes + len(it.accepted)*(queue.IDLen+2)
	}
	a := it.answer
	return call.ItemBytes + len(a.GetIds())*(queue.IDLen+2) + len(a.GetDuplicates())*2 + errorBytes(a.GetErrors())
}

// receive reads frames until an error occurs or the client closes its side; it then returns nil.
func (p *produceStream) receive() error {
	var tenant string
	var in queuepb.ProduceRequest
	for {
		err := p.stream.RecvMsg(&in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := p.service.holdWhenStopping(p.stream.Context()); err != nil {
			return err
		}
		if tenant == "" {
			if tenant, err = call.Tenant(p.stream.Context(), access.Produce, in.GetTenant()); err != nil {
				return call.Status(err)
			}
		}
		noop := serialbudget.Enabled && len(in.GetTasks()) == 0
		if !noop {
			if err := p.service.limits.CheckBatch("tasks", len(in.GetTasks())); err != nil {
				return call.Status(err)
			}
		}
		// If the limit is closed, the stream is ending and must not execute this frame.
		if !p.inFlight.acquire(p.stream.Context()) {
			<-p.stream.Context().Done()
			return p.stream.Context().Err()
		}
		if noop {
			p.noop(in.GetFrame())
			continue
		}
		if !p.enqueue(tenant, &in) {
			<-p.stream.Context().Done()
			return p.stream.Context().Err()
		}
		wire.RecycleProduceRequest(&in) // the shards have copied the tasks
	}
}

// enqueue passes a frame to the shards; their reply answers the frame. It returns false once this
// node leads no shard.
func (p *produceStream) enqueue(tenant string, in *queuepb.ProduceRequest) bool {
	err := p.service.takeEnqueues(p.stream.Context(), tenant, in.GetTasks())
	if err != nil { // refuse only this frame; the stream continues
		a := &queuepb.EnqueueAnswer{Frame: in.GetFrame(), Ids: make([]string, len(in.GetTasks()))}
		for i := range in.GetTasks() {
			a.Errors = append(a.Errors, call.ItemError(i, err))
		}
		p.answer(a)
		return true
	}
	tasks, errs := p.service.newTasks(tenant, in.GetTasks())
	frame, n := in.GetFrame(), len(in.GetTasks()) // the message is recycled before the answer
	if len(tasks.Items) == 0 {
		p.answer(&queuepb.EnqueueAnswer{Frame: frame, Ids: make([]string, n), Errors: errs})
		return true
	}
	refuse := func(err error) {
		for i := range tasks.Items {
			errs = append(errs, p.service.refuseItem(tasks.Place(i), err))
		}
		p.answer(&queuepb.EnqueueAnswer{Frame: frame, Ids: make([]string, n), Errors: errs})
	}
	err = p.service.shards.Enqueue(tenant, tasks.Items, func(results []queue.Enqueued, err error) {
		p.service.returnEnqueues(tenant, len(tasks.Items), results, err)
		if call.IsMisrouted(err) || errors.Is(err, shard.ErrUnknownOutcome) {
			refuse(err)
			return
		}
		if err != nil { // the outcome is unknown: end the stream without an answer
			select {
			case p.failed <- err:
			default:
			}
			return
		}
		if len(results) == n && !slices.ContainsFunc(results, unusual) {
			p.out.put(produceItem{frame: frame, accepted: results})
		} else {
			p.answer(p.service.enqueueAnswer(frame, n, errs, results, tasks))
			shard.RecycleEnqueued(results)
		}
		spareTasks.Give(tasks.Items)
	})
	if err != nil {
		p.service.returnEnqueues(tenant, len(tasks.Items), nil, err)
		refuse(err)
	}
	if !call.IsMisrouted(err) {
		return true
	}
	p.lost <- err // enqueue reports this only once, since receive then stops
	return false
}

func unusual(e queue.Enqueued) bool { return e.Err != nil || e.Duplicate }

// enqueueAnswer returns the answer to a frame of n tasks. errs has the errors of the invalid tasks;
// results has the results of the valid ones.
func (s *Service) enqueueAnswer(frame uint64, n int, errs []*queuepb.ItemError, results []queue.Enqueued, tasks call.Part[queue.NewTask]) *queuepb.EnqueueAnswer {
	a := &queuepb.EnqueueAnswer{Frame: frame, Ids: make([]string, n), Errors: errs}
	writeIDs(results, tasks, a.Ids)
	for i := range results {
		if results[i].Duplicate {
			a.Duplicates = append(a.Duplicates, uint32(tasks.Place(i)))
		}
	}
	a.Errors = s.appendEnqueueErrors(a.Errors, results, tasks)
	return a
}

func (p *produceStream) answer(a *queuepb.EnqueueAnswer) { p.out.put(produceItem{answer: a}) }

// send sends answers until the server stops, or until the client has closed its side and all frames
// are answered.
func (p *produceStream) send() error {
	var answers []produceItem
	received, stopping := p.received, p.service.stopping
	var ended error
	for {
		if (received == nil || stopping == nil) && p.inFlight.close() {
			return ended
		}
		select {
		case <-p.out.wake:
			runtime.Gosched() // answers that arrive at this moment can join the same message
			answers = p.out.take(answers[:0])
			if len(answers) == 0 {
				continue
			}
			if err := p.sendAnswers(answers); err != nil {
				return err
			}
			clear(answers)
		case err := <-received:
			if err != nil {
				return err
			}
			received = nil
		case err := <-p.failed:
			return p.service.refuse(err)
		case err := <-p.lost:
			stopping, ended = nil, p.service.refuse(err)
		// A receive that has ended may leave a frame that a shard does not answer.
		case <-p.stream.Context().Done():
			return p.stream.Context().Err()
		case <-stopping:
			stopping, ended = nil, p.service.stopped()
		}
	}
}

// sendAnswers combines answers into as few messages as their size allows and sends them.
func (p *produceStream) sendAnswers(answers []produceItem) error {
	left := 0
	for i := range answers {
		left += answers[i].bytes()
	}
	bytes, inMessage := 0, 0
	for i := range answers {
		it := &answers[i]
		n := it.bytes()
		if inMessage == 0 {
			p.message.Expect(min(left, messageBytesMax+n))
		}
		bytes += n
		left -= n
		inMessage++
		if it.answer == nil {
			encodeIDs(&p.message, it.frame, it.accepted)
			shard.RecycleEnqueued(it.accepted)
		} else if err := p.message.Message(wire.ProduceResponseAnswers, it.answer); err != nil {
			return err
		} else {
			p.message.Refused = append(p.message.Refused, it.answer.GetErrors()...)
		}
		if bytes < messageBytesMax && i < len(answers)-1 {
			continue
		}
		if err := p.stream.SendMsg(&p.message); err != nil {
			return err
		}
		for range inMessage {
			p.inFlight.release()
		}
		bytes, inMessage = 0, 0
	}
	return nil
}
