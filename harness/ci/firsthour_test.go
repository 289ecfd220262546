package ci_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/longtest"
)

// TestTheFirstHour runs the blocks of the committed READMEs on their documented ports.
func TestTheFirstHour(t *testing.T) {
	longtest.Only(t)
	out, code := script(t, "first-hour", "", nil)
	require.Equal(t, 0, code, out)
	assert.Regexp(t, `\n1[0-9] blocks passed, 0 failed\n$`, out)
}
