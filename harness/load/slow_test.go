package load

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestSlowIsToldOnce(t *testing.T) {
	t.Parallel()
	var nobody *Slow
	nobody.see(int64(time.Hour))
	told := make(chan time.Duration, 100)
	s := &Slow{Than: time.Millisecond, Tell: func(took time.Duration) { told <- took }}
	s.see(int64(time.Millisecond))
	assert.False(t, s.Told(), "as slow as it may be")
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() { s.see(int64(2*time.Millisecond) + int64(i)) })
	}
	all.Wait()
	assert.True(t, s.Told())
	assert.Len(t, told, 1)
	assert.GreaterOrEqual(t, <-told, 2*time.Millisecond)
}
