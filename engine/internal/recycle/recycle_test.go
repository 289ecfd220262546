package recycle

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTakenElementsAreZero(t *testing.T) {
	var p Pool[*int]
	for n := range 100 {
		s := p.Take(n % 7)
		require.Len(t, s, n%7)
		for range n % 3 {
			s = append(s, nil)
		}
		for i := range s {
			require.Nil(t, s[i])
			s[i] = new(int)
		}
		p.Give(s)
		for _, v := range s {
			require.Nil(t, v, "a returned slice keeps no references")
		}
	}
}

func TestALongSliceIsNotKept(t *testing.T) {
	var p Pool[byte]
	for range 10 {
		p.Give(make([]byte, elementsMax+1))
		assert.LessOrEqual(t, cap(p.Take(1)), elementsMax)
	}
}
