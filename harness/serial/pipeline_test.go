package serial

import (
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/generator"
)

func TestASliceWithoutAnAnswerIsRepeated(t *testing.T) {
	ran := 0
	answerAt := func(n int) func() (generator.NoopSlice, error) {
		ran = 0
		return func() (generator.NoopSlice, error) {
			if ran++; ran < n {
				return generator.NoopSlice{Took: sliceLength}, nil
			}
			return generator.NoopSlice{Took: sliceLength, Requests: 7}, nil
		}
	}
	slice, err := answeredSlice(answerAt(3))
	require.NoError(t, err)
	assert.EqualValues(t, 7, slice.Requests)
	assert.Equal(t, 3, ran)

	_, err = answeredSlice(answerAt(stalledMax + 1))
	require.EqualError(t, err, "no request was answered in 20ms, 50 times in a row")
	_, err = answeredSlice(func() (generator.NoopSlice, error) { return generator.NoopSlice{}, io.ErrUnexpectedEOF })
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}
