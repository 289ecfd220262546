package observe

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

func TestSleepsAreVoluntarySwitchesOfTheThreadsThatSlept(t *testing.T) {
	before, err := ContextSwitches(os.Getpid())
	require.NoError(t, err)
	done := make(chan struct{})
	go func() { // probably not on the process's first thread
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for range 20 {
			time.Sleep(time.Millisecond) // each sleep is a voluntary switch
		}
	}()
	<-done
	after, err := ContextSwitches(os.Getpid())
	require.NoError(t, err)
	assert.GreaterOrEqual(t, after.Voluntary, before.Voluntary+10)
	_, err = ContextSwitches(-1)
	golden.Cases(t, "testdata/switches.golden").Error(t, "no process", err)
}

func TestIdlePercent(t *testing.T) {
	before, after := HostCPU{all: 10, idle: 4}, HostCPU{all: 14, idle: 5}
	assert.InDelta(t, 25, after.IdlePercent(before), 1e-9)
	assert.Zero(t, after.IdlePercent(after))
	if c, known := ReadHostCPU(); known {
		assert.Positive(t, c.all)
		assert.GreaterOrEqual(t, c.all, c.idle)
	}
}
