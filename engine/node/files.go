package node

import "fmt"

// Files that the node keeps for itself, whatever clients open.
const (
	filesMin         = 96    // of all: fewer, and a server can't work
	ownFiles         = 64    // logs, locks, listeners, and what is open for a moment
	storeFiles       = 1_000 // of each store: as many tables as Pebble keeps open unless it is told otherwise
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
		return fileShares{}, fmt.Errorf("the process may have %d files open (RLIMIT_NOFILE): raise that to %d at least", files, filesMin+stores*(storeFilesMin+storeFilesBeside))
	}
	left := files - ownFiles - stores*storeFilesBeside
	tables := max(storeFilesMin, min(storeFiles, left/2/stores))
	return fileShares{connections: left - tables*stores, stores: tables}, nil
}

// openFiles divides the files that the system lets the process have open. The stores of a cluster's node are its shards'
// and the one of the Raft logs.
func openFiles(shards int) (fileShares, error) {
	files, err := filesLimit()
	if err != nil {
		return fileShares{}, err
	}
	return divideFiles(files, shards+1)
}
