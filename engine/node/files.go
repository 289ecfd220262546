package node

import (
	"fmt"

	"github.com/pronybench/prony/engine/internal/setting"
)

// The files that the node reserves for itself.
const (
	filesMin         = 96    // the fewest files that a server works with
	ownFiles         = 64    // logs, locks, listeners, and what is open for a moment
	storeFiles       = 1_000 // tables of each store: Pebble's default
	storeFilesMin    = 16
	storeFilesBeside = 24 // of each store, beside its tables: its logs, manifest, and what flushes and compactions write
)

// fileShares divides the files that the process may have open.
type fileShares struct {
	connections int
	stores      int // tables of each store
}

// divideFiles divides a number of open files among clients' connections and stores. Connections have at most half.
func divideFiles(files, stores int) (fileShares, error) {
	if files < filesMin+stores*(storeFilesMin+storeFilesBeside) {
		return fileShares{}, setting.Wrap(fmt.Errorf("the process may have %d files open (RLIMIT_NOFILE)", files),
			fmt.Sprintf("raise that limit to at least %d: ulimit -n, or LimitNOFILE= of the systemd unit", filesMin+stores*(storeFilesMin+storeFilesBeside)))
	}
	left := files - ownFiles - stores*storeFilesBeside
	tables := max(storeFilesMin, min(storeFiles, left/2/stores))
	return fileShares{connections: left - tables*stores, stores: tables}, nil
}

// openFiles divides the files that the process may have open. A node of a cluster has a store for each shard and one for the Raft logs.
func openFiles(shards int) (fileShares, error) {
	files, err := filesLimit()
	if err != nil {
		return fileShares{}, err
	}
	return divideFiles(files, shards+1)
}
