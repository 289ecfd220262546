package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/scenario"
)

// choices are the decisions of a script. When none are left, the script takes its first option.
type choices []byte

func drawChoices(t *rapid.T) choices {
	from := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	c := make(choices, rapid.IntRange(0, 3000).Draw(t, "choices"))
	for i := range c {
		c[i] = byte(from.IntN(240)) // a multiple of most counts
	}
	return c
}

func (c *choices) among(n int) int {
	if len(*c) == 0 {
		return 0
	}
	x := int((*c)[0]) % n
	*c = (*c)[1:]
	return x
}

// scripted is a script that uses a meter arbitrarily, and the account that it expects.
type scripted struct {
	choices
	t       require.TestingT
	m       *Meter
	ledger  *ledger.Ledger
	sender  *Sender
	settler *Settler
	window  span

	stored []stored // tasks that were stored and not completed
	used   []int64  // places that a task has used

	// Counts of the tasks of an open load with an intended start inside the window:
	handed, dropped, withdrawn, refused, sent, finished uint64
	// lost counts the tasks that a script took and never sent.
	lost int64
	// Counts of the calls that were answered inside the window:
	enqueued, cycles                       uint64
	toldEnqueues, toldCycles, wantEnqueues uint64
}

// stored is a task that a worker can claim.
type stored struct {
	payload []byte
	held    bool // counts against the in-flight limit; false after its enqueue was not answered
}

// held returns the number of tasks that count against the in-flight limit.
func (s *scripted) held() (n int) {
	for _, t := range s.stored {
		if t.held {
			n++
		}
	}
	return n
}

// bubble runs a rapid check in a synctest bubble. The check must have drawn its values before.
func bubble(t *testing.T, check *rapid.T, do func(require.TestingT)) {
	var in inBubble
	synctest.Test(t, func(*testing.T) {
		defer func() {
			if r := recover(); r != nil && r != any(&in) {
				panic(r)
			}
		}()
		do(&in)
	})
	if in.said != "" {
		check.Fatal(in.said)
	}
}

// inBubble collects failures inside a bubble, because a rapid.T belongs to the goroutine outside.
type inBubble struct{ said string }

func (b *inBubble) Errorf(format string, args ...any) { b.said += fmt.Sprintf(format, args...) }
func (b *inBubble) FailNow()                          { panic(b) }

var scriptedTo = ledger.NewAddress("t", "q")

func newScripted(t require.TestingT, c choices, cfg MeterConfig) *scripted {
	cfg.Ledger, cfg.Epoch, cfg.pause = ledger.New(7, 3, nil), time.Now(), timerPause{}
	m, err := NewMeter(context.Background(), cfg)
	require.NoError(t, err)
	return &scripted{choices: c, t: t, m: m, ledger: cfg.Ledger, sender: m.Sender(), settler: m.Settler(), window: m.window.span()}
}

func (s *scripted) inside(due int64) bool { return due >= s.window.start && due < s.window.end }

// run uses the meter until its window ends, and then completes the stored tasks.
func (s *scripted) run(batch int) {
	for {
		due, err := s.m.Next(context.Background(), batch)
		require.NoError(s.t, err)
		if len(due) == 0 {
			break
		}
		for _, at := range due {
			require.LessOrEqual(s.t, at, s.m.Now(), "the task was due")
			if s.inside(at) {
				s.handed++
			}
		}
		keep := len(due)
		if s.among(4) == 1 {
			keep = s.among(len(due) + 1)
		}
		s.lost += int64(len(due) - keep)
		for _, at := range due[keep:] {
			if s.inside(at) {
				s.dropped++
			}
		}
		s.send(due[:keep], keep)
		if s.among(3) == 1 {
			s.send(nil, 1+s.among(3)) // outside of the schedule
		}
		if s.among(8) == 1 && len(s.used) > 0 {
			s.send([]int64{s.used[s.among(len(s.used))]}, 1) // in a used place
		}
		time.Sleep(time.Duration(s.among(4)) * 7 * time.Millisecond) // virtual time
		s.complete(s.among(len(s.stored) + 1))
	}
	if s.among(2) == 0 {
		time.Sleep(time.Duration(s.window.end - s.m.Now()))
	}
	// Complete the remaining tasks.
	for tries := 0; len(s.stored) > 0; tries++ {
		if tries > 100 {
			s.choices = nil
		}
		s.complete(len(s.stored))
	}
}

func (s *scripted) send(due []int64, n int) {
	if n == 0 {
		return
	}
	fresh := due
	if len(due) == 1 && slices.Contains(s.used, due[0]) && s.m.schedule != nil {
		fresh = nil
	}
	s.used = append(s.used, fresh...)
	payloads := make([][]byte, n)
	for i := range payloads {
		payloads[i] = make([]byte, ledger.HeaderSize+s.among(3))
	}
	b := s.sender.Seal(scriptedTo, payloads, s.among(2) == 0, due)
	if s.among(8) == 1 {
		s.sender.Withdraw(b)
		for _, at := range fresh {
			if s.inside(at) {
				s.withdrawn++
			}
		}
		return
	}
	time.Sleep([]time.Duration{0, 5 * time.Millisecond, 10 * time.Millisecond, 400 * time.Millisecond}[s.among(4)])
	var outcomes []error
	var failed error
	if s.among(10) == 1 {
		failed = errors.New("broken")
	}
	if s.among(2) == 1 {
		outcomes = make([]error, n)
	}
	now, acknowledged := s.m.Now(), uint64(0)
	for i := range n {
		scheduled := i < len(fresh) && s.inside(fresh[i])
		outcome := s.among(6)
		switch {
		case failed != nil, outcomes != nil && outcome == 2:
			if outcomes != nil {
				outcomes[i] = driver.ErrUnknown
			}
			if scheduled {
				s.sent++
			}
			if s.among(2) == 1 {
				s.stored = append(s.stored, stored{payloads[i], false})
			}
		case outcomes != nil && outcome == 1:
			outcomes[i] = errors.New("queue is full")
			if scheduled {
				s.refused++
			}
		default:
			acknowledged++
			if scheduled {
				s.sent++
				if s.inside(now) {
					s.wantEnqueues++
				}
			}
			s.stored = append(s.stored, stored{payloads[i], i < len(fresh)})
		}
	}
	for _, l := range s.sender.Answered(b, outcomes, failed) {
		s.toldEnqueues += uint64(l.N)
	}
	if s.inside(now) {
		s.enqueued += acknowledged
	}
}

// complete claims and completes the first n stored tasks.
func (s *scripted) complete(n int) {
	if n == 0 {
		return
	}
	claims, outcomes := make([]Claim, n), make([]error, n)
	for i := range claims {
		claims[i] = s.settler.Claimed(s.stored[i].payload, scriptedTo)
		require.True(s.t, claims[i].Sound())
	}
	time.Sleep(time.Duration(s.among(3)) * 3 * time.Millisecond)
	now, kept := s.m.Now(), []stored(nil)
	var failed error
	if s.among(20) == 1 {
		failed = errors.New("broken")
	}
	for i, c := range claims {
		due, scheduled := placed(c.id.IntendedNS)
		outcome := s.among(6)
		if failed == nil && outcome == 1 {
			outcomes[i] = errors.New("lease expired")
			kept = append(kept, s.stored[i])
			continue
		}
		if failed != nil || outcome == 2 {
			outcomes[i] = driver.ErrUnknown
			continue
		}
		if s.inside(now) {
			s.cycles++
			if scheduled && s.inside(due) {
				s.finished++
			}
		}
	}
	s.stored = append(kept, s.stored[n:]...)
	cycles, settles := s.settler.Completed(claims, outcomes, failed)
	for _, l := range cycles {
		s.toldCycles += uint64(l.N)
	}
	told := uint64(0)
	for _, l := range settles {
		told += uint64(l.N)
	}
	require.LessOrEqual(s.t, told, uint64(n))
}

// However a script uses a meter, the account and the histograms contain each due task once.
func TestMeterOmitsNothing(t *testing.T) {
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		does := drawChoices(t)
		batch := rapid.IntRange(1, 9).Draw(t, "batch")
		cfg := MeterConfig{
			Workload: scenario.Workload{
				Batch: batch, InFlight: rapid.SampledFrom([]int{1, 7, 1000}).Draw(t, "in flight"),
				Arrivals: scenario.Arrivals{Kind: scenario.Open, Rate: scenario.Rate{PerSecond: rapid.Float64Range(20, 400).Draw(t, "rate")}},
			},
			Phases: scenario.Phases{
				Warmup: time.Duration(rapid.IntRange(0, 200).Draw(t, "warm-up")) * time.Millisecond,
				Window: time.Second, Drain: time.Minute,
			},
		}
		var s *scripted
		var o, again *Outcome
		bubble(outer, t, func(t require.TestingT) {
			s = newScripted(t, does, cfg)
			s.run(batch)
			s.m.Finish()
			o, again = s.m.Outcome(), s.m.Outcome()
			require.NoError(t, s.m.Close())
		})
		a := o.Open
		require.Equal(t, a.Scheduled, a.Finished+a.Unfinished+a.Unsent+a.Dropped+a.Refused, "%+v", a)
		never := a.Scheduled - s.handed - a.Dropped // no producer took them
		require.Equal(t, s.dropped+s.withdrawn+never, a.Unsent)
		require.Equal(t, s.refused, a.Refused)
		require.Equal(t, s.finished, a.Finished)
		require.Equal(t, s.sent-s.finished, a.Unfinished)
		require.Equal(t, s.enqueued, o.Enqueued)
		require.Equal(t, s.cycles, o.Cycles)
		require.Equal(t, s.wantEnqueues, s.toldEnqueues)
		require.Equal(t, s.finished, s.toldCycles)

		require.Equal(t, s.lost, s.m.schedule.inFlight.Load(), "each task leaves the in-flight limit once")

		require.EqualValues(t, a.Scheduled, o.EnqueueLatency.TotalCount())
		require.EqualValues(t, a.Scheduled, o.CycleLatency.TotalCount())
		require.EqualValues(t, o.Cycles, o.SettleLatency.TotalCount())
		require.EqualValues(t, o.Enqueued, a.Service.TotalCount())
		require.Equal(t, figuresOf(o), figuresOf(again), "Outcome can be called twice")

		balance := s.ledger.Balance()
		require.Zero(t, balance.Lost+balance.Duplicated+balance.Corrupted+balance.Misrouted, "%v", balance.Samples)
	})
}

// figuresOf returns all counts of an open load's outcome.
func figuresOf(o *Outcome) []any {
	return []any{
		o.Cycles, o.Enqueued, o.Clamped, o.EnqueueLatency.Distribution(), o.CycleLatency.Distribution(), o.SettleLatency.Distribution(),
		o.Open.Unsent, o.Open.Unfinished, o.Open.Finished, o.Open.Slip.Distribution(), o.Open.Service.Distribution(), o.FailedCalls,
	}
}

// A closed load never exceeds its in-flight limit, and every task leaves the limit: a script that
// loses no task never blocks.
func TestMeterBoundsTasksInFlight(t *testing.T) {
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		does := drawChoices(t)
		batch := rapid.IntRange(1, 9).Draw(t, "batch")
		inFlight := batch * rapid.IntRange(1, 4).Draw(t, "batches")
		calls := rapid.SliceOfN(rapid.IntRange(1, 12), 1, 40).Draw(t, "calls")
		bubble(outer, t, func(t require.TestingT) {
			s := newScripted(t, does, MeterConfig{
				Workload: scenario.Workload{Batch: batch, InFlight: inFlight, Arrivals: scenario.Arrivals{Kind: scenario.Closed}},
				Phases:   scenario.Phases{Window: time.Hour},
			})
			for _, n := range calls {
				for {
					ctx, cancel := context.WithTimeout(context.Background(), time.Second)
					due, err := s.m.Next(ctx, n)
					cancel()
					if err == nil {
						require.LessOrEqual(t, len(due), min(n, batch))
						require.NotEmpty(t, due)
						s.send(due, len(due))
						if s.among(3) == 1 {
							s.send(nil, 1+s.among(5)) // without the in-flight limit
						}
						break
					}
					require.NotEmpty(t, s.stored, "the limit blocks although no task is in flight")
					s.complete(len(s.stored))
				}
				require.LessOrEqual(t, s.held(), inFlight)
			}
			for len(s.stored) > 0 {
				s.complete(len(s.stored))
				s.choices = nil
			}
			require.EqualValues(t, inFlight/batch, len(s.m.limit.free), "the whole limit is free again")
			require.NoError(t, s.m.Close())
		})
	})
}
