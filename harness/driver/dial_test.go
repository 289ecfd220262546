package driver

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/engine/client"
)

func TestConnectionsPollWhereTheTargetSaysSo(t *testing.T) {
	assert.Contains(t, Target{BusyPoll: true}.options(), client.WithBusyPoll())
	assert.Empty(t, Target{}.options())
	assert.Contains(t, Target{Idempotent: true}.options(), client.WithIdempotency())
}
