package observe

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// processLine returns /proc/PID/stat of a process. Its CPU time and that of its ended children are
// in hundredths of a second.
func processLine(pid, parent int, name string, own, ended, started int) string {
	return fmt.Sprintf("%d (%s) S %d 1 1 0 -1 0 0 0 0 0 %d 0 %d 0 20 0 1 0 %d 1000 10 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
		pid, name, parent, own, ended, started)
}

func TestForeignProcessesAreNamed(t *testing.T) {
	root := unifiedHost(t)
	put(t, root, map[string]string{
		"proc/10/stat": processLine(10, 1, "shell", 100, 0, 1),
		"proc/20/stat": processLine(20, 10, "a (b) c", 500, 0, 2),
		"proc/21/stat": processLine(21, 10, "build", 900, 0, 3),
		"proc/30/stat": processLine(30, 1, "own", 5, 0, 4),
		"proc/31/stat": processLine(31, 30, "server", 5, 0, 5),
		"proc/40/stat": processLine(40, 1, "idle", 7000, 0, 6),
	})
	w := StartWatch(WatchConfig{
		Root: root, Every: time.Hour,
		OwnCPU: func() (time.Duration, error) { return 0, nil }, OwnProcesses: func() []int { return []int{30, 31} },
	})
	// Of 1,000 hundredths of a second of all CPUs, 700 are busy.
	put(t, root, map[string]string{
		"proc/stat":    statLine(1700, 0, 500, 8300, 0, 10, 90, 400),
		"proc/20/stat": processLine(20, 10, "a (b) c", 600, 0, 2),
		// The build has ended: its shell waited for it, and for another process that started and
		// ended in between.
		"proc/10/stat": processLine(10, 1, "shell", 100, 900+50+30, 1),
		"proc/31/stat": processLine(31, 30, "server", 305, 0, 5),
		"proc/40/stat": processLine(40, 1, "idle", 7001, 0, 6),
		"proc/50/stat": processLine(50, 1, "new", 20, 0, 9),
		"proc/51/stat": processLine(51, 1, "new", 20, 0, 9),
		"proc/52/stat": processLine(52, 1, "late", 15, 0, 9),
	})
	require.NoError(t, os.RemoveAll(root+"/proc/21"))
	s := w.Stop()
	require.NotNil(t, s.ForeignCPUPercent)
	assert.InDelta(t, 70, *s.ForeignCPUPercent, 0.01)
	require.Len(t, s.ForeignProcesses, 3)
	for i, want := range []result.ForeignProcess{{Name: "a (b) c", CPUPercent: 10}, {Name: "shell", CPUPercent: 8}, {Name: "new", CPUPercent: 4}} {
		assert.Equal(t, want.Name, s.ForeignProcesses[i].Name)
		assert.InDelta(t, want.CPUPercent, s.ForeignProcesses[i].CPUPercent, 0.01)
	}
}

// A process with the number of an ended process is a different process.
func TestForeignTellsProcessesOfOneNumberApart(t *testing.T) {
	before := map[int]processTimes{5: {name: "old", started: 1, cpu: time.Hour}}
	after := map[int]processTimes{5: {name: "new", started: 2, cpu: time.Second}}
	none := func(int) bool { return false }
	assert.Equal(t, []result.ForeignProcess{{Name: "new", CPUPercent: 50}}, foreign(before, after, none, 2*time.Second))
	assert.Empty(t, foreign(nil, after, func(pid int) bool { return pid == 5 }, 2*time.Second))
	assert.Empty(t, foreign(nil, after, none, 1000*time.Second), "below one percent")
}

// If the watch knows the processes of the run, it names a child of this process that is not one of
// them. Otherwise it names no descendant.
func TestAForeignChildIsNamed(t *testing.T) {
	self := os.Getpid()
	// The latter two exceed the largest process id.
	names := map[int]string{self: "self", 5_000_060: "server", 5_000_061: "child"}
	for want, own := range map[string]func() []int{"child": func() []int { return []int{5_000_060} }, "": nil} {
		root := unifiedHost(t)
		used := func(cpu int) {
			for pid, name := range names {
				parent := self
				if pid == self {
					parent = 1
				}
				put(t, root, map[string]string{fmt.Sprintf("proc/%d/stat", pid): processLine(pid, parent, name, cpu, 0, 1)})
			}
		}
		used(0)
		w := StartWatch(WatchConfig{Root: root, Every: time.Hour, OwnCPU: func() (time.Duration, error) { return 0, nil }, OwnProcesses: own})
		put(t, root, map[string]string{"proc/stat": statLine(1700, 0, 500, 8300, 0, 10, 90, 400)})
		used(100)
		var found []string
		for _, p := range w.Stop().ForeignProcesses {
			found = append(found, p.Name)
		}
		assert.Equal(t, want, strings.Join(found, ", "))
	}
}
