package ledger

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestResultsThatAreReadBack(t *testing.T) {
	l := newLedger(1)
	l.ResultBack(task(0, 0), []byte("abc"), []byte("abc"))
	assert.Zero(t, l.Balance().WrongResults)
	l.ResultBack(task(0, 1), []byte("abc"), []byte("abd"))
	l.ResultBack(task(0, 2), []byte("abc"), []byte("abcd"))
	l.WrongResult(task(0, 3), "was answered with no result")
	balance := l.Balance()
	assert.Equal(t, []uint64{4, 3}, []uint64{balance.Results, balance.WrongResults})
	assert.Equal(t, []string{
		"wrong result: producer 0 task 1: the read of its result was answered with another result: 3 bytes instead of 3 that differ from byte 2 on",
		"wrong result: producer 0 task 2: the read of its result was answered with another result: 4 bytes instead of 3 that differ from byte 3 on",
		"wrong result: producer 0 task 3: the read of its result was answered with no result",
	}, balance.Samples)
}
