package scenario

import (
	"fmt"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// streamsMax is how many streams a server takes on one connection: streamsMax of the engine's
// package rpc. A client that opens more waits for one of them to end.
const streamsMax = 1024

// checkSessions makes sure that a server takes all sessions of a workload that go over one
// connection. Each is a stream: producers share one for each tenant, and so do workers, who have
// one for each queue too if each claims from its own.
func checkSessions(b *hclfile.Block, w Workload) {
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
		b.AttrProblem("connections", fmt.Sprintf("producers and workers open up to %d sessions on a connection, and a server takes %d there", streams, streamsMax),
			"raise connections, or lower tenants")
	}
}
