package scenario

import (
	"fmt"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// streamsMax is the largest number of streams that a server accepts on one connection. It equals
// streamsMax of the engine's package rpc. A client that opens more streams waits until one of them
// ends.
const streamsMax = 1024

// checkSessions refuses a workload whose sessions on one connection exceed streamsMax. Each session
// is a stream. Producers share one for each tenant, and so do workers, unless each worker slot has
// a separate queue and therefore a separate session.
func checkSessions(b *hclfile.Block, w *Workload) {
	if w.Driver != "stream" {
		return
	}
	ofUsers := func(users, differ int) int { return min((users+w.Connections-1)/w.Connections, differ) }
	workersDiffer := w.Tenants
	if w.QueuePerWorker {
		workersDiffer *= w.QueuesOfTenant()
	}
	streams := ofUsers(w.Producers, w.Tenants) + ofUsers(w.Workers, workersDiffer)
	if streams > streamsMax {
		b.AttrProblem("connections", fmt.Sprintf("producers and workers open up to %d sessions on a connection, but a server accepts at most %d", streams, streamsMax),
			"raise connections, or lower tenants")
	}
}
