package topology

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/pronybench/prony/harness/hosts"
	"github.com/pronybench/prony/harness/scenario"
)

// Config defines what to start and where.
type Config struct {
	Binary string // path of the queued binary; see FindServer
	// existing folder in which the topology's folder is created; not used if Keep is set
	Dir string
	// LogPath is the file for the servers' stdout and stderr. For a node of a cluster, the node's
	// ID is inserted before the extension. Existing files are replaced. The files remain after
	// Stop.
	LogPath  string
	Topology scenario.Topology
	Env      []string // "NAME=value", added to the environment of this process
	// Keep is an existing folder for the servers' data, ports and certificates. They remain there
	// after Stop and after the death of this process, so that Resume can use them. "" means that
	// they are not kept.
	Keep string
	CPUs []int // CPUs that all server processes may use; empty means the CPUs of this process
	// SmallPages makes the kernel map the server processes only by small pages; see proc.Settings.
	SmallPages bool

	StartTimeout time.Duration // time in which all servers must become ready; 0 means 20 s
	StopTimeout  time.Duration // time in which a server must end after SIGTERM; 0 means 10 s

	// Network contains one host for each node of a cluster, if the topology has hosts. Otherwise it
	// is nil. The caller owns it, and must not close it before the cluster is stopped.
	Network *hosts.Network

	// PeerAddress returns the address that node from must use for node to. address is the listen
	// address of node to. It is "127.0.0.1:port" and does not change during the life of the
	// cluster. If PeerAddress is nil, nodes use the listen addresses. PeerAddress is called once
	// for each ordered pair of nodes, before any server starts.
	PeerAddress func(from, to, address string) (string, error)
}

const (
	startTimeoutDefault = 20 * time.Second
	stopTimeoutDefault  = 10 * time.Second
)

// Start starts the topology with empty data folders, and returns when it is ready. A cluster is
// ready when all of its nodes are ready and every shard has a leader. If Start fails or ctx is
// cancelled, only the logs and the content of Config.Keep remain. If a server fails, the error is a
// *ServerError.
//
// After Start has returned, the servers do not depend on ctx: the caller must call Stop. Without
// Stop they end only when this process dies. The server of topology "embedded" is a part of this
// process. Topologies "none" and "target" have no server in the Cluster.
func Start(ctx context.Context, config Config) (*Cluster, error) {
	if err := config.prepare(); err != nil {
		return nil, fmt.Errorf("start topology: %w", err)
	}
	if (config.Topology.Hosts != nil) != (config.Network != nil) {
		return nil, errors.New("start topology: Topology.Hosts and Network must be set together")
	}
	c, err := newCluster(ctx, config, nil)
	if err != nil {
		return nil, fmt.Errorf("start topology: %w", err)
	}
	if err := c.startAll(ctx); err != nil {
		return nil, fmt.Errorf("start topology: %w", err)
	}
	return c, nil
}

func (c *Config) prepare() error {
	if c.StartTimeout <= 0 {
		c.StartTimeout = startTimeoutDefault
	}
	if c.StopTimeout <= 0 {
		c.StopTimeout = stopTimeoutDefault
	}
	if c.Keep == "" {
		return check(c.Topology)
	}
	switch c.Topology.Kind {
	case scenario.Embedded, scenario.NoTopology, scenario.ByProgram:
		return fmt.Errorf("topology %q has no server process to keep", c.Topology.Kind)
	}
	var err error
	if c.Keep, err = filepath.Abs(c.Keep); err != nil {
		return err
	}
	return check(c.Topology)
}

func check(t scenario.Topology) error {
	if t.TLS && t.Listen != "tcp" {
		return fmt.Errorf("topology %q has tls = true and listens on %q: set tls to false, or listen on TCP", t.Kind, t.Listen)
	}
	if len(t.Settings) > 0 && t.Kind != scenario.ByProgram && (t.DefaultSettings || t.Kind != "single" && t.Kind != "sharded" && t.Kind != "raft") {
		return fmt.Errorf("topology %q does not support settings", t.Kind)
	}
	switch t.Kind {
	case "single": // topology "single" { durability = "sync" }
		if t.Shards > 1 {
			return fmt.Errorf("%d shards; topology %q has 1", t.Shards, t.Kind)
		}
	case "sharded", "raft": // topology "raft" { nodes = 3  shards = 4  durability = "sync" }
		if t.Shards < 1 {
			return fmt.Errorf("%d shards; there must be at least 1", t.Shards)
		}
		if t.Kind == "raft" && (t.Nodes < 1 || t.Nodes > scenario.NodesMax) {
			return fmt.Errorf("%d nodes; there must be 1 to %d", t.Nodes, scenario.NodesMax)
		}
		if t.Kind == "raft" && t.Listen == "unix" {
			return fmt.Errorf("topology %q listens on TCP", t.Kind)
		}
	case scenario.Remote:
		// topology "remote" { durability = "sync"  node "n1" { address = "10.0.0.1:7070" … } }
		return checkRemote(t)
	case scenario.Embedded: // topology "embedded" { durability = "none" }
		if t.Procs > 0 || t.BusyPoll || t.Listen == "unix" {
			return fmt.Errorf("topology %q has no separate process and no network connection: remove procs, busy_poll and listen", t.Kind)
		}
	case scenario.NoTopology, scenario.ByProgram:
		// The Cluster has no servers: there are none, or a driver program launches them.
	default:
		return fmt.Errorf("kind %q is unknown; use %q, %q, %q, %q, %q or %q", t.Kind, "single", "sharded", "raft", scenario.Remote, scenario.Embedded, scenario.NoTopology)
	}
	return nil
}
