// Package adminjson has the JSON documents of the admin listener that are not part of the API. The
// server writes them for tools that observe it. Fields may be added but never change their meaning,
// so that a reader understands servers of other versions. A field that a server does not know is
// zero.
package adminjson

// Stalls is the answer to GET /debug/stalls. Durations are in milliseconds; points in time are
// milliseconds since the Unix epoch, by the server's clock.
type Stalls struct {
	NowMs float64 `json:"now_ms"` // time of the answer
	// SlowMs is the duration above which a commit is recorded.
	SlowMs float64 `json:"slow_ms"`
	// CommitsTotal and WorkTotal count since the start of the process. Commits and Work have the
	// most recent entries, in the order of their ends.
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
	// Cause took the largest part of the time. CausesMs divides the whole time among the causes and
	// omits causes without a part.
	Cause    string             `json:"cause"`
	CausesMs map[string]float64 `json:"causes_ms"`
	// Activities during the commit, each at most the commit's time.
	FlushMs      float64 `json:"flush_ms"`
	CompactionMs float64 `json:"compaction_ms"`
	FsyncMs      float64 `json:"fsync_ms"`
	AppendMs     float64 `json:"append_ms"`   // slow appends to the Raft log
	Collections  int     `json:"collections"` // garbage collections that ended
	// SchedulerWaitMs is a lower bound of the longest wait of a goroutine for a processor in the
	// SchedulerOverMs before the commit's end. Both are 0 if the wait is unknown.
	SchedulerWaitMs float64 `json:"scheduler_wait_ms"`
	SchedulerOverMs float64 `json:"scheduler_over_ms"`
}

// StoreWork is background work of a store, or a long fsync or append.
type StoreWork struct {
	// Kind is flush, compaction, fsync (of 1 ms and more) or append (of more than SlowMs).
	Kind    string  `json:"kind"`
	Store   string  `json:"store"` // name of the store's folder: of a shard, or raft
	BeganMs float64 `json:"began_ms"`
	TookMs  float64 `json:"took_ms"` // so far, if the work runs
	Running bool    `json:"running,omitempty"`
}
