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

// creditsMax bounds a work stream's credits for tasks that were not sent yet, and with them the
// outbox of a stream whose client does not read.
const creditsMax = 1 << 16

// messageBytesMax is the approximate size at which a message is sent and the next item begins
// another one: well below 4 MiB, the default limit of a gRPC client.
const messageBytesMax = 1 << 20

// Work implements the stream. The handler's goroutine sends; a second goroutine receives.
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
	service  *Service
	stream   grpc.BidiStreamingServer[queuepb.WorkRequest, queuepb.WorkResponse]
	out      *outbox[workItem]
	inFlight *inFlight    // frames of settlements read but not answered
	received chan error   // the reason why receive ended
	failed   chan error   // the reason why the subscription ended
	credits  atomic.Int64 // granted credits without a sent task
	sub      atomic.Pointer[shard.GroupSubscription]
	// Payload bytes sent but not yet reported, by shard; owned by the sending goroutine.
	sentBytes []int64
	link      call.Link
	message   workMessage  // used by the sending goroutine
	held      atomic.Int64 // bytes of items in out
	ended     atomic.Bool
	ending    chan struct{} // closed once no further frame should be read
}

// workItem has tasks leased by a shard, or an answer to settlements.
type workItem struct {
	tasks  []queue.Delivery
	shard  uint16 // of the tasks
	bytes  int    // approximate size as a message
	answer *queuepb.SettleAnswer
}

func answerItem(a *queuepb.SettleAnswer) workItem {
	return workItem{answer: a, bytes: call.ItemBytes + errorBytes(a.GetErrors())}
}

// taskBytes returns the approximate size of a leased task as a message.
func taskBytes(d *queue.Delivery) int {
	return call.ItemBytes + len(d.Payload) + len(d.Queue.Name()) + len(d.Queue.Tenant()) + len(d.LastError)
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
		return call.Status(&queue.FieldError{Field: "open", Problem: "is missing from the stream's first frame: name the queues to work on"})
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
	defer func() { // granted tasks must be delivered before received reports the client's end
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
			w.fail(err) // the settlements of the frame are still answered
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
		w.out.put(answerItem(a))
		return
	}
	refuse := func(err error) {
		for i := range ts.Items {
			a.Errors = append(a.Errors, w.service.refuseItem(ts.Place(i), err))
		}
		w.out.put(answerItem(a))
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
		shard.RecycleOutcomes(outcomes)
		spareSettlements.Give(ts.Items)
		w.out.put(answerItem(a))
	})
	if err != nil {
		refuse(err)
	}
}

// fail ends the stream. Unanswered frames get no answer, since their outcome is unknown, unless the
// reason is that this node leads other shards than before. Only the first reason counts.
func (w *workStream) fail(err error) {
	select {
	case w.failed <- err:
	default:
	}
}

// deliver is called by the shards.
func (w *workStream) deliver(shard uint16, deliveries []queue.Delivery) {
	if w.ended.Load() {
		return // the leases expire
	}
	bytes := 0
	for i := range deliveries {
		bytes += taskBytes(&deliveries[i])
	}
	w.out.put(workItem{tasks: deliveries, shard: shard, bytes: bytes})
	w.holds(int64(bytes))
	if w.ended.Load() { // the stream has ended since the check above
		w.holdsNothing()
	}
}

// holdsNothing records that no bytes wait to be sent.
func (w *workStream) holdsNothing() { w.link.Holds(-int(w.held.Swap(0))) }

// holds adds to the number of bytes that wait to be sent. bytes may be negative.
func (w *workStream) holds(bytes int64) {
	w.held.Add(bytes)
	w.link.Holds(int(bytes))
}

// send sends until the client has closed its side and everything is answered and delivered, or the
// server stops and everything is answered, or this node leads other shards than before and all due
// items are sent.
func (w *workStream) send() error {
	var items []workItem
	received, stopping := w.received, w.service.stopping
	var ended error
	// Non-nil from the loss of leadership until the subscription is closed.
	var closing chan struct{}
	for {
		over := received == nil || ended != nil && stopping != nil
		if closing == nil && (stopping == nil || over && w.out.empty()) && w.inFlight.close() {
			return ended
		}
		select {
		case <-w.out.wake:
			runtime.Gosched() // let items that are about to arrive join the same message
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
			// Leases of unknown outcome, which may last until they expire.
			if errors.Is(err, shard.ErrUnknownOutcome) {
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
		// Covers a receive that has ended while a shard does not answer.
		case <-w.stream.Context().Done():
			return w.stream.Context().Err()
		case <-stopping:
			stopping, ended = nil, w.service.stopped()
		}
	}
}

// unsubscribe ends the subscription before the stream's end, and stops the reading of frames. The
// returned channel is closed once all tasks leased to the subscription are delivered.
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

// workMessage is the message that collects items before it is sent.
type workMessage struct {
	encoder    taskEncoder
	frame      wire.Frame
	tasks      int
	tasksBytes int64 // approximately, of its tasks
	bytes      int   // approximately
	answers    []*queuepb.SettleAnswer
}

// sendItems sends items in as few messages as their size allows.
func (w *workStream) sendItems(items []workItem) error {
	m, left := &w.message, 0 // left: approximate bytes still to send
	for i := range items {
		left += items[i].bytes
	}
	for i := range items {
		it := &items[i]
		if it.answer != nil {
			m.answers = append(m.answers, it.answer)
			m.bytes += it.bytes
			left -= it.bytes
			if err := w.sendFull(); err != nil {
				return err
			}
			continue
		}
		for k := range it.tasks {
			d := &it.tasks[k]
			if m.tasks == 0 {
				m.frame.Expect(min(left, messageBytesMax+taskBytes(d)))
			}
			m.encoder.add(&m.frame, it.shard, d)
			m.tasks++
			w.sentBytes[it.shard] += int64(len(d.Payload))
			n := taskBytes(d)
			m.tasksBytes += int64(n)
			m.bytes += n
			left -= n
			if err := w.sendFull(); err != nil {
				return err
			}
		}
		shard.RecycleDeliveries(it.tasks)
	}
	return w.sendMessage()
}

// sendFull sends the message if it is large enough.
func (w *workStream) sendFull() error {
	if w.message.bytes < messageBytesMax {
		return nil
	}
	return w.sendMessage()
}

func (w *workStream) sendMessage() error {
	m := &w.message
	if m.bytes == 0 {
		return nil
	}
	for _, a := range m.answers {
		if err := m.frame.Message(wire.WorkResponseAnswers, a); err != nil {
			return err
		}
		m.frame.Refused = append(m.frame.Refused, a.GetErrors()...)
	}
	if m.tasks > 0 {
		w.credits.Add(-int64(m.tasks))
		m.frame.Uint(wire.WorkResponseNowMs, uint64(w.service.shards.NowMs()))
	}
	// The connection subtracts the bytes that it writes from those that wait to be written. If a
	// message counted more than it writes, the difference would accumulate on a busy connection
	// until the server cuts it as unread.
	w.link.Answers(m.frame.Len())
	if err := w.stream.SendMsg(&m.frame); err != nil {
		return err
	}
	w.holds(-m.tasksBytes)
	for range m.answers {
		w.inFlight.release()
	}
	clear(m.answers)
	m.answers = m.answers[:0]
	m.tasks, m.tasksBytes, m.bytes = 0, 0, 0
	return w.reportSent()
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
	// streamBytesMin exceeds the bytes that a stream sends before it reports them to the shards, so
	// that a stream that is read never stops.
	streamBytesMin = sentBytesMin + sentBytesMin/2
)

// sentBytesMin is the number of payload bytes that are sent before the stream reports them to the
// shards: small enough never to delay a stream with room, large enough for a negligible cost. Each
// shard has an equal part of it.
const sentBytesMin = 1 << 20

// streamBytes is the approximate number of payload bytes that the shards deliver to a work stream
// before it reports that it has sent some.
func (s *Service) streamBytes() int64 {
	return max(streamBytesMin, min(streamBytesMax, s.bounds.Shares().OutboxBytes/8))
}
