package profile

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

func TestAreasDivideTheCPUTime(t *testing.T) {
	p := stacks(map[string]int64{"a": 10, "b": 20, "c": 30, "d": 40, "e": 50}, map[string][]string{
		"a": {"runtime.futex", "app.(*Shard).run"},
		"b": {"app.decide", "app.(*Shard).run", "runtime.main"},
		"c": {"runtime.futex", "runtime.mcall"},
		"d": {"other.run"},
		"e": {"other.spin", "runtime.futex"},
	})
	areas := []Area{
		{Name: "decide", Within: []string{"none", "app.(*Shard).run"}},
		{Name: "wait", Within: []string{"runtime.futex"}, Innermost: true},
	}
	ns, samples, err := divide(p, areas)
	require.NoError(t, err)
	assert.Equal(t, map[string]float64{"decide": 30e7, "wait": 30e7, "": 90e7}, ns)
	assert.Equal(t, 150, samples)
	ns, _, err = divide(p, []Area{areas[1]})
	require.NoError(t, err)
	assert.Equal(t, map[string]float64{"wait": 40e7, "": 110e7}, ns)

	_, _, err = (&Session{}).Areas(areas)
	golden.Cases(t, "testdata/divide.golden").Error(t, "no CPU profile", err)
}
