package client

import (
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queuepb"
)

// expiryServer simulates a server whose clock differs from the client's, and a session's slots and
// arrivals on one link to it.
type expiryServer struct {
	r       *rapid.T
	ahead   time.Duration // of the client's clock
	latency time.Duration // maximum from the server to the client
	slots   *slots
	tasks   *arrivals
	link    *workLink
	credits int
	pushed  uint64
	ends    map[uint64]int64 // by token: when an open lease ends, by the server's clock
	held    []*queuepb.Task  // tasks that handlers have received and not settled
	// cancelled has the tokens of cancelled leases; false if the task was not received before.
	cancelled map[uint64]bool
}

func newExpiryServer(r *rapid.T, total int) *expiryServer {
	s := &expiryServer{
		r: r, ends: map[uint64]int64{}, cancelled: map[uint64]bool{}, link: acted(), tasks: &arrivals{max: total}, slots: &slots{total: int32(total), spare: int32(total), reports: true},
		ahead:   time.Duration(rapid.IntRange(-3_600, 3_600).Draw(r, "seconds ahead")) * time.Second,
		latency: time.Duration(rapid.IntRange(0, 50).Draw(r, "latency ms")) * time.Millisecond,
	}
	s.slots.expiry.began, s.slots.expiry.drop = time.Now(), s.tasks.drop
	s.link.slots = s.slots
	s.credits = int(s.slots.admit(s.link, int32(total)))
	return s
}

func (s *expiryServer) nowMs() int64 { return time.Now().Add(s.ahead).UnixMilli() }

// push sends some tasks and waits until they have arrived.
func (s *expiryServer) push() {
	s.grant(false)
	var tasks []*queuepb.Task
	for range min(s.credits, rapid.IntRange(0, 4).Draw(s.r, "tasks")) {
		s.credits--
		s.pushed++
		lease := int64(rapid.IntRange(1, 500).Draw(s.r, "lease ms"))
		t := &queuepb.Task{Id: strconv.FormatUint(s.pushed, 10), Token: s.pushed, LeaseExpiresAtMs: s.nowMs() + lease}
		s.ends[t.GetToken()] = t.GetLeaseExpiresAtMs()
		tasks = append(tasks, t)
	}
	if len(tasks) == 0 {
		return
	}
	sent := s.nowMs()
	time.Sleep(time.Duration(rapid.Int64Range(0, int64(s.latency)).Draw(s.r, "on the way")))
	s.slots.arrived(s.link, tasks, sent)
	require.True(s.r, s.tasks.put(tasks), "the server sends no more tasks than credits")
}

// grant takes the credits that the client grants, in a separate message or, if frame is set, with a
// frame.
func (s *expiryServer) grant(frame bool) {
	b := s.link.batcher
	b.mu.Lock()
	alone := b.extra
	b.extra = false
	b.mu.Unlock()
	if alone || frame {
		s.credits += int(s.link.freed.Swap(0))
	}
}

// settle settles or extends a task of a handler.
func (s *expiryServer) settle() {
	if len(s.held) == 0 {
		return
	}
	s.grant(true)
	i := rapid.IntRange(0, len(s.held)-1).Draw(s.r, "which")
	t := s.held[i]
	how := settling{action: queuepb.SettleAction_SETTLE_ACTION_COMPLETE}
	if rapid.Bool().Draw(s.r, "extends") {
		how = settling{action: queuepb.SettleAction_SETTLE_ACTION_EXTEND, leaseMs: rapid.Uint64Range(1, 500).Draw(s.r, "lease ms")}
	} else {
		s.held = append(s.held[:i:i], s.held[i+1:]...)
	}
	c := &call[*queuepb.Task]{items: []*queuepb.Task{t}, how: how}
	if _, cancelled := s.cancelled[t.GetToken()]; cancelled {
		c.errs = []error{&Error{Code: queuepb.ErrorCode_ERROR_CODE_CANCELLED}}
		s.slots.settled([]*call[*queuepb.Task]{c})
		require.ErrorIs(s.r, c.errs[0], ErrCancelled)
		require.NotErrorIs(s.r, c.errs[0], ErrLeaseExpired)
		return
	}
	overMs := s.nowMs() - s.ends[t.GetToken()]
	switch {
	case overMs >= 0:
		c.errs = []error{&Error{Code: queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN}}
	case how.leaseMs > 0:
		s.ends[t.GetToken()] = s.nowMs() + int64(how.leaseMs)
	default:
		delete(s.ends, t.GetToken())
	}
	s.slots.settled([]*call[*queuepb.Task]{c})
	if overMs < 0 {
		return
	}
	require.ErrorIs(s.r, c.errs[0], ErrStaleToken)
	if overMs > (s.latency + time.Millisecond).Milliseconds() {
		require.ErrorIs(s.r, c.errs[0], ErrLeaseExpired, "the lease ended %d ms ago", overMs)
	}
	if how.leaseMs == 0 {
		delete(s.ends, t.GetToken())
	}
}

// cancel cancels the task of an open lease, and reports it twice, together with an unknown lease.
func (s *expiryServer) cancel() {
	var open []uint64
	for token, ends := range s.ends {
		if ends > s.nowMs() {
			open = append(open, token)
		}
	}
	if len(open) == 0 {
		return
	}
	slices.Sort(open)
	token := rapid.SampledFrom(open).Draw(s.r, "cancelled")
	delete(s.ends, token)
	i := slices.IndexFunc(s.held, func(t *queuepb.Task) bool { return t.GetToken() == token })
	s.cancelled[token] = i >= 0
	before := s.slots.expiry.expired.Load()
	leases := []*queuepb.CancelledLease{{Id: "?", Token: token}, {Id: strconv.FormatUint(token, 10), Token: token}}
	report := s.slots.cancelled(leases)
	if i >= 0 {
		require.Len(s.r, report, 1)
		require.Same(s.r, s.held[i], report[0])
	} else {
		require.Empty(s.r, report)
	}
	require.Empty(s.r, s.slots.cancelled(leases), "it is reported once")
	require.Equal(s.r, before, s.slots.expiry.expired.Load(), "its lease did not expire")
}

func (s *expiryServer) check() {
	s.slots.check(s.r, int(s.slots.total))
	s.slots.leases.mu.Lock()
	defer s.slots.leases.mu.Unlock()
	open := 0
	for token, ends := range s.ends {
		over := time.Duration(s.nowMs()-ends) * time.Millisecond
		held := s.slots.leases.find(strconv.FormatUint(token, 10), token) >= 0
		if over < 0 {
			open++
			require.True(s.r, held, "the client ended the lease %d before the server did", token)
		}
		if over > s.latency+sweepEvery+time.Millisecond {
			require.False(s.r, held, "the lease %d ended %v ago", token, over)
		}
	}
	for token, received := range s.cancelled {
		i := s.slots.leases.find(strconv.FormatUint(token, 10), token)
		require.False(s.r, i >= 0 && !received, "the slot of the unreceived task %d is free", token)
	}
	require.LessOrEqual(s.r, open+s.credits, int(s.slots.total), "open leases and credits")
}

// The client ends leases that are never settled: never before the server does, and soon after,
// whatever the clocks show. It then grants their slots again, Receive does not return their tasks,
// and a late settlement fails with ErrLeaseExpired. A cancelled lease does not count as expired.
func TestHeldLeasesExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ rapid.TB }{t}, func(r *rapid.T) {
			s := newExpiryServer(r, rapid.IntRange(1, 8).Draw(r, "slots"))
			defer s.slots.stopExpiry()
			for range rapid.IntRange(1, 40).Draw(r, "steps") {
				switch rapid.IntRange(0, 4).Draw(r, "step") {
				case 4:
					s.cancel()
				case 0:
					s.push()
				case 1:
					if task, ok := s.tasks.tryReceive(); ok {
						require.NotContains(r, s.cancelled, task.GetToken())
						s.held = append(s.held, task)
					}
				case 2:
					s.settle()
				case 3:
					time.Sleep(time.Duration(rapid.IntRange(0, 300).Draw(r, "ms")) * time.Millisecond)
				}
				synctest.Wait()
				s.check()
			}
			settled := s.slots.expiry.expired.Load()
			time.Sleep(2 * time.Second) // all leases have expired by now
			synctest.Wait()
			s.check()
			require.Zero(r, s.slots.leases.count)
			_, has := s.tasks.tryReceive()
			require.False(r, has, "a task whose lease has expired")
			// Slots of expired leases are granted without a settlement.
			s.grant(s.slots.expiry.expired.Load() == settled)
			require.EqualValues(r, s.slots.total, s.credits, "all slots are granted")
		})
	})
}

// A cancelled lease that nobody settles gives its slot back when it expires, and does not count as
// expired: the server does not deliver the task again.
func TestACancelledLeaseDoesNotCountAsExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tasks := &arrivals{max: 2}
		s := &slots{total: 2, spare: 2, reports: true}
		s.expiry.began, s.expiry.drop = time.Now(), tasks.drop
		l := acted()
		l.slots = s
		s.admit(l, 2)
		defer s.stopExpiry()
		held := []*queuepb.Task{{Id: "1", Token: 1, LeaseExpiresAtMs: 11}, {Id: "2", Token: 2, LeaseExpiresAtMs: 11}}
		s.arrived(l, held, 1)
		require.Len(t, s.cancelled([]*queuepb.CancelledLease{{Id: "1", Token: 1}, {Id: "2", Token: 2}}), 2)
		time.Sleep(sweepEvery / 2) // the leases have expired, and the sweep is not due
		c := &call[*queuepb.Task]{
			items: held[:1], how: settling{action: queuepb.SettleAction_SETTLE_ACTION_COMPLETE},
			errs: []error{&Error{Code: queuepb.ErrorCode_ERROR_CODE_CANCELLED}},
		}
		s.settled([]*call[*queuepb.Task]{c})
		require.ErrorIs(t, c.errs[0], ErrCancelled)
		require.NotErrorIs(t, c.errs[0], ErrLeaseExpired)
		require.EqualValues(t, 1, l.freed.Load())
		time.Sleep(sweepEvery)
		synctest.Wait()
		assert.Zero(t, s.leases.count)
		assert.EqualValues(t, 2, l.freed.Load(), "the slot of the task that was not settled")
		assert.Zero(t, s.expiry.expired.Load())
		assert.Zero(t, s.expiry.ended.set.count)
	})
}

// A session remembers a bounded number of expired leases.
func TestFewExpiredLeasesAreRemembered(t *testing.T) {
	var e endedLeases
	for i := range uint64(100) {
		e.add(leaseKey{"t", i}, 7)
		require.LessOrEqual(t, e.set.count, 7)
	}
	for i := range uint64(100) {
		assert.Equal(t, i >= 93, e.set.find("t", i) >= 0, "%d", i)
	}
}

// The client does not expire leases of an older server, which does not send its time.
func TestLeasesOfAnOlderServerStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slots{total: 1, spare: 1}
		l := acted()
		s.expiry.began = time.Now()
		s.admit(l, 1)
		s.arrived(l, []*queuepb.Task{{Id: "a", Token: 1, LeaseExpiresAtMs: 1}}, 0)
		time.Sleep(time.Hour)
		assert.Equal(t, 1, s.leases.count)
	})
}
