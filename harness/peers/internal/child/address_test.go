package child

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAddressesAreFreeAndDifferent(t *testing.T) {
	addresses, err := Addresses(3)
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, address := range addresses {
		seen[Port(address)] = true
		assert.Error(t, Accepts(t.Context(), address))
	}
	assert.Len(t, seen, 3)
}

// The OS does not choose a reserved port for another listener. Linux usually chooses from 28,000
// ports: without reservations, on average 14 of 800 listeners would get one of 500 ports.
func TestReservedPortsAreNotChosenAgain(t *testing.T) {
	addresses, err := Addresses(500)
	require.NoError(t, err)
	reserved := map[string]bool{}
	for _, address := range addresses {
		reserved[address] = true
	}
	for range 800 {
		other, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer func() { require.NoError(t, other.Close()) }()
		require.False(t, reserved[other.Addr().String()])
	}
	server, err := net.Listen("tcp", addresses[0])
	require.NoError(t, err)
	require.NoError(t, server.Close())
}
