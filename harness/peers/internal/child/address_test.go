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

// Between the choice of a port and the start of the server on it, the OS gives the port to nobody else. Of 800 ports out of the usual 28,000, some
// would be among the 500 that are taken here.
func TestAddressesAreGivenToNobodyElse(t *testing.T) {
	addresses, err := Addresses(500)
	require.NoError(t, err)
	taken := map[string]bool{}
	for _, address := range addresses {
		taken[address] = true
	}
	for range 800 {
		other, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer func() { require.NoError(t, other.Close()) }()
		require.False(t, taken[other.Addr().String()])
	}
	server, err := net.Listen("tcp", addresses[0])
	require.NoError(t, err)
	require.NoError(t, server.Close())
}
