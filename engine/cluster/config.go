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

// Config configures a node of a cluster. The zero value means a server without a cluster.
type Config struct {
	// Node is this node's ID, which must be valid according to nodeid.Check. "" means a server
	// without a cluster.
	Node string
	// Listen is the host:port that other nodes connect to. If the port is 0, the system chooses
	// the port.
	Listen string
	// Advertise is the host:port that other nodes dial to reach this node. "" means the listener's
	// address.
	Advertise string
	// Peers maps node IDs to the addresses that this node uses to reach the nodes. These addresses
	// take precedence over the addresses that the cluster knows, so each may be the address of a
	// proxy. At the first start, if Join is empty, the nodes in Peers are the initial members,
	// which must include this node. If both are empty, this node is the only initial member.
	Peers map[string]string
	// Join lists addresses of members. At its first start, the node joins the cluster of these
	// members.
	Join []string
	// CertsDir is the folder with the certificate that this node presents to other nodes. Package
	// certs describes the files.
	CertsDir string
	// ElectionTimeout is the time that a candidate waits for votes; 0 means DefaultElectionTimeout.
	ElectionTimeout time.Duration
	// HeartbeatTimeout is the time that a follower waits for a message from the leader before it
	// stands for election. 0 means ElectionTimeout, which is also the maximum.
	HeartbeatTimeout time.Duration
	// LeaderLease is how long a leader that cannot reach a majority continues to lead. 0
	// means half of ElectionTimeout, but at most HeartbeatTimeout.
	LeaderLease time.Duration
	// AppendEntriesMax limits the number of entries in one message to a follower and in one write
	// to the log. 0 means replica.DefaultAppendEntriesMax.
	AppendEntriesMax int
	// MessagesInFlight limits the number of concurrent messages to one follower. 0 means
	// replica.DefaultMessagesInFlight.
	MessagesInFlight int
	// Alone disables group commit: each command becomes a separate entry. It is used to measure the
	// benefit of group commit.
	Alone bool
	// ClockSkewMax is the maximum difference between a leading node's clock and the median of the
	// voters' clocks. It ranges from 0 to ClockSkewMaxMax. If another leader granted a lease, the
	// new leader extends it by clock.LeaseGrace(ClockSkewMax). If ClockSkewMax is 0, leading does
	// not depend on clocks, and leases are not extended.
	ClockSkewMax time.Duration
}

// These limit the fields of Config.
const (
	DefaultElectionTimeout = 500 * time.Millisecond
	ElectionTimeoutMin     = 100 * time.Millisecond
	ElectionTimeoutMax     = time.Minute
	HeartbeatTimeoutMin    = 50 * time.Millisecond
	LeaderLeaseMin         = 25 * time.Millisecond
	AppendEntriesMaxMax    = 1024
	MessagesInFlightMax    = 64
	ClockSkewMaxMax        = time.Minute
	peersMax               = 32 // maximum number of elements of Peers, and of Join
)

// On reports whether the server is a node of a cluster.
func (c *Config) On() bool { return c.Node != "" }

// Reach returns the address that other hosts use to reach a listener of this node. listener is the
// listener's host:port. If the listener is on all interfaces, Reach replaces the host by the host
// that other nodes use to reach this node.
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

// Check returns all problems of the configuration, or nil.
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

// checkTimers checks the timers and limits of Raft. Raft requires that the leader lease does not
// exceed the heartbeat timeout, and that the heartbeat timeout does not exceed the election
// timeout.
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
		errs = append(errs, setting.Errorf("cluster.append_entries_max", "", "cluster entries per message %d are not from 1 to %d", n, AppendEntriesMaxMax))
	}
	if n := c.MessagesInFlight; n < 0 || n > MessagesInFlightMax {
		errs = append(errs, setting.Errorf("cluster.messages_in_flight", "", "cluster messages in flight %d are not from 1 to %d", n, MessagesInFlightMax))
	}
	return errs
}

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
		problem("cluster.listen", "advertise one with --cluster-advertise", "other nodes cannot connect to cluster listen address %q", c.Listen)
	}
	if c.Advertise != "" {
		if err := nodeid.CheckAddress(c.Advertise); err != nil {
			problem("cluster.advertise", "", "cluster advertised address %w", err)
		}
	}
	if _, among := c.Peers[c.Node]; len(c.Peers) > 0 && len(c.Join) == 0 && !among {
		problem("cluster.peers", "the peers are the initial members: add this node, or name nodes to join with --cluster-join", "cluster peers lack this node, %s", c.Node)
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
