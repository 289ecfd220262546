package result

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// FixedWork contains the counters of both sides' servers for the same seeded sequence of
// operations, with one outstanding request.
type FixedWork struct {
	Seed   uint64 `json:"seed"`
	Cycles uint64 `json:"cycles"` // per side
	// Counters are the totals over all cycles of base and change, by the name of the WorkCounter. A
	// counter that a side lacks is omitted, with a warning.
	Counters map[string][2]float64 `json:"counters"`
	// Shown are totals that are not judged: context switches, read and write calls, fsyncs of
	// background work.
	Shown map[string][2]float64 `json:"shown,omitempty"`
	// Expected are the counters that the change declares to differ, each with the reason.
	Expected map[string]string `json:"expected,omitempty"`
	Warnings []string          `json:"warnings,omitempty"`
}

// WorkCounter is a judged counter of fixed work.
type WorkCounter struct {
	Name string
	Unit string
	// Tolerance is the largest relative difference of the counter between two runs of one build. If
	// it is 0, the counter is the same in each run.
	Tolerance float64
}

// Metric returns the name of the counter per cycle.
func (c WorkCounter) Metric() string { return c.Name + "_per_cycle" }

// Differs reports whether the totals of base and change differ by more than the tolerance between
// two runs of one build.
func (c WorkCounter) Differs(values [2]float64) bool {
	return math.Abs(values[1]-values[0]) > c.Tolerance*values[0]
}

// The names of the counters of fixed work. The work determines all of these counts. Fsyncs of
// tables, manifests and folders are only shown: flushes and compactions run concurrently with the
// work, so how many of their fsyncs complete before the work ends depends on the disk. The whole
// work causes only a few of them.
const (
	WorkStorageSets         = "storage_sets"
	WorkStorageSetBytes     = "storage_set_bytes"
	WorkStorageDeletes      = "storage_deletes"
	WorkStorageGets         = "storage_gets"
	WorkStorageScanned      = "storage_scanned_keys"
	WorkStorageTaskBytes    = "storage_task_bytes"
	WorkStoragePayloadBytes = "storage_payload_bytes"
	WorkCommits             = "commits"
	// WorkCommitFsyncs counts the fsyncs of the store's write-ahead log, or of the leader's Raft
	// log.
	WorkCommitFsyncs   = "commit_fsyncs"
	WorkRaftEntries    = "raft_entries"
	WorkRaftEntryBytes = "raft_entry_bytes"
	WorkCalls          = "calls"         // unary calls and streams
	WorkStreamFrames   = "stream_frames" // received by the server
	WorkAllocs         = "server_allocs"
	WorkAllocBytes     = "server_alloc_bytes"
)

// allocTolerance is the relative difference between the allocations of two runs of one build. It is
// caused by sync.Pool, the buffers of connections and timers.
const allocTolerance = 0.005

var workCounters = []WorkCounter{
	{Name: WorkStorageSets, Unit: "keys"},
	{Name: WorkStorageSetBytes, Unit: "bytes"},
	{Name: WorkStorageDeletes, Unit: "keys"},
	{Name: WorkStorageGets, Unit: "keys"},
	{Name: WorkStorageScanned, Unit: "keys"},
	{Name: WorkStorageTaskBytes, Unit: "bytes"},
	{Name: WorkStoragePayloadBytes, Unit: "bytes"},
	{Name: WorkCommits, Unit: "commits"},
	{Name: WorkCommitFsyncs, Unit: "fsyncs"},
	{Name: WorkRaftEntries, Unit: "entries"},
	{Name: WorkRaftEntryBytes, Unit: "bytes"},
	{Name: WorkCalls, Unit: "calls"},
	{Name: WorkStreamFrames, Unit: "messages"},
	{Name: WorkAllocs, Unit: "objects", Tolerance: allocTolerance},
	{Name: WorkAllocBytes, Unit: "bytes", Tolerance: allocTolerance},
}

// WorkCounters returns the judged counters of fixed work in display order. The caller owns the
// slice.
func WorkCounters() []WorkCounter { return slices.Clone(workCounters) }

// ExpectedTrailer is the trailer of a commit's message that declares a counter of fixed work to
// differ:
//
//	Expected-Counter: storage_sets: each task has a second record
const ExpectedTrailer = "Expected-Counter"

// ParseExpected parses the values of ExpectedTrailer, one per line, and returns the reasons by
// counter. If several lines name a counter, it joins their reasons. A line without a known counter
// or without a reason is an error.
func ParseExpected(lines string) (map[string]string, error) {
	out := map[string]string{}
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, reason, _ := strings.Cut(line, ":")
		name, reason = strings.TrimSuffix(strings.TrimSpace(name), "_per_cycle"), strings.TrimSpace(reason)
		if !slices.ContainsFunc(workCounters, func(c WorkCounter) bool { return c.Name == name }) {
			var names []string
			for _, c := range workCounters {
				names = append(names, c.Name)
			}
			return nil, fmt.Errorf("%s: %q is not a counter of fixed work: use one of %s", ExpectedTrailer, name, strings.Join(names, ", "))
		}
		if reason == "" {
			return nil, fmt.Errorf("%s: %s has no reason: write %s: REASON", ExpectedTrailer, name, name)
		}
		if before := out[name]; before != "" {
			reason = before + "; " + reason
		}
		out[name] = reason
	}
	return out, nil
}
