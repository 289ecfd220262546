package result

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Each metric has a meaning, and no two meanings are equal.
func TestMeanings(t *testing.T) {
	seen := map[string]string{}
	for _, s := range Specs() {
		meaning := s.Meaning()
		assert.NotEmpty(t, meaning, s.Name)
		assert.NotContains(t, seen, meaning, s.Name)
		seen[meaning] = s.Name
	}
	for name := range meanings {
		_, known := Lookup(name)
		assert.True(t, known, name)
	}
	p99, _ := Lookup(CycleLatencyMs + "_p999")
	assert.Contains(t, p99.Meaning(), "99.9 %")
}
