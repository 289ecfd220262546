package report

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNineTicks(t *testing.T) {
	var names []string
	for _, tick := range nineTicks(4.2) {
		names = append(names, tick.Label)
	}
	assert.Equal(t, []string{"0", "50", "90", "99", "99.9", "99.99"}, names)
}
