//go:build planted

package planted

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func plant(t *testing.T, text string) {
	t.Helper()
	t.Cleanup(func() { require.NoError(t, Begin()) })
	t.Setenv(variable, text)
	require.NoError(t, Begin())
}

// A fault that makes the engine wrong occurs once per amount calls, and no other fault occurs.
func TestPlantedFaultHitsOnceInItsAmount(t *testing.T) {
	plant(t, "lost:4")
	asked.Store(0)
	hits := 0
	for range 12 {
		assert.False(t, Hits(Dropped))
		if Hits(Lost) {
			hits++
		}
	}
	assert.Equal(t, 3, hits)
	assert.Zero(t, Writes())
}

// Another returns a receiver of the same tenant for one fault, and of another tenant for the other.
func TestPlantedFaultFindsAnotherTaker(t *testing.T) {
	for fault, want := range map[string]any{Twice: "b", Stranger: "c"} {
		plant(t, fault+":1")
		alone := map[string]any{Twice: "a"}
		assert.Equal(t, alone[fault], Another(fault, "a", "t"), "no other receiver is known")
		Another(fault, "c", "u")
		Another(fault, "b", "t")
		for range 3 {
			assert.Equal(t, want, Another(fault, "a", "t"), fault)
		}
		for i := range 9 {
			Another(fault, i, "t")
		}
		assert.Len(t, others.all, takersMax)
	}
	others.all = nil
}

// Leaks remain: the bytes of each task, and a goroutine per amount frames.
func TestPlantedLeaksStay(t *testing.T) {
	plant(t, "leak:10000")
	require.NoError(t, Task(nil, ""))
	require.NoError(t, Task(nil, ""))
	require.Len(t, leaked.pieces, 2)
	assert.Len(t, leaked.pieces[1], 10_000)
	leaked.pieces = nil
	plant(t, "goroutines:2")
	frames.Store(0)
	before := runtime.NumGoroutine()
	for range 6 {
		Frame()
	}
	assert.GreaterOrEqual(t, runtime.NumGoroutine()-before, 3)
}

// Calls and requests compute only for their faults.
func TestPlantedCallsCompute(t *testing.T) {
	for _, fault := range []string{"unary", "rest"} {
		plant(t, fault+":7")
		for name, call := range map[string]func(){"unary": Call, "rest": Request} {
			called.Store(0)
			call()
			assert.Equal(t, name == fault, called.Load() != 0, "%s: %s", fault, name)
		}
	}
	plant(t, "writes:3")
	assert.Equal(t, 3, Writes())
}
