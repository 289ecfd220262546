package peer

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestABadConfigurationIsNamed(t *testing.T) {
	taken := start(t, "n1")
	for _, c := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Node = "" }, "node is empty"},
		{func(c *Config) { c.Node = "Node" }, `node "Node" is not a node id`},
		{func(c *Config) { c.Node = strings.Repeat("n", 33) }, "1 to 32 characters"},
		{func(c *Config) { c.Credentials = nil }, "no certificate"},
		{func(c *Config) { c.Peers = map[string]string{"N": "h:1"} }, `peers: node "N" is not a node id`},
		{func(c *Config) { c.Peers = map[string]string{"n2": "host"} }, `peers: node n2: address "host"`},
		{func(c *Config) { c.Peers = map[string]string{"n2": ":7073"} }, `address ":7073" has no host`},
		{func(c *Config) { c.Peers = map[string]string{"n2": "h:0"} }, "from 1 to 65535"},
		{func(c *Config) { c.Peers = map[string]string{"n2": "h:65536"} }, "from 1 to 65535"},
		{func(c *Config) { c.Peers = map[string]string{"n2": "h:1", "n3": "h:1"} }, "nodes n2 and n3 have the same address"},
		{func(c *Config) { c.Listen = taken.Addr() }, taken.Addr()},
		{func(c *Config) { c.Listen = ":0" }, "set advertise to the address"},
		{func(c *Config) { c.Listen, c.Advertise = ":0", "0.0.0.0:7073" }, "has no host"},
		{func(c *Config) { c.Advertise = "host" }, `advertise: address "host"`},
	} {
		config := Config{Node: "n2", Listen: "127.0.0.1:0", Credentials: credentials(t, "n2")}
		c.change(&config)
		m, err := Listen(config)
		require.ErrorContains(t, err, c.want)
		assert.Nil(t, m)
	}
	m, err := Listen(Config{Node: strings.Repeat("n", 31) + "-", Listen: ":0", Advertise: "host:7073", Credentials: credentials(t, "n2"), Peers: map[string]string{"n2": "[::1]:7073"}})
	require.NoError(t, err)
	assert.Equal(t, "host:7073", m.Addr())
	require.NoError(t, m.Close())
}

func TestTheBoundsAreThoseOfTheDesign(t *testing.T) {
	m, err := Listen(Config{Node: "n1", Listen: "127.0.0.1:0", Credentials: credentials(t, "n1")})
	require.NoError(t, err)
	assert.Equal(t, defaults, m.bounds)
	assert.Equal(t, 128, cap(m.slots))
	require.NoError(t, m.Close())
}
