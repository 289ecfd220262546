package queue

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/schedule"
)

func every(ms uint64, change ...func(*RecurringSpec)) RecurringSpec {
	s := RecurringSpec{Schedule: schedule.Spec{EveryMs: ms}, Template: Template{Payload: []byte("p")}}
	for _, c := range change {
		c(&s)
	}
	return s
}

// set sets the recurring task "r" of the queue "a".
func (f *fixture) set(spec RecurringSpec) *Queue {
	f.t.Helper()
	require.NoError(f.t, f.SetRecurring("t", "a", "r", spec))
	q, _ := f.Named("t", "a")
	return q
}

func (f *fixture) progress() RecurringProgress {
	f.t.Helper()
	q, _ := f.Named("t", "a")
	v, found := f.Recurring(q, "r")
	require.True(f.t, found)
	stored := f.journal.recurring[recurringEntry{q.ID(), "r"}]
	require.Equal(f.t, v.Progress, stored.Progress)
	return v.Progress
}

// dues returns the due times of the stored tasks of the recurring task, ascending.
func (f *fixture) dues() (dues []int64) {
	for _, t := range f.journal.tasks {
		if headers, _ := t.Split(); headers.Get(RecurringHeader) == "r" {
			due, _ := strconv.ParseInt(headers.Get(RecurringDueHeader), 10, 64)
			dues = append(dues, due)
		}
	}
	slices.Sort(dues)
	return dues
}

// restart replaces the state by one that continues from the journal after a pause of ms.
func (f *fixture) restart(ms int64) {
	f.t.Helper()
	f.Flush()
	s, err := New(f.cfg, f.journal, f.journal.recovered())
	require.NoError(f.t, err)
	f.State = s
	f.now += ms
	for f.Tick(f.now); f.NextDeadlineMs() <= f.now; f.Tick(f.now) {
	}
}

func TestARecurringTaskEnqueuesATaskAtEachDueTime(t *testing.T) {
	f := newFixture(t, Config{})
	f.Tick(f.now)
	f.set(every(5_000, func(s *RecurringSpec) { s.Template.Headers = map[string]string{KindHeader: "report"} }))
	f.pass(14_000)
	assert.Equal(t, []int64{5_000, 10_000, 15_000}, f.dues())
	for _, task := range f.journal.tasks {
		headers, payload := task.Split()
		assert.Equal(t, "p", string(payload))
		assert.Equal(t, "report", headers.Get(KindHeader))
	}
	assert.Equal(t, uint64(3), f.progress().Runs)
}

func TestMissedDueTimesFollowThePolicy(t *testing.T) {
	for _, c := range []struct {
		name   string
		ms     uint64
		missed Missed
		most   uint32
		want   []int64
	}{
		{"once", 5_000, MissedOnce, 0, []int64{100_000}},
		{"once, late", 70_000, MissedOnce, 0, []int64{70_000}},
		{"skip", 5_000, MissedSkip, 0, []int64{100_000}},
		{"skip, a minute late", 41_000, MissedSkip, 0, []int64{82_000}},
		{"skip, later", 40_500, MissedSkip, 0, []int64{81_000}},
		{"all", 30_000, MissedAll, 1_000, []int64{30_000, 60_000, 90_000}},
		{"the last two", 30_000, MissedAll, 2, []int64{60_000, 90_000}},
	} {
		for _, runsMax := range []int{1, 2, 1_000} {
			f := newFixture(t, Config{runsMax: runsMax})
			f.Tick(f.now)
			f.set(every(c.ms, func(s *RecurringSpec) { s.Missed, s.MissedMax = c.missed, c.most }))
			f.restart(100_000 - 1_000)
			assert.Equal(t, c.want, f.dues(), c.name)
			p := f.progress()
			assert.Equal(t, 100_000/c.ms, p.Missed+p.Runs, c.name)
			f.restart(0)
			assert.Equal(t, c.want, f.dues(), "%s, after a further restart", c.name)
		}
	}
}

func TestALateRunIsSkippedAfterAMinute(t *testing.T) {
	const due = 365 * 24 * 3600_000
	for lateMs, want := range map[int64][]int64{59_999: {due}, 60_000: nil} {
		f := newFixture(t, Config{})
		f.Tick(f.now)
		f.set(RecurringSpec{Schedule: schedule.Spec{Cron: "0 0 1 1 *"}, Missed: MissedSkip})
		f.restart(due + lateMs - f.now)
		assert.Equal(t, want, f.dues(), "%d ms late", lateMs)
		assert.Equal(t, uint64(1), f.progress().Missed+f.progress().Runs)
	}
}

// The runs of one commit are limited, and no due time is lost or repeated if the state restarts
// between two of them.
func TestARestartBetweenMissedRunsRepeatsNone(t *testing.T) {
	f := newFixture(t, Config{runsMax: 2})
	f.Tick(f.now)
	f.set(every(1_000, func(s *RecurringSpec) { s.Missed, s.MissedMax = MissedAll, 7 }))
	f.now += 10_000
	for runs := 0; f.NextDeadlineMs() <= f.now; {
		f.Flush()
		s, err := New(f.cfg, f.journal, f.journal.recovered())
		require.NoError(t, err)
		f.State = s
		for f.NextDeadlineMs() <= f.now && len(f.dues()) == runs {
			f.Tick(f.now)
		}
		assert.LessOrEqual(t, len(f.dues())-runs, 2)
		runs = len(f.dues())
	}
	assert.Equal(t, []int64{5_000, 6_000, 7_000, 8_000, 9_000, 10_000, 11_000}, f.dues())
}

func TestARunDoesNotOverlapAnUnfinishedTask(t *testing.T) {
	f := newFixture(t, Config{})
	f.Tick(f.now)
	f.set(every(5_000, func(s *RecurringSpec) { s.Overlap, s.Template.MaxAttempts = OverlapSkip, 1 }))
	w := f.wait(1, "a")
	f.pass(4_000)
	d := f.dispatch()[w][0]
	f.pass(5_000)
	assert.Equal(t, []int64{5_000}, f.dues())
	f.restart(5_000)
	assert.Equal(t, []int64{5_000}, f.dues(), "a restart knows the unfinished task")
	assert.Equal(t, uint64(2), f.progress().Overlapped)
	out := make([]error, 1)
	f.Settle(f.now, "t", []Settlement{{Ref: d.Ref, Token: d.Token, Action: Fail}}, out)
	require.NoError(t, out[0])
	f.pass(5_000)
	assert.Equal(t, []int64{5_000, 20_000}, f.dues(), "a dead task is finished")
	last := f.progress().Last
	stored, _ := f.journal.look(last)
	f.Cancel(&stored)
	f.pass(5_000)
	assert.Equal(t, []int64{5_000, 25_000}, f.dues(), "a cancelled task is finished")
	dead, _ := f.journal.look(d.Ref)
	did, err := f.Redrive(&dead)
	require.NoError(t, err)
	require.True(t, did)
	f.pass(5_000)
	assert.Equal(t, uint64(3), f.progress().Overlapped)
}

func TestAPauseSkipsItsDueTimes(t *testing.T) {
	f := newFixture(t, Config{})
	f.Tick(f.now)
	q := f.set(every(5_000, func(s *RecurringSpec) { s.Missed, s.MissedMax = MissedAll, 9 }))
	require.True(t, f.PauseRecurring(q, "r", true))
	v, _ := f.Recurring(q, "r")
	assert.Empty(t, v.Next(5))
	f.pass(11_000)
	f.restart(0)
	q, _ = f.Named("t", "a")
	require.True(t, f.PauseRecurring(q, "r", false))
	v, _ = f.Recurring(q, "r")
	assert.Equal(t, []int64{15_000, 20_000}, v.Next(2))
	f.pass(4_000)
	assert.Equal(t, []int64{15_000}, f.dues())
	assert.False(t, f.PauseRecurring(q, "other", true))
	assert.Zero(t, f.progress().Missed)
}

func TestANewScheduleBeginsNow(t *testing.T) {
	f := newFixture(t, Config{})
	f.Tick(f.now)
	f.set(every(5_000))
	f.pass(4_000)
	f.now += 8_000 // 10,000 is due and not settled yet
	f.nowMs = f.now
	f.set(every(5_000, func(s *RecurringSpec) { s.Template.Payload = []byte("new") }))
	f.Tick(f.now)
	assert.Equal(t, []int64{5_000, 10_000}, f.dues(), "the same schedule continues")
	f.set(every(3_000))
	f.pass(2_000)
	assert.Equal(t, []int64{5_000, 10_000, 15_000}, f.dues())
	assert.Equal(t, uint64(3), f.progress().Runs, "the counters continue")
}

func TestARunOnRequest(t *testing.T) {
	f := newFixture(t, Config{})
	f.Tick(f.now)
	q := f.set(every(5_000, func(s *RecurringSpec) { s.Overlap = OverlapSkip }))
	require.True(t, f.PauseRecurring(q, "r", true))
	for range 2 {
		out, found := f.RunRecurring(q, "r")
		require.True(t, found)
		require.NoError(t, out.Err)
		task := f.journal.tasks[out.Ref]
		headers, _ := task.Split()
		assert.Equal(t, map[string]string{RecurringHeader: "r"}, headers.Map())
	}
	_, found := f.RunRecurring(q, "other")
	assert.False(t, found)
	require.True(t, f.PauseRecurring(q, "r", false))
	f.pass(4_000)
	assert.Equal(t, uint64(1), f.progress().Overlapped, "a run on request is the last task")
}

func TestRefusedRunsAreCounted(t *testing.T) {
	a := &fakeAccount{tenant: "t", broken: t.Fatalf, tasksMax: 1}
	full := error(nil)
	f := newFixture(t, Config{Account: func(string) Account { return a }, Growth: func() error { return full }})
	f.Tick(f.now)
	q := f.set(every(5_000))
	f.pass(9_000)
	assert.Equal(t, []int64{5_000}, f.dues())
	assert.Equal(t, uint64(1), f.progress().Refused)
	out, _ := f.RunRecurring(q, "r")
	var quota *QuotaError
	require.ErrorAs(t, out.Err, &quota)
	a.tasksMax, full = 9, errors.New("full")
	f.pass(5_000)
	assert.Equal(t, uint64(2), f.progress().Refused)
	full = nil
	f.pass(5_000)
	assert.Equal(t, []int64{5_000, 20_000}, f.dues())
}

func TestAQueueWithRecurringTasksIsKept(t *testing.T) {
	f := newFixture(t, Config{IdleMs: idleMs})
	f.Tick(f.now)
	q := f.set(RecurringSpec{Schedule: schedule.Spec{Cron: "0 0 1 1 *"}})
	f.pass(2 * idleMs)
	require.Equal(t, []string{"a"}, f.stored())
	require.ErrorIs(t, f.Delete(q), ErrQueueNotEmpty)
	require.True(t, f.DeleteRecurring(q, "r"))
	assert.Empty(t, f.journal.recurring)
	f.pass(2 * idleMs)
	assert.Empty(t, f.stored())
}

func TestRecurringTasksAreListedInOrder(t *testing.T) {
	f := newFixture(t, Config{})
	for _, name := range []string{"b/2", "a/2", "c/1", "a/1", "b/1"} {
		queue, name, _ := strings.Cut(name, "/")
		require.NoError(t, f.SetRecurring("t", queue, name, every(5_000)))
	}
	require.NoError(t, f.SetRecurring("s", "a", "1", every(5_000)))
	names := func(all []RecurringView) (out []string) {
		for _, v := range all {
			require.Equal(t, "t", v.Tenant)
			out = append(out, v.QueueName+"/"+v.Name)
		}
		return out
	}
	assert.Equal(t, []string{"a/1", "a/2", "b/1", "b/2", "c/1"}, names(f.ListRecurring("t", "", "", "", 9)))
	assert.Equal(t, []string{"a/1", "a/2"}, names(f.ListRecurring("t", "", "", "", 2)))
	assert.Equal(t, []string{"b/1", "b/2"}, names(f.ListRecurring("t", "", "a", "2", 2)))
	assert.Equal(t, []string{"b/1", "b/2"}, names(f.ListRecurring("t", "b", "", "", 9)))
	assert.Equal(t, []string{"b/2"}, names(f.ListRecurring("t", "b", "b", "1", 9)))
	assert.Empty(t, f.ListRecurring("u", "", "", "", 9))
}

// An older program deletes a queue without its recurring tasks.
func TestARecurringTaskWithoutItsQueueIsRemoved(t *testing.T) {
	f := newFixture(t, Config{})
	q := f.set(every(5_000))
	f.Flush()
	delete(f.journal.queues, q.ID())
	f.restart(10_000)
	assert.Empty(t, f.journal.recurring)
}

func TestInvalidRecurringTasksAreRefused(t *testing.T) {
	limits := DefaultLimits()
	for _, c := range []struct {
		field    string
		name     string
		priority uint32
		spec     RecurringSpec
	}{
		{"name", "a b", 0, every(5_000)},
		{"interval_ms", "r", 0, every(5)},
		{"missed_max", "r", 0, every(5_000, func(s *RecurringSpec) { s.Missed = MissedAll })},
		{"missed_max", "r", 0, every(5_000, func(s *RecurringSpec) { s.Missed, s.MissedMax = MissedAll, 1_001 })},
		{"missed_max", "r", 0, every(5_000, func(s *RecurringSpec) { s.MissedMax = 1 })},
		{"task.payload", "r", 0, every(5_000, func(s *RecurringSpec) { s.Template.Payload = make([]byte, 64<<10+1) })},
		{"task.priority", "r", 10, every(5_000)},
		{"task.headers", "r", 0, every(5_000, func(s *RecurringSpec) { s.Template.Headers = map[string]string{"recurring": "x"} })},
		{"task.headers", "r", 0, every(5_000, func(s *RecurringSpec) { s.Template.Headers = map[string]string{"A": "x"} })},
		{"task.max_attempts", "r", 0, every(5_000, func(s *RecurringSpec) { s.Template.MaxAttempts = 1_001 })},
	} {
		err := limits.CheckRecurring(c.name, &c.spec, c.priority)
		require.NotNil(t, err, c.field)
		assert.Equal(t, c.field, err.Field)
	}
	spec := every(5_000)
	require.Nil(t, limits.CheckRecurring("r", &spec, 9))
}
