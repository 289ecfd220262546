package driver

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/clienttls"
)

func TestConnectionsPollWhereTheTargetSaysSo(t *testing.T) {
	options := func(t *testing.T, target Target) []grpc.DialOption {
		t.Helper()
		options, err := target.options()
		require.NoError(t, err)
		return options
	}
	assert.Contains(t, options(t, Target{BusyPoll: true}), client.WithBusyPoll())
	assert.Contains(t, options(t, Target{PlaintextToken: true}), client.WithPlaintextToken())
	assert.Empty(t, options(t, Target{}))
	assert.Contains(t, options(t, Target{Idempotent: true}), client.WithIdempotency())
	_, err := Target{CA: clienttls.Made("nothing")}.Dial()
	golden.Cases(t, "testdata/dial.golden").Error(t, "no certificate", err)
}
