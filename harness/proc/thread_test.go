package proc

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// OnThread never uses the main thread, and the thread ends afterwards.
func TestOnThread(t *testing.T) {
	var threads []int
	for range 200 {
		thread := make(chan int)
		OnThread(func() { thread <- unix.Gettid() })
		threads = append(threads, <-thread)
	}
	assert.NotContains(t, threads, os.Getpid())
	require.Eventually(t, func() bool {
		for _, thread := range threads {
			if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", thread)); err == nil {
				return false
			}
		}
		return true
	}, time.Minute, time.Millisecond)
}
