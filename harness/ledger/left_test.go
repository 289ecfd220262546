package ledger

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/result"
)

// Tasks that no worker claims count as left, not as lost. Refused tasks and tasks of unknown
// outcome count as neither.
func TestTasksThatNobodyClaimsAreLeft(t *testing.T) {
	l := New(1, 1, nil)
	l.LeaveTasks()
	first := l.Sent(0, 10)
	l.Enqueued(0, first, 7)
	l.Refused(0, first+7, 2)
	l.Unknown(0, first+9, 1)
	assert.Equal(t, result.Ledger{Enqueued: 7, Unknown: 1, Left: 7}, l.Balance())
}
