package proc

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// largePages returns "1" for a process that may have large pages, and "0" otherwise, as in the
// kernel's status file.
func largePages(t *testing.T, pid int) string {
	t.Helper()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	require.NoError(t, err)
	_, enabled, known := strings.Cut(string(status), "THP_enabled:")
	if !known {
		t.Skip("kernels before Linux 5.0 do not report who may have large pages")
	}
	enabled, _, _ = strings.Cut(enabled, "\n")
	return strings.TrimSpace(enabled)
}

// Children inherit the restriction to small pages. This process and its other children do not
// change.
func TestProcessWithSmallPages(t *testing.T) {
	before := largePages(t, os.Getpid())
	small, said := startedWith(t, Settings{SmallPages: true}, "child", "hang")
	child, err := strconv.Atoi(line(t, said))
	require.NoError(t, err)
	assert.Equal(t, "0", largePages(t, small.PID()))
	assert.Equal(t, "0", largePages(t, child))

	assert.Equal(t, before, largePages(t, os.Getpid()))
	other, said := started(t, "obey 0")
	line(t, said)
	assert.Equal(t, before, largePages(t, other.PID()))
}

// Processes that are started simultaneously get the pages that each requested.
func TestSmallPagesAtTheSameTime(t *testing.T) {
	before := largePages(t, os.Getpid())
	type outcome struct {
		small bool
		*Process
		error
	}
	const pairs = 20
	all := make(chan outcome, 2*pairs)
	for i := range 2 * pairs {
		small := i%2 == 0
		go func() {
			p, err := StartWith(Settings{SmallPages: small}, exec.Command(itself(t), "hang"))
			all <- outcome{small, p, err}
		}()
	}
	for range 2 * pairs {
		o := <-all
		require.NoError(t, o.error)
		want := before
		if o.small {
			want = "0"
		}
		assert.Equal(t, want, largePages(t, o.PID()))
		require.NoError(t, o.Kill())
	}
}

// A process without large pages stays without them, and the flags of a process with large pages on
// request are restored.
func TestSmallPagesLeaveTheStarterAsItWas(t *testing.T) {
	set := func(off, flags uintptr) error { return unix.Prctl(unix.PR_SET_THP_DISABLE, off, flags, 0, 0) }
	t.Cleanup(func() { require.NoError(t, set(0, 0)) })
	for _, flags := range []uintptr{0, unix.PR_THP_DISABLE_EXCEPT_ADVISED} {
		if err := set(1, flags); flags != 0 && err != nil {
			t.Skip("kernels before Linux 6.18 support only on and off")
		}
		_, said := startedWith(t, Settings{SmallPages: true}, "obey 0")
		line(t, said)
		now, err := unix.PrctlRetInt(unix.PR_GET_THP_DISABLE, 0, 0, 0, 0)
		require.NoError(t, err)
		assert.EqualValues(t, 1|flags, now)
	}
}
