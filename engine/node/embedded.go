package node

import (
	"net"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// Embedded returns the configuration of a server inside another process. The server serves
// listener, which may be reachable only from that process. It serves REST and admin on loopback
// ports that the system chooses. Every client is an operator. durability is "sync", "interval" or
// "none". The caller may change the configuration before Open.
func Embedded(dataDir, durability string, listener net.Listener) (Config, error) {
	parsed, err := storage.ParseDurability(durability)
	if err != nil {
		return Config{}, err
	}
	return Config{
		DataDir: dataDir, Durability: parsed, SyncInterval: storage.DefaultSyncInterval,
		Listeners: []net.Listener{listener}, HTTP: "127.0.0.1:0", Admin: "127.0.0.1:0",
		Limits: queue.DefaultLimits(), Queue: queue.DefaultConfig(),
	}, nil
}
