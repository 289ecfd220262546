// Package storage stores one shard in Pebble.
//
// # Usage
//
// Open opens the store of a shard, Recover reads the initial state of the shard's queue.State, and
// NewBatch returns the queue.Journal for the state's decisions. Batch.Submit applies the writes
// since the last Submit. Reads see them afterwards, unless the store is replicated. Commit.Wait
// returns when the commit is as durable as Options.Durability requires. Batches that are submitted
// during an fsync share the next one (group commit).
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
// The other methods read. Task, LookHead and LookAll return single tasks. Fresh, Returned, CountDue
// and Expired answer a queue.Refill. ListFresh, ListReturned, ListLeased and ListDead return pages
// of an admin's list. Audit compares the counters with the records they count. Package record
// defines the keys and records, disk defines the durability modes, fsck checks a whole store, and
// backup copies one.
//
// # Young records
//
// Most tasks and leases end within milliseconds. A store that is not replicated writes them to its
// log only and holds them in memory: they are young. Later commits store those that outlive their
// log under their keys. Reads see both. young.go and youngrecover.go explain the scheme, and
// package young holds the records.
//
// # Replicated stores
//
// A replicated store is one node's copy of a shard. A batch made by NewReplicatedBatch proposes its
// bytes to a Log instead of applying them. Each node applies the log's entries in order with Apply.
// The store has no write-ahead log: after a crash, lost entries are applied again, starting from
// the Position that is stored with each entry's effects. Tasks and leases that end soon are in the
// log and in memory only, and Open reads the log for them; youngapply.go explains how.
// replicated.go defines the format of an entry.
//
// # Concurrency
//
// The methods of a Store are safe for concurrent use, with two exceptions: only one goroutine at a
// time may call Apply, and Close must come after all other calls. One goroutine at a time owns a
// Batch and must not write to it while another call of the batch is under way. Other goroutines may
// wait for the commits of a batch. A store has two locks: one guards changes of the filter of its
// idempotency keys; the other is held during a commit and while young records are read.
//
// # Errors
//
// A store whose log cannot be written must not be used again: Submit, Wait or Apply returns the
// error, and Options.Fatal is called, which ends a server. A damaged file is reported as a
// *disk.DamagedError, or as an error that names the file. A record that cannot be decoded is
// reported with its task or key. errors.go defines ErrPlace and ErrSkipped.
package storage
