package rpc

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/internal/planted"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/wire"
)

// creditsMax is how many tasks a work stream may have granted credits for that were not sent yet. It
// bounds the outbox of a stream whose client does not read.
const creditsMax = 1 << 16

// messageBytesMax is about how large a message becomes before the next item goes into another one:
// well below the 4 MiB that is the default limit of a gRPC client.
const messageBytesMax = 1 << 20

// Work implements the stream. The handler's goroutine sends; a second one receives.
func (s *Service) Work(stream grpc.BidiStreamingServer[queuepb.WorkRequest, queuepb.WorkResponse]) error {
	if _, err := call.Allowed(stream.Context(), access.Work); err != nil {
		return call.Status(err)
	}
	if err := s.leadsNothing(); err != nil {
		return s.refuse(err)
	}
	w := &workStream{
		service: s, stream: stream, out: newOutbox[workItem](),
		inFlight: newInFlight(framesMax), received: make(chan error, 1), failed: make(chan error, 1),
		sentBytes: make([]int64, s.shards.Len()), ending: make(chan struct{}), link: call.LinkOf(stream.Context()),
	}
	go func() { w.received <- w.receive() }()
	err := w.send()
	w.ended.Store(true)
	w.holdsNothing()
	return err
}

type workStream struct {
	service   *Service
	stream    grpc.BidiStreamingServer[queuepb.WorkRequest, queuepb.WorkResponse]
	out       *outbox[workItem]
	inFlight  *inFlight    // frames of settlements that were read and not answered
	received  chan error   // why receive ended
	failed    chan error   // why the subscription ended
	credits   atomic.Int64 // granted, and not used by a task that was sent
	sub       atomic.Pointer[shard.GroupSubscription]
	sentBytes []int64 // by shard: payload bytes that were sent and not reported to it yet; owned by the sending goroutine
	link      call.Link
	held      atomic.Int64 // bytes of items in out
	ended     atomic.Bool
	ending    chan struct{} // closed once no further frame is to be read
}

// workItem is a pushed task, or an answer to settlements.
type workItem struct {
	task   *queuepb.Task
	shard  uint16 // of the task
	answer *queuepb.SettleAnswer
}

// bytes is about how large the item is as a message.
func (it *workItem) bytes() int {
	if it.answer != nil {
		return call.ItemBytes + errorBytes(it.answer.GetErrors())
	}
	return call.ItemBytes + len(it.task.GetPayload()) + len(it.task.GetQueue()) + len(it.task.GetTenant()) + len(it.task.GetLastError())
}

// writtenLeast returns a number of bytes that the item has at least in an encoded message. The connection subtracts what it writes from
// the bytes that wait to be written: if an item counted more than it writes, a busy connection would seem unread ever more, until the
// server cuts it.
func (it *workItem) writtenLeast() (n int) {
	if it.answer == nil {
		return len(it.task.GetId()) + len(it.task.GetPayload()) + len(it.task.GetQueue()) + len(it.task.GetTenant()) + len(it.task.GetLastError())
	}
	for _, e := range it.answer.GetErrors() {
		n += len(e.GetMessage())
	}
	return n
}

func errorBytes(errs []*queuepb.ItemError) (n int) {
	for _, e := range errs {
		n += call.ItemBytes + len(e.GetMessage())
	}
	return n
}

func (w *workStream) receive() error {
	in := &queuepb.WorkRequest{}
	if err := w.stream.RecvMsg(in); err != nil {
		return endOfStream(err)
	}
	open := in.GetOpen()
	if open == nil {
		return call.Status(&queue.FieldError{Field: "open", Problem: "is missing from the stream's first frame: say what to work on"})
	}
	claim, err := w.service.claim(w.stream.Context(), open.GetTenant(), open.GetQueues(), open.GetWeights(), open.GetLeaseMs())
	if err != nil {
		return call.Status(err)
	}
	claim.BytesMax = w.service.streamBytes()
	sub, err := w.service.shards.Subscribe(claim, w.deliver, w.fail)
	if err != nil {
		return w.service.refuse(err)
	}
	w.sub.Store(sub)
	defer func() { // tasks that were granted before are delivered before received says that the client ended
		closed := make(chan struct{})
		sub.Close(func() { close(closed) })
		select {
		case <-closed:
		case <-w.stream.Context().Done(): // the client is gone
		}
	}()
	for {
		planted.Frame()
		if err := w.frame(claim.Tenant, sub, in); err != nil {
			return err
		}
		wire.RecycleWorkRequest(in) // the shards have copied the settlements
		if err := w.stream.RecvMsg(in); err != nil {
			return endOfStream(err)
		}
		if err := w.hold(); err != nil {
			return err
		}
	}
}

// hold keeps the stream from reading further frames once it ends.
func (w *workStream) hold() error {
	select {
	case <-w.ending:
		<-w.stream.Context().Done()
		return w.stream.Context().Err()
	default:
		return w.service.holdWhenStopping(w.stream.Context())
	}
}

func endOfStream(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (w *workStream) frame(tenant string, sub *shard.GroupSubscription, in *queuepb.WorkRequest) error {
	if n := int64(in.GetCredits()); n > 0 {
		if w.credits.Add(n) > creditsMax {
			return call.Status(&queue.FieldError{Field: "credits", Problem: fmt.Sprintf("add up to more than %d", creditsMax)})
		}
		if err := sub.Credit(int(n)); call.IsMisrouted(err) {
			w.fail(err) // the settlements of the frame are answered all the same
		} else if err != nil {
			return w.service.refuse(err)
		}
	}
	if len(in.GetSettlements()) == 0 {
		return nil
	}
	if err := w.service.limits.CheckBatch("settlements", len(in.GetSettlements())); err != nil {
		return call.Status(err)
	}
	if !w.inFlight.acquire(w.stream.Context()) {
		<-w.stream.Context().Done()
		return w.stream.Context().Err()
	}
	w.settle(tenant, in)
	return nil
}

func (w *workStream) settle(tenant string, in *queuepb.WorkRequest) {
	ts, errs := settlements(w.service, in.GetSettlements(), streamSettlement)
	a := &queuepb.SettleAnswer{Frame: in.GetFrame(), Errors: errs}
	if len(ts.Items) == 0 {
		w.out.put(workItem{answer: a})
		return
	}
	refuse := func(err error) {
		for i := range ts.Items {
			a.Errors = append(a.Errors, w.service.refuseItem(ts.Place(i), err))
		}
		w.out.put(workItem{answer: a})
	}
	err := w.service.shards.Settle(tenant, ts.Items, func(outcomes []error, err error) {
		if call.IsMisrouted(err) || errors.Is(err, shard.ErrUnknownOutcome) {
			refuse(err)
			return
		}
		if err != nil {
			w.fail(err)
			return
		}
		a.Errors = route.AppendSettleErrors(w.service.router.Cluster(), a.Errors, outcomes, ts)
		w.out.put(workItem{answer: a})
	})
	if err != nil {
		refuse(err)
	}
}

// fail ends the stream. Frames under way get no answer, since their outcome is unknown, unless the reason is that this node leads other
// shards than before. The first reason counts.
func (w *workStream) fail(err error) {
	select {
	case w.failed <- err:
	default:
	}
}

// deliver is called by the shards.
func (w *workStream) deliver(shard uint16, deliveries []queue.Delivery) {
	if w.ended.Load() {
		return // the leases expire in their time
	}
	items := make([]workItem, len(deliveries))
	for i, t := range leasedTasks(shard, deliveries) {
		items[i].task, items[i].shard = t, shard
	}
	var bytes int64
	for i := range items {
		bytes += int64(items[i].bytes())
	}
	w.out.put(items...)
	w.holds(bytes)
	if w.ended.Load() { // the stream ended meanwhile
		w.holdsNothing()
	}
}

// holdsNothing records that no bytes wait to be sent any more.
func (w *workStream) holdsNothing() { w.link.Holds(-int(w.held.Swap(0))) }

// holds adds a number of bytes, which may be negative, to the number of bytes that wait to be sent.
func (w *workStream) holds(bytes int64) {
	w.held.Add(bytes)
	w.link.Holds(int(bytes))
}

// send sends until the client ended its side and all is answered and delivered, or the server stops and all is answered,
// or this node leads other shards than before and all that it owes is out.
func (w *workStream) send() error {
	var items []workItem
	received, stopping := w.received, w.service.stopping
	var ended error
	var closing chan struct{} // not nil from the loss of leadership until the subscription is closed
	for {
		over := received == nil || ended != nil && stopping != nil
		if closing == nil && (stopping == nil || over && w.out.empty()) && w.inFlight.close() {
			return ended
		}
		select {
		case <-w.out.wake:
			runtime.Gosched() // let items that are about to come go out in the same message
			items = w.out.take(items[:0])
			if err := w.sendItems(items); err != nil {
				return err
			}
			clear(items)
		case err := <-received:
			if err != nil {
				return err
			}
			received = nil
		case err := <-w.failed:
			if errors.Is(err, shard.ErrUnknownOutcome) { // of leases that were under way: they may stand until they expire
				err = shard.ErrNotLeader
			}
			if !call.IsMisrouted(err) {
				return w.service.refuse(err)
			}
			if ended == nil {
				ended, closing = w.service.refuse(err), w.unsubscribe()
			}
		case <-closing:
			closing = nil
		case <-w.stream.Context().Done(): // also if receive has ended and a shard does not answer
			return w.stream.Context().Err()
		case <-stopping:
			stopping, ended = nil, w.service.refuse(shard.ErrClosed)
		}
	}
}

// unsubscribe ends the subscription before the stream's end, and the reading of frames. What it returns is closed once
// all that was leased to it is delivered.
func (w *workStream) unsubscribe() chan struct{} {
	close(w.ending)
	closed := make(chan struct{})
	if sub := w.sub.Load(); sub != nil {
		sub.Close(func() { close(closed) })
	} else {
		close(closed)
	}
	return closed
}

// sendItems sends items in as few messages as their size allows.
func (w *workStream) sendItems(items []workItem) error {
	out := &queuepb.WorkResponse{}
	bytes, written, tasksBytes := 0, 0, int64(0)
	for i, it := range items {
		if it.answer != nil {
			out.Answers = append(out.Answers, it.answer)
		} else {
			if out.Tasks == nil {
				out.Tasks = make([]*queuepb.Task, 0, len(items)-i)
			}
			out.Tasks = append(out.Tasks, it.task)
			w.sentBytes[it.shard] += int64(len(it.task.GetPayload()))
		}
		n := it.bytes()
		if it.task != nil {
			tasksBytes += int64(n)
		}
		bytes += n
		written += it.writtenLeast()
		if bytes >= messageBytesMax || i == len(items)-1 {
			if len(out.GetTasks()) > 0 {
				w.credits.Add(-int64(len(out.GetTasks())))
				out.NowMs = w.service.shards.NowMs()
			}
			w.link.Answers(written)
			if err := w.stream.Send(out); err != nil {
				return err
			}
			w.holds(-tasksBytes)
			for range out.GetAnswers() {
				w.inFlight.release()
			}
			if err := w.reportSent(); err != nil {
				return err
			}
			out, bytes, written, tasksBytes = &queuepb.WorkResponse{}, 0, 0, 0
		}
	}
	return nil
}

// reportSent reports the sent bytes to the shards, so that they deliver more tasks.
func (w *workStream) reportSent() error {
	sub := w.sub.Load()
	if sub == nil {
		return nil
	}
	for i, sent := range w.sentBytes {
		if sent < sentBytesMin/int64(len(w.sentBytes)) {
			continue
		}
		w.sentBytes[i] = 0
		if err := sub.Sent(uint16(i), sent); call.IsMisrouted(err) {
			w.fail(err)
		} else if err != nil {
			return w.service.refuse(err)
		}
	}
	return nil
}

const (
	streamBytesMax = 8 << 20
	// streamBytesMin is more than a stream sends before it reports that to the shards, so that a stream that is read never stops.
	streamBytesMin = sentBytesMin + sentBytesMin/2
)

// sentBytesMin is how many bytes of payloads are sent before the stream reports them to the shards: often enough that a stream with
// room is never held up, seldom enough to cost nothing. Each shard has its even part of it.
const sentBytesMin = 1 << 20

// streamBytes is approximately how many bytes of payloads the shards deliver to a work stream before it reports that it sent
// some.
func (s *Service) streamBytes() int64 {
	return max(streamBytesMin, min(streamBytesMax, s.bounds.Shares().OutboxBytes/8))
}
