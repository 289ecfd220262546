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
	l.WrongResult(task(0, 3), "no result")
	balance := l.Balance()
	assert.Equal(t, []uint64{4, 3}, []uint64{balance.Results, balance.WrongResults})
	assert.Equal(t, []string{
		"wrong result: producer 0 task 1: read back 3 bytes, expected 3; the first difference is at byte 2",
		"wrong result: producer 0 task 2: read back 4 bytes, expected 3; the first difference is at byte 3",
		"wrong result: producer 0 task 3: no result",
	}, balance.Samples)
}
