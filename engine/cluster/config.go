package cluster

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/engine/internal/nodeid"
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
	problem := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !c.On() {
		for name, given := range map[string]bool{
			"peers": len(c.Peers) > 0, "nodes to join": len(c.Join) > 0, "certificates": c.CertsDir != "", "advertised address": c.Advertise != "",
		} {
			if given {
				problem("cluster %s given without a cluster node: name this node, or leave it out", name)
			}
		}
		slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
		return errs
	}
	if err := nodeid.Check(c.Node); err != nil {
		problem("cluster node %w", err)
	}
	errs = append(errs, c.checkAddresses()...)
	if c.CertsDir == "" {
		problem("cluster certificates are missing: name the folder that 'queued cluster init' made for node %s", c.Node)
	}
	if t := c.ElectionTimeout; t != 0 && (t < ElectionTimeoutMin || t > ElectionTimeoutMax) {
		problem("cluster election timeout %v is not from %v to %v", t, ElectionTimeoutMin, ElectionTimeoutMax)
	}
	if d := c.ClockSkewMax; d < 0 || d > ClockSkewMaxMax {
		problem("cluster clock skew %v is not from 0 to %v", d, ClockSkewMaxMax)
	}
	return errs
}

// checkAddresses checks where this node listens and where it reaches others.
func (c *Config) checkAddresses() (errs []error) {
	problem := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	host, _, err := net.SplitHostPort(c.Listen)
	ip := net.ParseIP(host)
	switch {
	case err != nil:
		problem("cluster listen address %q: %w: write host:port", c.Listen, err)
	case c.Advertise == "" && (host == "" || ip != nil && ip.IsUnspecified()):
		problem("cluster listen address %q is no address that others could connect to: advertise one", c.Listen)
	}
	if c.Advertise != "" {
		if err := nodeid.CheckAddress(c.Advertise); err != nil {
			problem("cluster advertised address %w", err)
		}
	}
	if _, among := c.Peers[c.Node]; len(c.Peers) > 0 && len(c.Join) == 0 && !among {
		problem("cluster peers lack this node, %s: they are the initial members; add it, or name nodes to join", c.Node)
	}
	if n := max(len(c.Peers), len(c.Join)); n > peersMax {
		problem("cluster names %d nodes: name at most %d", n, peersMax)
	}
	at := map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(c.Peers)) {
		address := c.Peers[id]
		if err := nodeid.Check(id); err != nil {
			problem("cluster peer %w", err)
		}
		if err := nodeid.CheckAddress(address); err != nil {
			problem("cluster peer %s: address %w", id, err)
		}
		if other, taken := at[address]; taken {
			problem("cluster peers %s and %s have the same address, %s", other, id, address)
		}
		at[address] = id
	}
	for _, address := range c.Join {
		if err := nodeid.CheckAddress(address); err != nil {
			problem("cluster node to join: address %w", err)
		}
	}
	return errs
}
