package rpc

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/wire"
)

// creditsMax limits a work stream's credits for tasks that were not sent yet. It thus limits the
// outbox of a stream whose client does not read.
const creditsMax = 1 << 16

// messageBytesMax is the approximate size in bytes of a full message. The stream sends a full
// message and starts another one. It is well below 4 MiB, the default limit of a gRPC client.
const messageBytesMax = 1 << 20

// cancelledMax limits the cancelled leases that wait to be sent on a work stream. The stream drops
// further ones: the client learns of them when it settles or extends the lease.
const cancelledMax = 4_096

// Work implements queuepb.QueueServiceServer. The handler's goroutine sends; a second goroutine
// receives.
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
	inFlight *inFlight    // counts frames of settlements that were read but not answered
	received chan error   // receives the reason why receive ended
	failed   chan error   // receives the reason why the subscription ended
	credits  atomic.Int64 // number of granted credits for which no task was sent yet
	sub      atomic.Pointer[shard.GroupSubscription]
	// sentBytes has for each shard the payload bytes that were sent but not yet reported to the
	// shard. The sending goroutine owns it.
	sentBytes []int64
	link      call.Link
	message   workMessage  // used by the sending goroutine
	held      atomic.Int64 // total bytes of the tasks and cancelled leases in out
	cancelled atomic.Int32 // number of cancelled leases in out
	ended     atomic.Bool
	ending    chan struct{} // closed once no further frame may be read
}

// workItem contains either tasks that a shard has leased, or an answer to settlements, or a lease
// whose task was cancelled.
type workItem struct {
	tasks     []queue.Delivery
	shard     uint16 // the shard that leased the tasks
	bytes     int32  // approximate size of the item in a message
	answer    *queuepb.SettleAnswer
	cancelled *queuepb.CancelledLease
}

func answerItem(a *queuepb.SettleAnswer) workItem {
	return workItem{answer: a, bytes: int32(call.ItemBytes + errorBytes(a.GetErrors()))}
}

// taskBytes returns the approximate size of a leased task in a message, in bytes.
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
	sub, err := w.service.shards.Subscribe(claim, w.deliver, w.fail, w.cancel)
	if err != nil {
		return w.service.refuse(err)
	}
	w.sub.Store(sub)
	defer func() { // deliver all granted tasks before received reports that the client has ended
		closed := make(chan struct{})
		sub.Close(func() { close(closed) })
		select {
		case <-closed:
		case <-w.stream.Context().Done(): // the client has disconnected
		}
	}()
	for {
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

// hold prevents the stream from reading further frames once it is ending.
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
			w.fail(err) // the settlements in this frame are still answered
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

// fail ends the stream with a reason; only the first reason is used. Unanswered frames get no
// answer, since their outcome is unknown. The exception is an error which means that this node
// leads other shards than before: send then answers all frames first.
func (w *workStream) fail(err error) {
	select {
	case w.failed <- err:
	default:
	}
}

// deliver adds tasks that a shard has leased to the outbox. The shards call it.
func (w *workStream) deliver(shard uint16, deliveries []queue.Delivery) {
	bytes := 0
	for i := range deliveries {
		bytes += taskBytes(&deliveries[i])
	}
	w.push(workItem{tasks: deliveries, shard: shard, bytes: int32(bytes)})
}

// cancel adds a lease whose task was cancelled to the outbox, if there is room. The shards call it.
func (w *workStream) cancel(shard uint16, ref queue.Ref, token uint64) {
	if w.cancelled.Add(1) > cancelledMax {
		w.cancelled.Add(-1)
		return
	}
	id := queue.ID{Shard: shard, Ref: ref}.String()
	w.push(workItem{cancelled: &queuepb.CancelledLease{Id: id, Token: token}, bytes: int32(call.ItemBytes + len(id))})
}

// push adds an item of a shard to the outbox.
func (w *workStream) push(it workItem) {
	if w.ended.Load() {
		return // the leases expire
	}
	w.out.put(it)
	w.holds(int64(it.bytes))
	if w.ended.Load() { // the stream may have ended after the check above
		w.holdsNothing()
	}
}

func (w *workStream) holdsNothing() { w.link.Holds(-int(w.held.Swap(0))) }

// holds adds bytes to the number of bytes that wait to be sent. bytes may be negative.
func (w *workStream) holds(bytes int64) {
	w.held.Add(bytes)
	w.link.Holds(int(bytes))
}

// send sends answers and tasks until one of three conditions is met. Either the client has closed
// its side, and everything is answered and delivered. Or the server is stopping, and everything is
// answered. Or this node leads other shards than before, and everything is sent that it must still
// send.
func (w *workStream) send() error {
	var items []workItem
	received, stopping := w.received, w.service.stopping
	var ended error
	// closing is non-nil from the loss of leadership until the subscription is closed.
	var closing chan struct{}
	for {
		over := received == nil || ended != nil && stopping != nil
		if closing == nil && (stopping == nil || over && w.out.empty()) && w.inFlight.close() {
			return ended
		}
		select {
		case <-w.out.wake:
			runtime.Gosched() // items that arrive at this moment can join the same message
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
			// It is unknown whether some tasks were leased. If they were, their leases last until
			// they expire.
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
		// A receive that has ended may leave a frame that a shard does not answer.
		case <-w.stream.Context().Done():
			return w.stream.Context().Err()
		case <-stopping:
			stopping, ended = nil, w.service.stopped()
		}
	}
}

// unsubscribe ends the subscription before the stream ends, and stops the reading of frames. It
// returns a channel that is closed once all tasks leased to the subscription are delivered.
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

// workMessage collects items for one message.
type workMessage struct {
	encoder   taskEncoder
	frame     wire.Frame
	tasks     int
	heldBytes int64 // approximate bytes of the tasks and cancelled leases
	bytes     int   // approximate size of the message in bytes
	answers   []*queuepb.SettleAnswer
}

// sendItems combines items into as few messages as their size allows and sends them.
func (w *workStream) sendItems(items []workItem) error {
	m, left := &w.message, 0 // left is the approximate number of bytes still to send
	for i := range items {
		left += int(items[i].bytes)
	}
	for i := range items {
		it := &items[i]
		if it.answer != nil {
			m.answers = append(m.answers, it.answer)
			m.bytes += int(it.bytes)
			left -= int(it.bytes)
			if err := w.sendFull(); err != nil {
				return err
			}
			continue
		}
		if it.cancelled != nil {
			w.cancelled.Add(-1)
			if err := m.frame.Message(wire.WorkResponseCancelled, it.cancelled); err != nil {
				return err
			}
			m.heldBytes += int64(it.bytes)
			m.bytes += int(it.bytes)
			left -= int(it.bytes)
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
			m.heldBytes += int64(n)
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
	// The connection subtracts the bytes that it writes from the number of bytes that wait to be
	// written. If this call added more bytes than the message has, the difference would accumulate
	// on a busy connection, until the server closes the connection as unread.
	w.link.Answers(m.frame.Len())
	if err := w.stream.SendMsg(&m.frame); err != nil {
		return err
	}
	w.holds(-m.heldBytes)
	for range m.answers {
		w.inFlight.release()
	}
	clear(m.answers)
	m.answers = m.answers[:0]
	m.tasks, m.heldBytes, m.bytes = 0, 0, 0
	return w.reportSent()
}

// reportSent reports the sent bytes to the shards. The shards can then deliver more tasks.
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
	// streamBytesMin exceeds the number of bytes that a stream sends before it reports them to the
	// shards. A stream whose client reads therefore never stops.
	streamBytesMin = sentBytesMin + sentBytesMin/2
)

// sentBytesMin is the number of payload bytes that a stream sends before it reports them to the
// shards. Each shard has an equal part of it. It is small enough never to delay a stream that has
// room, and large enough to make the cost of the reports negligible.
const sentBytesMin = 1 << 20

// streamBytes returns the approximate number of payload bytes that the shards may deliver to a work
// stream before the stream reports that it has sent some of them.
func (s *Service) streamBytes() int64 {
	return max(streamBytesMin, min(streamBytesMax, s.bounds.Shares().OutboxBytes/8))
}
