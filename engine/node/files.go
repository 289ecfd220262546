package node

import (
	"fmt"

	"github.com/pronybench/prony/engine/internal/setting"
)

// These are numbers of file descriptors.
const (
	filesMin      = 96    // minimum of the process, in addition to the minimum of each store
	ownFiles      = 64    // for logs, locks, listeners, and temporarily open files
	storeFiles    = 1_000 // for the tables of each store; Pebble's default
	storeFilesMin = 16
	// storeFilesBeside is the number of file descriptors for each store's other files: logs,
	// manifest, and the output of flushes and compactions.
	storeFilesBeside = 24
)

type fileShares struct {
	connections int
	stores      int // for the tables of each store
}

// divideFiles divides file descriptors among client connections and stores. The tables of all
// stores together get at most half of them, or storeFilesMin per store if that is more.
func divideFiles(files, stores int) (fileShares, error) {
	if files < filesMin+stores*(storeFilesMin+storeFilesBeside) {
		return fileShares{}, setting.Wrap(fmt.Errorf("the process may have %d files open (RLIMIT_NOFILE)", files),
			fmt.Sprintf("raise that limit to at least %d: ulimit -n, or LimitNOFILE= of the systemd unit", filesMin+stores*(storeFilesMin+storeFilesBeside)))
	}
	left := files - ownFiles - stores*storeFilesBeside
	tables := max(storeFilesMin, min(storeFiles, left/2/stores))
	return fileShares{connections: left - tables*stores, stores: tables}, nil
}

// openFiles divides the process's file descriptors. A node of a cluster has one store per shard and
// one for the Raft logs.
func openFiles(shards int) (fileShares, error) {
	files, err := filesLimit()
	if err != nil {
		return fileShares{}, err
	}
	return divideFiles(files, shards+1)
}
