package scenario

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A profiled copy has the same configuration, is short, and does not modify the original.
func TestProfiled(t *testing.T) {
	t.Parallel()
	all, err := Load("../../scenarios/full-cycle-batch.hcl")
	require.NoError(t, err)
	s := all[0]
	s.References = []string{ReferenceCPU}
	before := *s
	p := s.Profiled()
	assert.Equal(t, s.Configuration(), p.Configuration())
	assert.Equal(t, before, *s)
	assert.Equal(t, 1, p.Rounds)
	assert.Equal(t, 1, p.Profiles())
	var kinds []string
	for _, c := range p.Captures {
		kinds = append(kinds, c.Kind)
	}
	assert.Equal(t, []string{"cpu", "mutex", "block"}, kinds)
	assert.Empty(t, p.References, "a profiled run needs no references")
}
