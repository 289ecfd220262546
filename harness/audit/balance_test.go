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
		"not exclusive: 1 tasks were claimed while another lease of the task was valid, and 2 completions refused although their lease was valid; the first: contested: a",
	}, Balance(&result.Ledger{Contested: 1, Revoked: 2, Samples: []string{"misrouted: c", "revoked: b", "contested: a"}}))
	assert.Equal(t, []string{
		"not exclusive: 0 tasks were claimed while another lease of the task was valid, and 1 completions refused although their lease was valid; the first: revoked: b",
	}, Balance(&result.Ledger{Revoked: 1, Samples: []string{"revoked: b"}}))
}

// The problems include attempts that were not the next ones.
func TestMiscountedAttemptsAreNamed(t *testing.T) {
	t.Parallel()
	assert.Empty(t, Balance(&result.Ledger{Failed: 5, Retried: 4, Dead: 1}))
	assert.Equal(t, []string{
		"not retried as failed: 2 tasks were claimed with another attempt than the one after the last that was failed; the first: miscounted: a; miscounted: b",
	}, Balance(&result.Ledger{Miscounted: 2, Samples: []string{"revoked: c", "miscounted: a", "miscounted: b"}}))
}

// The problems include tasks that were delivered before they were due.
func TestEarlyTasksAreNamed(t *testing.T) {
	t.Parallel()
	assert.Empty(t, Balance(&result.Ledger{Delayed: 5}))
	assert.Equal(t, []string{"not delayed: 1 of 5 deliveries of tasks with a delay came before the task was due; the first: early: a"},
		Balance(&result.Ledger{Delayed: 5, Early: 1, Samples: []string{"early: a"}}))
}

// The problems include results that differ from those of the completions.
func TestWrongResultsAreNamed(t *testing.T) {
	t.Parallel()
	assert.Empty(t, Balance(&result.Ledger{Results: 5}))
	assert.Equal(t, []string{"not returned: 1 of 5 results of completed tasks were read back as another result, or not found; the first: wrong result: a"},
		Balance(&result.Ledger{Results: 5, WrongResults: 1, Samples: []string{"wrong result: a"}}))
}

// The problems include refused extensions of valid leases.
func TestRefusedExtensionsAreNamed(t *testing.T) {
	t.Parallel()
	assert.Empty(t, Balance(&result.Ledger{Extended: 5}))
	assert.Equal(t, []string{"not extended: 1 extensions were refused although their lease was valid, and 5 acknowledged; the first: unextended: a"},
		Balance(&result.Ledger{Extended: 5, Unextended: 1, Samples: []string{"unextended: a"}}))
}

// The problems include keys that led to another task.
func TestKeysThatLeadToAnotherTaskAreNamed(t *testing.T) {
	t.Parallel()
	assert.Empty(t, Balance(&result.Ledger{Repeated: 5}))
	assert.Equal(t, []string{"not idempotent: 1 of 5 tasks that were enqueued again under their key were answered with another id than the first; the first: rekeyed: a"},
		Balance(&result.Ledger{Repeated: 5, Rekeyed: 1, Samples: []string{"rekeyed: a"}}))
}

// The problems include the first few wrong reads.
func TestMisreadsAreNamed(t *testing.T) {
	t.Parallel()
	assert.Empty(t, Balance(&result.Ledger{Reads: 5}))
	says := "reads were answered with something else than the task, with another tenant's task, or without a task that was there; the first: "
	assert.Equal(t, []string{"not read back: 1 of 5 " + says + "misread: a"}, Balance(&result.Ledger{Reads: 5, Misread: 1, Samples: []string{"revoked: b", "misread: a"}}))
	assert.Equal(t, []string{"not read back: 4 of 5 " + says + "misread: a; quiet: misread: b; misread: c"},
		Balance(&result.Ledger{Reads: 5, Misread: 4, Samples: []string{"misread: a", "quiet: misread: b", "misread: c", "misread: d"}}))
}
