// Package bare is the bare data path of a task queue: gRPC streams with raw frames, one deciding
// goroutine, and Pebble. Its rate measures the current speed of a host for a queue server, so
// figures of different hosts and days can be compared as shares of it.
//
// A server and a client process take part. Both have a GOMAXPROCS of 1 and Go's default garbage
// collector. Producers of the client enqueue tasks of 64 bytes, and workers claim and complete
// them. A cycle counts when the client has received the acknowledgement of its completion. The load
// is the same in each measurement, except for two conditions: a call has one task or BatchTasks
// tasks, and the server acknowledges before or after fsync.
//
// The server does only what every durable queue must do: it stores each task, a lease for each
// delivery, and the removal of each completed task. Pending requests are decided as one group and
// stored by one commit. It omits everything else:
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
