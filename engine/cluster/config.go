package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/pronybench/prony/engine/internal/nodeid"
	"github.com/pronybench/prony/engine/internal/setting"
)

// Config says how a node takes part in a cluster. The zero value means not at all.
type Config struct {
	// Node is this node's id, as nodeid.Check wants it; "" means that the node stands alone.
	Node string
	// Listen is where the other nodes connect, "host:port"; port 0 lets the system choose.
	Listen string
	// Advertise is the address at which the other nodes reach this one, "host:port"; "" means the listener's.
	Advertise string
	// Peers are the addresses at which this node reaches nodes, by id. They take precedence over the addresses that the
	// cluster knows, so that each may be a proxy. At the first start, without Join, they are the initial members, this node among them; with
	// neither, this node alone is.
	Peers map[string]string
	// Join are addresses of members. At the first start, the node joins their cluster.
	Join []string
	// CertsDir is the folder with the certificate that this node shows to the others, as package certs describes it.
	CertsDir string
	// ElectionTimeout is how long a node hears nothing of a leader before it stands for election; 0 means
	// DefaultElectionTimeout.
	ElectionTimeout time.Duration
	// HeartbeatTimeout is how long a follower hears nothing of a leader before it stands for election; 0 means ElectionTimeout, which then is
	// how long it waits for votes.
	HeartbeatTimeout time.Duration
	// LeaderLease is how long a leader that does not reach a majority goes on leading; 0 means half of ElectionTimeout, and at most
	// HeartbeatTimeout.
	LeaderLease time.Duration
	// AppendEntriesMax is how many entries of the log one message to a follower carries, and one write to the log; 0 means
	// replica.DefaultAppendEntriesMax.
	AppendEntriesMax int
	// MessagesInFlight is how many messages are on their way to a follower at once; 0 means replica.DefaultMessagesInFlight.
	MessagesInFlight int
	// Alone makes each command an entry of its own, to measure what group commit is worth.
	Alone bool
	// ClockSkewMax is how far a node's clock may differ from the median of the voters' for it to lead, 0 to ClockSkewMaxMax. Leases
	// that another leader granted last clock.LeaseGrace of it longer. 0 means that leading does not depend on clocks, and no grace.
	ClockSkewMax time.Duration
}

// Bounds of a cluster's configuration.
const (
	DefaultElectionTimeout = 500 * time.Millisecond
	ElectionTimeoutMin     = 100 * time.Millisecond
	ElectionTimeoutMax     = time.Minute
	HeartbeatTimeoutMin    = 50 * time.Millisecond
	LeaderLeaseMin         = 25 * time.Millisecond
	AppendEntriesMaxMax    = 1024
	MessagesInFlightMax    = 64
	ClockSkewMaxMax        = time.Minute
	peersMax               = 32 // nodes that are named, to be reached or to be joined
)

// On reports whether the node is one of a cluster.
func (c *Config) On() bool { return c.Node != "" }

// Reach returns how other hosts reach a listener of this node, whose address is given as "host:port": at that address, or
// where the listener is on all interfaces, at the host under which the other nodes reach this one.
func (c *Config) Reach(listener string) string {
	host, port, err := net.SplitHostPort(listener)
	if ip := net.ParseIP(host); err != nil || host != "" && (ip == nil || !ip.IsUnspecified()) {
		return listener
	}
	for _, known := range []string{c.Advertise, c.Listen} {
		if host, _, err := net.SplitHostPort(known); err == nil && host != "" {
			return net.JoinHostPort(host, port)
		}
	}
	return listener
}

// Check returns every problem of the configuration.
func (c *Config) Check() (errs []error) {
	problem := func(path, remedy, format string, args ...any) {
		errs = append(errs, setting.Errorf(path, remedy, format, args...))
	}
	if !c.On() {
		for _, s := range []struct {
			path, name string
			given      bool
		}{
			{"cluster.advertise", "advertised address", c.Advertise != ""},
			{"cluster.certs", "certificates", c.CertsDir != ""},
			{"cluster.join", "nodes to join", len(c.Join) > 0},
			{"cluster.peers", "peers", len(c.Peers) > 0},
		} {
			if s.given {
				problem(s.path, "name this node with --cluster-node, or leave it out", "cluster %s given without a cluster node", s.name)
			}
		}
		return errs
	}
	if err := nodeid.Check(c.Node); err != nil {
		problem("cluster.node", "", "cluster node %w", err)
	}
	errs = append(errs, c.checkAddresses()...)
	if c.CertsDir == "" {
		problem("cluster.certs", fmt.Sprintf("name the folder that 'queued cluster init' made for node %s with --cluster-certs", c.Node), "cluster certificates are missing")
	}
	if t := c.ElectionTimeout; t != 0 && (t < ElectionTimeoutMin || t > ElectionTimeoutMax) {
		problem("cluster.election_timeout", "", "cluster election timeout %v is not from %v to %v", t, ElectionTimeoutMin, ElectionTimeoutMax)
	}
	errs = append(errs, c.checkTimers()...)
	if d := c.ClockSkewMax; d < 0 || d > ClockSkewMaxMax {
		problem("cluster.clock_skew_max", "", "cluster clock skew %v is not from 0 to %v", d, ClockSkewMaxMax)
	}
	return errs
}

// checkTimers checks the timers and the bounds of Raft. Raft itself wants the lease at most as long as the heartbeat timeout, and that at most
// as long as the election timeout.
func (c *Config) checkTimers() (errs []error) {
	election := cmp.Or(c.ElectionTimeout, DefaultElectionTimeout)
	heartbeat := cmp.Or(c.HeartbeatTimeout, election)
	if t := c.HeartbeatTimeout; t != 0 && t < HeartbeatTimeoutMin {
		errs = append(errs, setting.Errorf("cluster.heartbeat_timeout", "", "cluster heartbeat timeout %v is not from %v to the election timeout", t, HeartbeatTimeoutMin))
	}
	if heartbeat > election {
		errs = append(errs, setting.Wrap(fmt.Errorf("the cluster heartbeat timeout %v is above the election timeout %v", heartbeat, election),
			"lower --cluster-heartbeat-timeout, or raise --cluster-election-timeout", "cluster.heartbeat_timeout", "cluster.election_timeout"))
	}
	if t := c.LeaderLease; t != 0 && t < LeaderLeaseMin {
		errs = append(errs, setting.Errorf("cluster.leader_lease", "", "cluster leader lease %v is not from %v to the heartbeat timeout", t, LeaderLeaseMin))
	}
	if c.LeaderLease > heartbeat {
		paths, remedy := []string{"cluster.leader_lease", "cluster.heartbeat_timeout"}, "lower --cluster-leader-lease, or raise --cluster-heartbeat-timeout"
		if c.HeartbeatTimeout == 0 {
			paths, remedy = []string{"cluster.leader_lease", "cluster.election_timeout"}, "lower --cluster-leader-lease, or raise --cluster-election-timeout"
		}
		errs = append(errs, setting.Wrap(fmt.Errorf("the cluster leader lease %v is above the heartbeat timeout %v", c.LeaderLease, heartbeat), remedy, paths...))
	}
	if n := c.AppendEntriesMax; n < 0 || n > AppendEntriesMaxMax {
		errs = append(errs, setting.Errorf("cluster.append_entries_max", "", "cluster entries of a message %d are not from 1 to %d", n, AppendEntriesMaxMax))
	}
	if n := c.MessagesInFlight; n < 0 || n > MessagesInFlightMax {
		errs = append(errs, setting.Errorf("cluster.messages_in_flight", "", "cluster messages in flight %d are not from 1 to %d", n, MessagesInFlightMax))
	}
	return errs
}

// checkAddresses checks where this node listens and where it reaches others.
func (c *Config) checkAddresses() (errs []error) {
	problem := func(path, remedy, format string, args ...any) {
		errs = append(errs, setting.Errorf(path, remedy, format, args...))
	}
	host, port, err := net.SplitHostPort(c.Listen)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	ip := net.ParseIP(host)
	switch {
	case err != nil:
		problem("cluster.listen", "write host:port", "cluster listen address %q: %w", c.Listen, err)
	case c.Advertise == "" && (host == "" || ip != nil && ip.IsUnspecified()):
		problem("cluster.listen", "advertise one with --cluster-advertise", "cluster listen address %q is no address that others could connect to", c.Listen)
	}
	if c.Advertise != "" {
		if err := nodeid.CheckAddress(c.Advertise); err != nil {
			problem("cluster.advertise", "", "cluster advertised address %w", err)
		}
	}
	if _, among := c.Peers[c.Node]; len(c.Peers) > 0 && len(c.Join) == 0 && !among {
		problem("cluster.peers", "they are the initial members; add it, or name nodes to join with --cluster-join", "cluster peers lack this node, %s", c.Node)
	}
	if n := max(len(c.Peers), len(c.Join)); n > peersMax {
		problem("cluster.peers", fmt.Sprintf("name at most %d", peersMax), "cluster names %d nodes", n)
	}
	at := map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(c.Peers)) {
		address := c.Peers[id]
		if err := nodeid.Check(id); err != nil {
			problem("cluster.peers", "", "cluster peer %w", err)
		}
		if err := nodeid.CheckAddress(address); err != nil {
			problem("cluster.peers", "", "cluster peer %s: address %w", id, err)
		}
		if other, taken := at[address]; taken {
			problem("cluster.peers", "", "cluster peers %s and %s have the same address, %s", other, id, address)
		}
		at[address] = id
	}
	for _, address := range c.Join {
		if err := nodeid.CheckAddress(address); err != nil {
			problem("cluster.join", "", "cluster node to join: address %w", err)
		}
	}
	return errs
}
