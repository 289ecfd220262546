// Package storage stores one shard in Pebble.
//
// # Usage
//
// Open opens the store of a shard, Recover reads the initial state of the shard's queue.State, and
// NewBatch returns the queue.Journal for the state's decisions. Batch.Submit applies the writes
// since the last Submit. Unless the store is replicated, reads then see these writes. Commit.Wait
// returns when the commit is as durable as Options.Durability requires. All batches that are
// submitted during an fsync share the next fsync (group commit).
//
//	s, err := storage.Open(dir, storage.Options{Durability: storage.Sync})
//	from, err := s.Recover()
//	b := s.NewBatch()
//	state, err := queue.New(config, b, from)
//	// … decisions of state write to b …
//	c, err := b.Submit()
//	err = c.Wait() // the decisions may be acknowledged
//	err = s.Close()
//
// Store embeds Reads, whose methods read. Task, LookHead and LookAll return single tasks. Fresh,
// Returned, CountDue, Expired and FinishedSizes answer a queue.Refill. ListReady, ListReturned, ListLeased,
// ListDead and ListFinished return pages of the lists of admin calls. Audit compares the counters with the number of
// records. Package record defines the keys and records, disk defines the durability modes, fsck
// checks a whole store, and backup copies a store.
//
// # Young records
//
// Most tasks and leases end within milliseconds. A store that is not replicated writes their
// records to its log only, and keeps the records in memory. Such records are called young. When a
// log is due for removal, later commits store its remaining young records under their keys, like
// other records. Reads see both kinds. young.go and youngrecover.go explain the scheme, and package
// young implements the records in memory.
//
// # Replicated stores
//
// A replicated store is one node's copy of a shard. A batch made by NewReplicatedBatch proposes its
// bytes to a Log instead of applying them. Each node applies the log's entries in order with Apply.
// The store has no write-ahead log. Each applied entry also stores the Position of the entry, so
// that after a crash, the entries after the stored Position are applied again. Young tasks and
// leases are in the shared log and in memory only. Open reads them from the log; youngapply.go
// explains how. replicated.go defines the format of an entry.
//
// # Concurrency
//
// The methods of a Store are safe for concurrent use, with two exceptions: only one goroutine at a
// time may call Apply, and Close must come after all other calls. A Batch is not safe for
// concurrent use: one goroutine owns it. Other goroutines may wait for the commits of a batch. A
// store has two locks. One guards changes of the filter of idempotency keys. The other is held
// during a commit and while young records are read.
//
// # Errors
//
// If the log of a store cannot be written, Submit, Wait or Apply returns the error, and
// Options.Fatal is called, which ends a server. The store must then not be used. The error for a
// damaged file is a *disk.DamagedError, or names the file. The error for a record that cannot be
// decoded names its task or key. errors.go defines ErrPlace and ErrSkipped.
package storage
