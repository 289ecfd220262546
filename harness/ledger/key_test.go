package ledger

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAKeyLeadsToTheFirstTask(t *testing.T) {
	l := newLedger(1)
	l.Repeated(task(0, 0), "k", "a", "a")
	assert.Zero(t, l.Balance().Rekeyed)
	l.Repeated(task(0, 1), "k", "a", "b")
	balance := l.Balance()
	assert.Equal(t, []uint64{2, 1}, []uint64{balance.Repeated, balance.Rekeyed})
	assert.Equal(t, []string{`rekeyed: producer 0 task 1 was enqueued as "a" under the key "k", and again as "b"`}, balance.Samples)
}
