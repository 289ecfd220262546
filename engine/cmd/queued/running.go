package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/metrics"

	"github.com/pronybench/prony/engine/config"
	"github.com/pronybench/prony/engine/node"
)

// addresses is the content of the address file: the server's addresses and its settings.
type addresses struct {
	PID    int      `json:"pid"`
	Listen []string `json:"listen"`
	HTTP   string   `json:"http,omitempty"`
	Admin  string   `json:"admin"`
	// Cluster is the address for the other nodes of the cluster, and Node is this node's id.
	Cluster string `json:"cluster,omitempty"`
	Node    string `json:"node,omitempty"`
	// TokenFile is the absolute path of the file with an operator's token.
	TokenFile string `json:"token_file,omitempty"`
	// Settings are the settings that 'queued config show' would print for this process, and the
	// limits of its Go runtime.
	Settings []settingDocument `json:"settings"`
}

// originRuntime is the origin of a value that the process chose or computed when it started.
const originRuntime = "runtime"

// runtimeLimits are limits of the Go runtime that affect a server's performance. name is the name
// shown in Settings, metric the name in runtime/metrics.
var runtimeLimits = []struct{ name, metric string }{
	{"runtime.gomaxprocs", "/sched/gomaxprocs:threads"},
	{"runtime.gogc_percent", "/gc/gogc:percent"},
	{"runtime.gomemlimit_bytes", "/gc/gomemlimit:bytes"},
}

// running returns all settings of this process and the current limits of its Go runtime.
func running(loaded *config.Loaded) []settingDocument {
	all := settingDocuments(loaded)
	for _, limit := range runtimeLimits {
		sample := []metrics.Sample{{Name: limit.metric}}
		metrics.Read(sample)
		if sample[0].Value.Kind() == metrics.KindUint64 {
			all = append(all, settingDocument{Name: limit.name, Value: fmt.Sprint(sample[0].Value.Uint64()), Origin: originRuntime})
		}
	}
	return all
}

// writeAddresses writes the address file atomically: readers wait for it and must never read a
// partial file.
func writeAddresses(path string, n *node.Node, loaded *config.Loaded) error {
	text, err := json.Marshal(addresses{
		os.Getpid(), n.Addresses(), n.HTTP(), n.Admin(), n.ClusterAddr(), n.NodeID(), n.TokenFile(), running(loaded),
	})
	if err != nil {
		return fmt.Errorf("write the address file: %w", err)
	}
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".tmp")
	if err := os.WriteFile(tmp, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the address file: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("write the address file: %w", err)
	}
	return nil
}
