// Package storage keeps one shard in Pebble.
//
// # Usage
//
// Open opens the store of a shard, Recover reads the state that the shard's queue.State starts from, and NewBatch returns the
// queue.Journal that the state's decisions are written to. Batch.Submit applies what was written since the last Submit: reads
// see it from then on, unless the store is replicated. Commit.Wait returns when the commit is as durable as
// Options.Durability says (group commit: the batches that were submitted meanwhile share its fsync).
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
// The rest reads: Task, LookHead and LookAll single tasks; Fresh, Returned, CountDue and Expired what a queue.Refill asks for;
// ListFresh, ListReturned, ListLeased and ListDead pages of an admin's list; Audit the counters beside what they count.
// Package record draws the keys and records, disk says what each durability means, fsck checks a whole store, and backup
// copies one.
//
// # Young records
//
// Most tasks and leases end within milliseconds. A store that is not replicated writes them to its log only, and holds them in memory: they
// are young. Those that outlive their log are stored under their keys, by later commits. Reads see both. young.go and youngrecover.go say how,
// and package young has the records.
//
// # Replicated stores
//
// A replicated store is one node's copy of a shard. A batch made by NewReplicatedBatch proposes its bytes to a Log instead of applying them; each
// node applies the log's entries in their order with Apply. The store has no write-ahead log: entries that a crash lost are applied again, from the
// Position that is stored with each entry's effects. Tasks and leases that end soon are in the log and in memory only, and Open reads the log for
// them: youngapply.go says how. replicated.go draws an entry.
//
// # Concurrency
//
// All methods of a Store may be called by several goroutines at once, except Apply, which one goroutine at a time may call,
// and Close, which comes after all others. One goroutine at a time owns a Batch: it must not write while another call of the
// batch is under way. Commits of one batch may be awaited by other goroutines. A store has two locks of its own: one when the filter of its
// idempotency keys changes, and one during a commit and while young records are read.
//
// # Errors
//
// A store whose log cannot be written must not be used again: Submit, Wait or Apply return the error, and Options.Fatal is
// called, which ends a server. A damaged file is a *disk.DamagedError, or an error that names the file. A record that does
// not decode is an error that names the task or the key. ErrPlace and ErrSkipped are in errors.go.
package storage
