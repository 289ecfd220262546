package topology

import (
	"context"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/scenario"
)

// Config says what to start and where.
type Config struct {
	Binary   string            // the queued binary, see FindServer
	Dir      string            // an existing folder, in which the server's own is made
	LogPath  string            // where the server's stdout and stderr go; kept. An existing file is replaced
	Topology scenario.Topology // what to start
	Env      []string          // "NAME=value", added to this process's environment

	StartTimeout time.Duration // for the server to become ready; 0 means 20 s
	StopTimeout  time.Duration // for the server to end after SIGTERM; 0 means 10 s
}

const (
	startTimeoutDefault = 20 * time.Second
	stopTimeoutDefault  = 10 * time.Second
)

// Start brings the topology up, with an empty data folder, and returns when it is ready to serve.
// When it fails, also because ctx was cancelled, nothing but the log is left. A failure of the
// server is a *ServerError.
//
// The server's life does not depend on ctx afterwards: the caller must call Stop. It ends by itself
// only when this process dies.
func Start(ctx context.Context, config Config) (*Node, error) {
	if config.StartTimeout <= 0 {
		config.StartTimeout = startTimeoutDefault
	}
	if config.StopTimeout <= 0 {
		config.StopTimeout = stopTimeoutDefault
	}
	switch config.Topology.Kind {
	case "single": // topology "single" { durability = "sync" }
		if config.Topology.Shards > 1 {
			return nil, fmt.Errorf("start topology: %d shards; topology %q has one", config.Topology.Shards, config.Topology.Kind)
		}
	case "sharded": // topology "sharded" { shards = 4  durability = "sync" }
		if config.Topology.Shards < 1 {
			return nil, fmt.Errorf("start topology: %d shards; there must be at least one", config.Topology.Shards)
		}
	default:
		return nil, fmt.Errorf("start topology: kind %q is unknown; use %q or %q", config.Topology.Kind, "single", "sharded")
	}
	return startFresh(ctx, config)
}
