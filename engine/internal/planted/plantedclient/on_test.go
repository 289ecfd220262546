//go:build planted

package plantedclient

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAClientTakesItsOwnFaultOnly(t *testing.T) {
	for text, want := range map[string]int{"": 0, "cpu:500ns": 0, "work:7": 0, "client:700": 700} {
		got, err := parse(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"client", "client:", "client:0", "client:5us", "client:999999999"} {
		_, err := parse(text)
		assert.ErrorContains(t, err, "PRONY_PLANTED: use 1 to 4194304 steps", text)
	}
}
