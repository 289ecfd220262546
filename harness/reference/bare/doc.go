// Package bare implements the bare data path of a task queue: gRPC streams with raw frames, one
// deciding goroutine, and Pebble. Its rate shows how fast a host currently is for a queue server.
// Figures from different hosts and days can be compared as fractions of this rate.
//
// There is a server process and a client process. Both use a GOMAXPROCS of 1 and the default
// settings of Go's garbage collector. Producers in the client enqueue tasks of 64 bytes, and
// workers claim and complete them. A cycle counts when the client has received the acknowledgement
// of the completion. The load is the same in each measurement, except for two conditions: a call
// contains one task or BatchTasks tasks, and the server acknowledges before or after fsync.
//
// The server does only what every durable queue must do: it stores each task, a lease for each
// delivery, and the removal of each completed task. The server decides all pending requests as one
// group and stores the group by one commit. It omits everything else:
//
//   - names: one queue, no tenants, no priorities, no idempotency keys and no order beyond FIFO;
//   - access: no tokens, no TLS and no quotas;
//   - life of a task: no retries, no delays, no dead letters, no extended leases; a lease never
//     expires;
//   - wire: no protobuf, no versions, no errors for single tasks and no other calls, such as reads;
//   - storage: no recovery, no limits on memory, no checksums of payloads; the store is
//     removed and never opened again;
//   - operation: no replication, no shards, no metrics, no logs and no settings.
package bare
