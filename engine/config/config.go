package config

import (
	"log/slog"
	"time"

	"github.com/pronybench/prony/engine/cluster"
	"github.com/pronybench/prony/engine/memory"
	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/replica"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// Config is the configuration of a server.
type Config struct {
	Node node.Config
	// AddressFile is the path of the file to which the server writes its pid and addresses, or "".
	AddressFile string
	LogLevel    slog.Level
	LogFormat   LogFormat
}

// LogFormat is the format of log lines.
type LogFormat string

// These are the formats of log lines.
const (
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// Default returns the default configuration.
func Default() *Config {
	return &Config{
		Node: node.Config{
			DataDir:           "./data",
			Listen:            []string{"127.0.0.1:7070"},
			HTTP:              "127.0.0.1:7072",
			Admin:             "127.0.0.1:7071",
			UI:                true,
			Shards:            1,
			Durability:        storage.Sync,
			SyncInterval:      storage.DefaultSyncInterval,
			StallMax:          10 * time.Second,
			Auth:              true,
			Limits:            queue.DefaultLimits(),
			Queue:             queue.DefaultConfig(),
			KeyFilterBytesMax: storage.DefaultKeyFilterBytes,
			Commit:            node.Commit{TasksMax: shard.DefaultCommitTasksMax, BytesMax: shard.DefaultCommitBytesMax},
			Memory:            memory.DefaultSize,
			Cluster: cluster.Config{
				Listen:           "127.0.0.1:7073",
				ElectionTimeout:  cluster.DefaultElectionTimeout,
				AppendEntriesMax: replica.DefaultAppendEntriesMax,
				MessagesInFlight: replica.DefaultMessagesInFlight,
				ClockSkewMax:     500 * time.Millisecond,
			},
		},
		LogLevel:  slog.LevelInfo,
		LogFormat: LogText,
	}
}
