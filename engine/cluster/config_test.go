package cluster

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// clustered returns a valid configuration, after change.
func clustered(change func(c *Config)) *Config {
	c := &Config{
		Node: "n1", Listen: "127.0.0.1:0", CertsDir: "certs/n1",
		Peers: map[string]string{"n1": "127.0.0.1:1", "n2": "127.0.0.1:2", "n3": "127.0.0.1:3"},
	}
	change(c)
	return c
}

func TestGoodClusterConfigurations(t *testing.T) {
	for name, change := range map[string]func(c *Config){
		"as it is":             func(*Config) {},
		"alone":                func(c *Config) { *c = Config{} },
		"the first of several": func(c *Config) { c.Peers = nil },
		"joins":                func(c *Config) { c.Peers, c.Join = nil, []string{"127.0.0.1:1", "[::1]:2"} },
		"joins through a proxy": func(c *Config) {
			c.Join = []string{"127.0.0.1:1"}
			delete(c.Peers, "n1")
		},
		"beyond loopback":      func(c *Config) { c.Listen = "10.0.0.1:7073" },
		"all interfaces":       func(c *Config) { c.Listen, c.Advertise = "0.0.0.0:7073", "n1.example:7073" },
		"the shortest timeout": func(c *Config) { c.ElectionTimeout = ElectionTimeoutMin },
		"the longest times of Raft": func(c *Config) {
			c.ElectionTimeout, c.HeartbeatTimeout, c.LeaderLease = time.Minute, time.Minute, time.Minute
		},
		"the shortest times of Raft": func(c *Config) { c.HeartbeatTimeout, c.LeaderLease = HeartbeatTimeoutMin, LeaderLeaseMin },
		"the largest messages":       func(c *Config) { c.AppendEntriesMax, c.MessagesInFlight = AppendEntriesMaxMax, MessagesInFlightMax },
		"the longest times":          func(c *Config) { c.ElectionTimeout, c.ClockSkewMax = time.Minute, time.Minute },
		"the longest id": func(c *Config) {
			c.Node = strings.Repeat("-", 32)
			c.Peers[c.Node] = "localhost:65535"
		},
	} {
		assert.Empty(t, clustered(change).Check(), name)
	}
}

func TestBadClusterConfigurations(t *testing.T) {
	for _, c := range []struct {
		change func(c *Config)
		want   []string
	}{
		{func(c *Config) { c.Node = "" }, []string{
			"cluster certificates given without a cluster node: name this node with --cluster-node, or leave it out",
			"cluster peers given without a cluster node: name this node with --cluster-node, or leave it out",
		}},
		{func(c *Config) { *c = Config{Join: []string{"a:1"}, Advertise: "a:1"} }, []string{
			"cluster advertised address given without a cluster node: name this node with --cluster-node, or leave it out",
			"cluster nodes to join given without a cluster node: name this node with --cluster-node, or leave it out",
		}},
		{func(c *Config) { c.Node, c.Peers = "N1", nil }, []string{`cluster node "N1" is not a node id: use 1 to 32 characters of a-z, 0-9 and -`}},
		{func(c *Config) { c.Node = "n4" }, []string{"cluster peers lack this node, n4: the peers are the initial members: add this node, or name nodes to join with --cluster-join"}},
		{func(c *Config) { c.Listen = "" }, []string{`cluster listen address "": missing port in address: write host:port`}},
		{func(c *Config) { c.Listen = ":7073" }, []string{`other nodes cannot connect to cluster listen address ":7073": advertise one with --cluster-advertise`}},
		{func(c *Config) { c.Listen = "[::]:7073" }, []string{`other nodes cannot connect to cluster listen address "[::]:7073": advertise one with --cluster-advertise`}},
		{func(c *Config) { c.Advertise = "0.0.0.0:1" }, []string{`cluster advertised address "0.0.0.0:1" has no host: use a host that the other nodes reach`}},
		{func(c *Config) { c.Peers["n 4"] = "a:1" }, []string{`cluster peer "n 4" is not a node id: use 1 to 32 characters of a-z, 0-9 and -`}},
		{func(c *Config) { c.Peers["n2"] = "a" }, []string{`cluster peer n2: address "a" is not host:port`}},
		{func(c *Config) { c.Peers["n2"] = "a:0" }, []string{`cluster peer n2: address "a:0" has no port from 1 to 65535`}},
		{func(c *Config) { c.Peers["n2"] = "127.0.0.1:1" }, []string{`cluster peers n1 and n2 have the same address, 127.0.0.1:1`}},
		{func(c *Config) { c.Join = []string{"a:1", ":2"} }, []string{`cluster node to join: address ":2" has no host: use a host that the other nodes reach`}},
		{func(c *Config) {
			for i := range 30 {
				c.Peers[fmt.Sprint("m", i)] = fmt.Sprint("b:", i+1)
			}
		}, []string{"cluster names 33 nodes: name at most 32"}},
		{func(c *Config) { c.CertsDir = "" }, []string{"cluster certificates are missing: name the folder that 'queued cluster init' made for node n1 with --cluster-certs"}},
		{func(c *Config) { c.ElectionTimeout = ElectionTimeoutMin - 1 }, []string{"cluster election timeout 99.999999ms is not from 100ms to 1m0s"}},
		{func(c *Config) { c.ElectionTimeout = time.Minute + 1 }, []string{"cluster election timeout 1m0.000000001s is not from 100ms to 1m0s"}},
		{func(c *Config) { c.HeartbeatTimeout = HeartbeatTimeoutMin - 1 }, []string{"cluster heartbeat timeout 49.999999ms is not from 50ms to the election timeout"}},
		{func(c *Config) { c.HeartbeatTimeout = time.Second }, []string{"the cluster heartbeat timeout 1s is above the election timeout 500ms: lower --cluster-heartbeat-timeout, or raise --cluster-election-timeout"}},
		{func(c *Config) { c.LeaderLease = LeaderLeaseMin - 1 }, []string{"cluster leader lease 24.999999ms is not from 25ms to the heartbeat timeout"}},
		{func(c *Config) { c.LeaderLease = time.Second }, []string{"the cluster leader lease 1s is above the heartbeat timeout 500ms: lower --cluster-leader-lease, or raise --cluster-election-timeout"}},
		{func(c *Config) { c.HeartbeatTimeout, c.LeaderLease = 100*time.Millisecond, 200*time.Millisecond }, []string{"the cluster leader lease 200ms is above the heartbeat timeout 100ms: lower --cluster-leader-lease, or raise --cluster-heartbeat-timeout"}},
		{func(c *Config) { c.AppendEntriesMax = -1 }, []string{"cluster entries per message -1 are not from 1 to 1024"}},
		{func(c *Config) { c.MessagesInFlight = 65 }, []string{"cluster messages in flight 65 are not from 1 to 64"}},
		{func(c *Config) { c.ClockSkewMax = -1 }, []string{"cluster clock skew -1ns is not from 0 to 1m0s"}},
		{func(c *Config) { c.ClockSkewMax = time.Minute + 1 }, []string{"cluster clock skew 1m0.000000001s is not from 0 to 1m0s"}},
	} {
		err := errors.Join(clustered(c.change).Check()...)
		if assert.Error(t, err, "%v", c.want) {
			assert.Equal(t, c.want, strings.Split(err.Error(), "\n"))
		}
	}
}

func TestHowOthersReachAListener(t *testing.T) {
	advertised := Config{Listen: "0.0.0.0:7073", Advertise: "n1.example:7073"}
	for listener, want := range map[string]string{
		"[::]:7070": "n1.example:7070", "0.0.0.0:7070": "n1.example:7070", ":7070": "n1.example:7070",
		"10.0.0.1:7070": "10.0.0.1:7070", "[::1]:7070": "[::1]:7070", "other.example:1": "other.example:1", "unix:/run/q": "unix:/run/q", "": "",
	} {
		assert.Equal(t, want, advertised.Reach(listener))
	}
	assert.Equal(t, "[2001:db8::1]:7070", (&Config{Listen: "[2001:db8::1]:7073"}).Reach("[::]:7070"))
	assert.Equal(t, "[::]:7070", (&Config{}).Reach("[::]:7070"))
}
