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
	reports := make(chan time.Duration, 100)
	s := &Slow{Than: time.Millisecond, Report: func(took time.Duration) { reports <- took }}
	s.see(int64(time.Millisecond))
	assert.False(t, s.Reported(), "equal to the bound")
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() { s.see(int64(2*time.Millisecond) + int64(i)) })
	}
	all.Wait()
	assert.True(t, s.Reported())
	assert.Len(t, reports, 1)
	assert.GreaterOrEqual(t, <-reports, 2*time.Millisecond)
}
