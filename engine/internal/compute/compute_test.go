package compute

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestStepsAreOneSequence(t *testing.T) {
	assert.Equal(t, Steps(100), Steps(100))
	assert.NotEqual(t, Steps(100), Steps(101))
	assert.EqualValues(t, 1, Steps(0))
}
