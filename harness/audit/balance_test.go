package audit

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/result"
)

func TestBreachesOfExclusivityAreNamed(t *testing.T) {
	t.Parallel()
	assert.Empty(t, Balance(&result.Ledger{Enqueued: 3, Completed: 3}))
	assert.Equal(t, []string{
		"not exclusive: 1 tasks were claimed while another lease of the task was valid, and 2 completions were refused although their lease was valid; the first: contested: a",
	}, Balance(&result.Ledger{Contested: 1, Revoked: 2, Samples: []string{"misrouted: c", "revoked: b", "contested: a"}}))
	assert.Equal(t, []string{
		"not exclusive: 0 tasks were claimed while another lease of the task was valid, and 1 completions were refused although their lease was valid; the first: revoked: b",
	}, Balance(&result.Ledger{Revoked: 1, Samples: []string{"revoked: b"}}))
}

// The problems include attempts that do not follow the last failed attempt.
func TestMiscountedAttemptsAreNamed(t *testing.T) {
	t.Parallel()
	assert.Empty(t, Balance(&result.Ledger{Failed: 5, Retried: 4, Dead: 1}))
	assert.Equal(t, []string{
		"not retried as failed: 2 tasks were claimed with an attempt that does not follow their last failed attempt; the first: miscounted: a; miscounted: b",
	}, Balance(&result.Ledger{Miscounted: 2, Samples: []string{"revoked: c", "miscounted: a", "miscounted: b"}}))
}

// The problems include tasks that were delivered too early.
func TestEarlyTasksAreNamed(t *testing.T) {
	t.Parallel()
	assert.Empty(t, Balance(&result.Ledger{Delayed: 5}))
	assert.Equal(t, []string{"not delayed: 1 of 5 deliveries of delayed tasks came before their due time; the first: early: a"},
		Balance(&result.Ledger{Delayed: 5, Early: 1, Samples: []string{"early: a"}}))
}

// The problems include results that differ from those of the completions.
func TestWrongResultsAreNamed(t *testing.T) {
	t.Parallel()
	assert.Empty(t, Balance(&result.Ledger{Results: 5}))
	assert.Equal(t, []string{"not returned: 1 of 5 results of completed tasks were wrong or not found; the first: wrong result: a"},
		Balance(&result.Ledger{Results: 5, WrongResults: 1, Samples: []string{"wrong result: a"}}))
}

// The problems include refused extensions of valid leases.
func TestRefusedExtensionsAreNamed(t *testing.T) {
	t.Parallel()
	assert.Empty(t, Balance(&result.Ledger{Extended: 5}))
	assert.Equal(t, []string{"not extended: 1 extensions were refused although their lease was valid, and 5 were acknowledged; the first: unextended: a"},
		Balance(&result.Ledger{Extended: 5, Unextended: 1, Samples: []string{"unextended: a"}}))
}

// The problems include repeated keys that returned another task.
func TestKeysThatLeadToAnotherTaskAreNamed(t *testing.T) {
	t.Parallel()
	assert.Empty(t, Balance(&result.Ledger{Repeated: 5}))
	assert.Equal(t, []string{"not idempotent: 1 of 5 repeated enqueues with the same key returned another task id; the first: rekeyed: a"},
		Balance(&result.Ledger{Repeated: 5, Rekeyed: 1, Samples: []string{"rekeyed: a"}}))
	assert.Equal(t, []string{"not labelled as enqueued: 1 of 5 deliveries had wrong headers; the first: wrong headers: a"},
		Balance(&result.Ledger{Labelled: 5, WrongHeaders: 1, Samples: []string{"wrong headers: a"}}))
	assert.Equal(t, []string{"not after their members: 1 of 5 final tasks of batches were delivered before all members were completed; the first: premature: a"},
		Balance(&result.Ledger{Finals: 5, Premature: 1, Samples: []string{"premature: a"}}))
	assert.Equal(t, []string{"not noticed: the worker got no notice of 1 of 5 cancellations of leased tasks; the first: unnoticed: a"},
		Balance(&result.Ledger{Cancelled: 5, Unnoticed: 1, Samples: []string{"unnoticed: a"}}))
	assert.Equal(t, []string{"not unique: 1 tasks were unfinished while another task with the same unique key was; 5 enqueues were refused; the first: doubled: a"},
		Balance(&result.Ledger{Taken: 5, Doubled: 1, Samples: []string{"doubled: a"}}))
}

// The problems include the first few wrong reads.
func TestMisreadsAreNamed(t *testing.T) {
	t.Parallel()
	assert.Empty(t, Balance(&result.Ledger{Reads: 5}))
	says := "reads returned wrong data, another tenant's task, or no task although it existed; the first: "
	assert.Equal(t, []string{"not read back: 1 of 5 " + says + "misread: a"}, Balance(&result.Ledger{Reads: 5, Misread: 1, Samples: []string{"revoked: b", "misread: a"}}))
	assert.Equal(t, []string{"not read back: 4 of 5 " + says + "misread: a; quiet: misread: b; misread: c"},
		Balance(&result.Ledger{Reads: 5, Misread: 4, Samples: []string{"misread: a", "quiet: misread: b", "misread: c", "misread: d"}}))
}

// Each kind of fault of recurring tasks is one sentence.
func TestRecurring(t *testing.T) {
	assert.Empty(t, Recurring(&result.Recurring{Due: 5}))
	assert.Equal(t, []string{
		"recurring tasks: 1 of 5 due times became no task; the first: missed: a",
		"recurring tasks: 2 tasks repeat the due time of another one, of 5 due times; the first: twice: b",
		"recurring tasks: 3 tasks had a due time that is not in the schedule, or came before it",
	}, Recurring(&result.Recurring{Due: 5, Missed: 1, Twice: 2, Unscheduled: 3, Samples: []string{"missed: a", "twice: b"}}))
}
