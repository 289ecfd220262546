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

// Config says what to start and where.
type Config struct {
	Binary   string            // the queued binary, see FindServer
	Dir      string            // an existing folder, in which the topology's own is made; unused with Keep
	LogPath  string            // where the servers' stdout and stderr go; of a cluster's node its id comes before the extension. Kept. An existing file is replaced
	Topology scenario.Topology // what to start
	Env      []string          // "NAME=value", added to this process's environment
	// Keep is an existing folder in which the servers' data, ports and certificates stay after Stop and after the death of this process, for
	// Resume; "" keeps nothing.
	Keep string
	CPUs []int // that the server processes may use, all of them together; without any all that this process may
	// SmallPages has the kernel map the server processes by small pages only, see proc.Settings.
	SmallPages bool

	StartTimeout time.Duration // for all servers to become ready; 0 means 20 s
	StopTimeout  time.Duration // for a server to end after SIGTERM; 0 means 10 s

	// Network is the hosts that the nodes of a cluster are on, one each, for a topology with hosts; else nil. It stays the caller's, and must
	// live as long as the cluster.
	Network *hosts.Network

	// PeerAddress returns where one node of a cluster is to reach another; nil means at its own address. It is asked
	// once for each ordered pair before any server starts, with the ids of both and the other's own address, which is
	// "127.0.0.1:port" and stays the same for the whole life of the cluster.
	PeerAddress func(from, to, address string) (string, error)
}

const (
	startTimeoutDefault = 20 * time.Second
	stopTimeoutDefault  = 10 * time.Second
)

// Start brings the topology up, with empty data folders, and returns when it is ready to serve: of a cluster, when all
// of its nodes are and every shard has a leader. When it fails, also because ctx was cancelled, nothing but the logs and
// what is in Config.Keep is left. A failure of a server is a *ServerError.
//
// The servers' life does not depend on ctx afterwards: the caller must call Stop. They end by themselves only when this
// process dies. The server of topology "embedded" is a part of this process; topologies "none" and "target" have no server here.
func Start(ctx context.Context, config Config) (*Cluster, error) {
	if err := config.prepare(); err != nil {
		return nil, fmt.Errorf("start topology: %w", err)
	}
	if (config.Topology.Hosts != nil) != (config.Network != nil) {
		return nil, errors.New("start topology: hosts are for a topology that says what lies between them, and for no other: give both or neither")
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

// prepare sets what is left out, and checks the rest.
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
		return fmt.Errorf("tls is true of topology %q, which listens on %q: set tls to false, or listen on TCP", t.Kind, t.Listen)
	}
	if len(t.Settings) > 0 && t.Kind != scenario.ByProgram && (t.DefaultSettings || t.Kind != "single" && t.Kind != "sharded" && t.Kind != "raft") {
		return fmt.Errorf("settings are given to topology %q, whose server takes none", t.Kind)
	}
	switch t.Kind {
	case "single": // topology "single" { durability = "sync" }
		if t.Shards > 1 {
			return fmt.Errorf("%d shards; topology %q has one", t.Shards, t.Kind)
		}
	case "sharded", "raft": // topology "raft" { nodes = 3  shards = 4  durability = "sync" }
		if t.Shards < 1 {
			return fmt.Errorf("%d shards; there must be at least one", t.Shards)
		}
		if t.Kind == "raft" && (t.Nodes < 1 || t.Nodes > scenario.NodesMax) {
			return fmt.Errorf("%d nodes; there may be 1 to %d", t.Nodes, scenario.NodesMax)
		}
		if t.Kind == "raft" && t.Listen == "unix" {
			return fmt.Errorf("topology %q listens on TCP", t.Kind)
		}
	case scenario.Remote: // topology "remote" { durability = "sync"  node "n1" { address = "10.0.0.1:7070"  admin = "10.0.0.1:7071" } }
		return checkRemote(t)
	case scenario.Embedded: // topology "embedded" { durability = "none" }
		if t.Procs > 0 || t.BusyPoll || t.Listen == "unix" {
			return fmt.Errorf("topology %q has no process and no connection of its own: procs, busy_poll and listen don't apply", t.Kind)
		}
	case scenario.NoTopology, scenario.ByProgram: // what a driver program launches is no server of a Cluster
	default:
		return fmt.Errorf("kind %q is unknown; use %q, %q, %q, %q, %q or %q", t.Kind, "single", "sharded", "raft", scenario.Remote, scenario.Embedded, scenario.NoTopology)
	}
	return nil
}
