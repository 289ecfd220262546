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
