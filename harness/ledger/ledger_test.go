package ledger

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

const testRound = 0xabcdef

func newLedger(producers int) *Ledger {
	return New(testRound, producers, []Route{{"t0", "q0"}, {"t0", "q1"}, {"t1", "q0"}})
}

func task(producer int, sequence uint64) Identity {
	return Identity{Round: testRound, Producer: uint32(producer), Sequence: sequence}
}

func sealed(id Identity, tenant, queue string) []byte {
	payload := make([]byte, 64)
	Seal(payload, id, NewAddress(tenant, queue))
	return payload
}

func TestBalanceOfCleanRound(t *testing.T) {
	l := newLedger(2)
	first := l.Sent(1, 3)
	assert.Equal(t, uint64(0), first)
	assert.Equal(t, uint64(3), l.Outstanding(), "unanswered tasks may still be delivered")
	l.Completed(task(1, 0)) // before the enqueue is acknowledged
	l.Enqueued(1, 0, 3)
	l.Completed(task(1, 2))
	l.Completed(task(1, 1))
	assert.Equal(t, result.Ledger{Enqueued: 3, Completed: 3}, l.Balance())
	assert.Zero(t, l.Outstanding())
	assert.Equal(t, uint64(3), l.Sent(1, 1), "numbers continue")
}

func TestTaskNeverCompletedIsLost(t *testing.T) {
	l := newLedger(1)
	l.Sent(0, 600)
	l.Enqueued(0, 0, 600)
	for sequence := range uint64(600) {
		if sequence != 300 && sequence != 301 {
			l.Completed(task(0, sequence))
		}
	}
	l.CompletionRefused(task(0, 301))
	assert.Equal(t, result.Ledger{
		Enqueued: 600, Completed: 598, Lost: 2,
		Samples: []string{
			"lost: producer 0 task 300: enqueue acknowledged, never completed",
			"lost: producer 0 task 301: enqueue acknowledged, completion refused",
		},
	}, l.Balance())
	assert.Equal(t, uint64(2), l.Outstanding())
	assert.Equal(t, uint64(1), l.Totals().CompletionsRefused)
}

func TestSecondCompletionIsDuplicatedAlsoLongAfter(t *testing.T) {
	l := newLedger(1)
	l.Sent(0, 10*pageTasks)
	l.Enqueued(0, 0, 10*pageTasks)
	for sequence := range uint64(10*pageTasks - 1) {
		l.Completed(task(0, sequence))
	}
	require.Len(t, l.accounts[0].live, 1, "pages of settled tasks are released")
	l.Completed(task(0, 5))
	l.Completed(task(0, 5))
	l.Completed(task(0, 10*pageTasks-2))
	balance := l.Balance()
	assert.Equal(t, uint64(3), balance.Duplicated)
	assert.Equal(t, uint64(10*pageTasks-1), balance.Completed)
	assert.Contains(t, balance.Samples, "duplicated: producer 0 task 5: a completion was acknowledged again")
}

func TestUnknownTaskMayBeCompletedOrNot(t *testing.T) {
	l := newLedger(1)
	l.Sent(0, 4)
	l.Unknown(0, 0, 3)
	l.Completed(task(0, 1))
	assert.Equal(t, result.Ledger{Unknown: 4, Completed: 1}, l.Balance())
	assert.Equal(t, uint64(3), l.Outstanding())
	l.Completed(task(0, 1))
	assert.Equal(t, uint64(1), l.Balance().Duplicated)
}

func TestCompletionInDoubtIsNeitherLostNorDuplicated(t *testing.T) {
	l := newLedger(1)
	l.Sent(0, 2)
	l.Enqueued(0, 0, 2)
	l.CompletionUnknown(task(0, 0))
	l.CompletionUnknown(task(0, 1))
	l.Completed(task(0, 1))
	assert.Equal(t, result.Ledger{Enqueued: 2, Completed: 1, InDoubt: 1}, l.Balance())
}

func TestCompletionOfRefusedTaskIsCorrupted(t *testing.T) {
	l := newLedger(1)
	l.Sent(0, 3)
	l.Refused(0, 0, 1)
	l.Completed(task(0, 0)) // after the refusal
	l.Completed(task(0, 1)) // before it
	l.Refused(0, 1, 2)
	balance := l.Balance()
	assert.Equal(t, uint64(2), balance.Corrupted)
	assert.Zero(t, balance.Enqueued+balance.Unknown+balance.Completed+balance.Lost+balance.Duplicated)
	assert.Len(t, balance.Samples, 2)
	assert.Zero(t, l.Outstanding())
	assert.Equal(t, uint64(3), l.Totals().Refused)
}

func TestCompletionOfTaskNotOfThisRoundIsCorrupted(t *testing.T) {
	l := newLedger(2)
	l.Sent(0, 1)
	l.Completed(task(0, 1)) // not sent
	l.Completed(task(2, 0)) // no such producer
	l.Completed(Identity{Round: testRound + 1})
	l.CompletionRefused(task(2, 0))
	l.CompletionRefused(task(0, 1))
	l.CompletionUnknown(task(2, 0))
	l.CompletionUnknown(task(0, 1))
	balance := l.Balance()
	assert.Equal(t, uint64(3), balance.Corrupted)
	assert.Zero(t, balance.Completed)
	for _, sample := range balance.Samples {
		assert.True(t, strings.HasPrefix(sample, "foreign: "), sample)
	}
}

func TestFirstAnswerStands(t *testing.T) {
	l := newLedger(1)
	l.Sent(0, 3)
	l.Enqueued(0, 0, 1)
	l.Refused(0, 0, 2)
	l.Unknown(0, 0, 3)
	l.Enqueued(0, 0, 3)
	l.Enqueued(0, 0, 0)
	totals := l.Totals()
	assert.Equal(t, uint64(1), totals.Enqueued)
	assert.Equal(t, uint64(1), totals.Refused)
	assert.Panics(t, func() { l.Enqueued(0, 2, 2) }, "a task that was not sent cannot be answered")
}

func TestClaimed(t *testing.T) {
	id := task(1, 42)
	flipped := sealed(id, "t0", "q0")
	flipped[50] ^= 4
	cases := map[string]struct {
		payload []byte
		verdict Verdict
		sample  string
	}{
		"sound":          {sealed(id, "t0", "q0"), Sound, ""},
		"other queue":    {sealed(id, "t0", "q1"), Misplaced, "misrouted: producer 1 task 42 was sent to t0/q1 and claimed from t0/q0"},
		"other tenant":   {sealed(id, "t1", "q0"), Misplaced, "misrouted: producer 1 task 42 was sent to t1/q0 and claimed from t0/q0"},
		"unknown route":  {sealed(id, "t9", "q9"), Unreadable, "corrupted: a task claimed from t0/q0: 64 bytes that do not match their checksum"},
		"flipped":        {flipped, Unreadable, "corrupted: a task claimed from t0/q0: 64 bytes that do not match their checksum"},
		"short":          {flipped[:31], Unreadable, "corrupted: a task claimed from t0/q0: payload is damaged: 31 bytes, less than the header of 32"},
		"empty":          {nil, Unreadable, "corrupted: a task claimed from t0/q0: payload is damaged: 0 bytes, less than the header of 32"},
		"other round":    {sealed(Identity{Round: 1}, "t0", "q0"), Unreadable, "foreign: producer 0 task 0 of round 0000000000000001, claimed from t0/q0: this is round 0000000000abcdef with 2 producers"},
		"other producer": {sealed(task(2, 0), "t0", "q0"), Unreadable, "foreign: producer 2 task 0 of round 0000000000abcdef, claimed from t0/q0: this is round 0000000000abcdef with 2 producers"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			l := newLedger(2)
			got, verdict := l.Claimed(c.payload, NewAddress("t0", "q0"))
			assert.Equal(t, c.verdict, verdict)
			if verdict != Unreadable {
				assert.Equal(t, id, got)
			}
			balance := l.Balance()
			if c.sample == "" {
				assert.Zero(t, balance.Corrupted)
				assert.Empty(t, balance.Samples)
			} else {
				assert.Equal(t, uint64(1), balance.Corrupted+balance.Misrouted)
				assert.Equal(t, c.verdict == Misplaced, balance.Misrouted == 1)
				assert.Equal(t, []string{c.sample}, balance.Samples)
			}
		})
	}
}

// A claimed task of another workload is misrouted if Beside was called, and corrupted otherwise.
func TestTasksOfOtherWorkloads(t *testing.T) {
	other := New(7, 1, []Route{{"t5", "q5"}})
	payload := sealed(Identity{Round: 7, Sequence: 3}, "t5", "q5")
	for beside, says := range map[bool]string{
		true:  "misrouted: producer 0 task 3 of another workload was sent to t5/q5 and claimed from t0/q0",
		false: "corrupted: a task claimed from t0/q0: 64 bytes that do not match their checksum",
	} {
		l := newLedger(2)
		if beside {
			l.Beside(other)
		}
		_, verdict := l.Claimed(payload, NewAddress("t0", "q0"))
		assert.Equal(t, Unreadable, verdict)
		balance := l.Balance()
		assert.Equal(t, beside, balance.Misrouted == 1)
		assert.Equal(t, beside, balance.Corrupted == 0)
		assert.Equal(t, []string{says}, balance.Samples)
	}
}

func TestCompletedUnreadableIsNoLongerOutstandingButLost(t *testing.T) {
	l := newLedger(1)
	l.Sent(0, 2)
	l.Enqueued(0, 0, 2)
	_, verdict := l.Claimed(make([]byte, 64), NewAddress("t0", "q0"))
	require.Equal(t, Unreadable, verdict)
	l.CompletedUnreadable()
	assert.Equal(t, uint64(1), l.Outstanding())
	l.CompletedUnreadable()
	l.CompletedUnreadable() // more often than there were tasks
	assert.Zero(t, l.Outstanding())
	balance := l.Balance()
	assert.Equal(t, uint64(1), balance.Corrupted)
	assert.Equal(t, uint64(2), balance.Lost)
}

func TestSamplesAreBounded(t *testing.T) {
	l := newLedger(1)
	l.Sent(0, 1000)
	l.Enqueued(0, 0, 1000)
	for sequence := range uint64(100) {
		l.Completed(task(0, sequence))
		l.Completed(task(0, sequence))
		l.Corrupted("corrupted: test")
	}
	balance := l.Balance()
	assert.Equal(t, uint64(900), balance.Lost)
	assert.Equal(t, uint64(100), balance.Duplicated)
	assert.Equal(t, uint64(100), balance.Corrupted)
	assert.Len(t, balance.Samples, 3*samplesPerKind)
}

func TestNewRefusesProducersOutOfBounds(t *testing.T) {
	assert.Panics(t, func() { newLedger(0) })
	assert.Panics(t, func() { newLedger(MaxProducers + 1) })
	l := newLedger(1)
	l.accounts[0].sent = MaxSequences
	assert.Panics(t, func() { l.Sent(0, 1) })
	assert.Equal(t, 1, l.Producers())
	assert.Equal(t, uint64(testRound), l.Round())
}

// Producers, and workers that complete their tasks, write the same accounts.
func TestConcurrentUse(t *testing.T) {
	const producers, workers, perProducer = 4, 4, 5000
	l := newLedger(producers)
	tasks := make(chan Identity, 100)
	var sending, completing sync.WaitGroup
	for p := range producers {
		sending.Go(func() {
			for range perProducer {
				first := l.Sent(p, 1)
				tasks <- task(p, first)
				l.Enqueued(p, first, 1)
			}
		})
	}
	for range workers {
		completing.Go(func() {
			for id := range tasks {
				if id.Sequence%1000 == 999 {
					l.CompletionRefused(id)
					l.Completed(id)
				}
				l.Completed(id)
				l.Outstanding()
			}
		})
	}
	sending.Wait()
	close(tasks)
	completing.Wait()
	balance := l.Balance()
	assert.Equal(t, uint64(producers*perProducer), balance.Enqueued)
	assert.Equal(t, uint64(producers*perProducer), balance.Completed)
	assert.Equal(t, uint64(producers*perProducer/1000), balance.Duplicated)
	assert.Zero(t, balance.Lost+balance.Corrupted+balance.Unknown)
}
