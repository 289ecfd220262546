package young

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Commits larger than the retained buffer allocate about their own size, not several times that.
func TestLargeCommitsAllocateTheirSize(t *testing.T) {
	const size = 16 << 10
	value := make([]byte, size)
	var p Puts
	commit := func(values int) {
		for i := range values {
			p.Add(Key{Prefix: 't', Queue: 1, Seq: uint64(i)}, value)
		}
		p.Reset()
	}
	allocated := func(values int) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		commit(values)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	for _, values := range []int{96, 512} {
		commit(values)
		assert.Less(t, allocated(values), uint64(values*size*5/4), "%d values", values)
		assert.Less(t, allocated(1), uint64(2*size), "a small commit after a large one does not allocate for a large one")
		commit(values)
		assert.Less(t, allocated(2*values), uint64(8*values*size), "a commit may be larger than the previous one")
	}
	// Sizes vary. The buffer has the size of the largest recent commit, and shrinks when large
	// commits cease.
	p = Puts{}
	commit(512)
	commit(384)
	assert.Less(t, allocated(448), uint64(448*size*5/4))
	for range 20 {
		commit(96)
	}
	assert.Less(t, allocated(96), uint64(96*size*5/4))
}
