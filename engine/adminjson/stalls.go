// Package adminjson has the documents of the admin listener that are no part of the API: JSON that the server writes, and that those who
// observe it read. Fields are added and never change their meaning, so that a reader understands servers of other versions: a field that a
// server does not know is zero.
package adminjson

// Stalls is the answer of GET /debug/stalls. Times are milliseconds; moments are milliseconds since the Unix epoch, of the server's clock.
type Stalls struct {
	NowMs float64 `json:"now_ms"` // when the server answered
	// SlowMs is how long a commit takes at least to be recorded.
	SlowMs float64 `json:"slow_ms"`
	// CommitsTotal and WorkTotal count since the process began. Commits and Work are the last ones, in the order of their ends.
	CommitsTotal uint64       `json:"commits_total"`
	Commits      []SlowCommit `json:"commits"`
	WorkTotal    uint64       `json:"work_total"`
	Work         []StoreWork  `json:"work"`
}

// SlowCommit is a commit that took longer than Stalls.SlowMs.
type SlowCommit struct {
	BeganMs  float64 `json:"began_ms"`
	TookMs   float64 `json:"took_ms"`
	Shard    int     `json:"shard"`
	Commands int     `json:"commands"`
	// Cause took the largest part of the time. CausesMs divides all of it; causes without a part are left out.
	Cause    string             `json:"cause"`
	CausesMs map[string]float64 `json:"causes_ms"`
	// What ran during the commit, and for how long, at most the commit's time.
	FlushMs      float64 `json:"flush_ms"`
	CompactionMs float64 `json:"compaction_ms"`
	FsyncMs      float64 `json:"fsync_ms"`
	AppendMs     float64 `json:"append_ms"`   // slow appends to the Raft log
	Collections  int     `json:"collections"` // garbage collections that ended
	// SchedulerWaitMs is how long a goroutine waited at least for a processor in the last SchedulerOverMs before the commit's end. Both are 0
	// if it is not known.
	SchedulerWaitMs float64 `json:"scheduler_wait_ms"`
	SchedulerOverMs float64 `json:"scheduler_over_ms"`
}

// StoreWork is work of a store in the background, or a long fsync.
type StoreWork struct {
	Kind    string  `json:"kind"`  // flush, compaction, fsync of 1 ms and more, append of more than SlowMs
	Store   string  `json:"store"` // its folder's name: that of a shard, or raft
	BeganMs float64 `json:"began_ms"`
	TookMs  float64 `json:"took_ms"` // so far, if it is under way
	Running bool    `json:"running,omitempty"`
}
