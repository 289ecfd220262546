package duet

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"github.com/pronybench/prony/harness/adminhttp"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
)

// Limits for reading a heap profile.
const (
	heapTimeout  = 10 * time.Second
	heapBytesMax = 32 << 20
)

// workReading holds the counters of all servers of a side at one time.
type workReading struct {
	at      time.Time
	servers []serverReading
}

// workReadings are the readings of one side. Nothing happens between first and idle except a
// reading. The servers are idle between idle and before, and do the work between
// before and after.
type workReadings struct{ first, idle, before, after workReading }

type serverReading struct {
	metrics        map[string]float64 // as observe.Scrape returns them
	allocs, bytes  float64
	switches       float64 // context switches of the process's threads
	reads, written float64 // number of read and write system calls
}

func readServer(ctx context.Context, admin adminhttp.Client, pid int) (r serverReading, err error) {
	if err := r.readProcess(pid); err != nil {
		return r, err
	}
	heap, err := admin.Get(ctx, "/debug/pprof/heap?debug=1", heapTimeout, heapBytesMax)
	if err != nil {
		return r, fmt.Errorf("read allocations: %w", err)
	}
	if r.allocs, r.bytes, err = heapTotals(heap); err != nil {
		return r, err
	}
	r.metrics, err = observe.Scrape(ctx, admin)
	return r, err
}

// heapTotals extracts the total numbers of allocated objects and bytes from a heap profile in text
// form. The runtime writes these numbers from runtime.ReadMemStats, which counts every object. In
// contrast, the metrics of the runtime omit the latest allocations of each processor, which are
// some thousand objects.
func heapTotals(profile []byte) (allocs, size float64, err error) {
	totals := map[string]*float64{"# Mallocs = ": &allocs, "# TotalAlloc = ": &size}
	found := 0
	lines := bufio.NewScanner(bytes.NewReader(profile))
	lines.Buffer(nil, heapBytesMax)
	for lines.Scan() {
		for prefix, into := range totals {
			if digits, is := strings.CutPrefix(lines.Text(), prefix); is {
				if *into, err = strconv.ParseFloat(digits, 64); err != nil {
					return 0, 0, fmt.Errorf("read allocations: %w", err)
				}
				found++
			}
		}
	}
	if err := lines.Err(); err != nil {
		return 0, 0, fmt.Errorf("read allocations: %w", err)
	}
	if found != len(totals) {
		return 0, 0, fmt.Errorf("read allocations: expected Mallocs and TotalAlloc in the heap profile, found %d of them", found)
	}
	return allocs, size, nil
}

func (r *serverReading) readProcess(pid int) error {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return fmt.Errorf("counters of process %d: %w", pid, err)
	}
	io, err := p.IO()
	if err != nil {
		return fmt.Errorf("counters of process %d: %w", pid, err)
	}
	r.reads, r.written = float64(io.SyscR), float64(io.SyscW)
	threads, err := procfs.AllThreads(pid)
	if err != nil {
		return fmt.Errorf("threads of process %d: %w", pid, err)
	}
	for _, t := range threads {
		status, err := t.NewStatus()
		if err != nil {
			continue // the thread has ended, and its counts are lost
		}
		r.switches += float64(status.VoluntaryCtxtSwitches + status.NonVoluntaryCtxtSwitches)
	}
	return nil
}

// storeCounters maps the names of counters of the fixed work to the servers' metrics. The values of
// all servers are summed.
var storeCounters = map[string]string{
	result.WorkStorageSets:         "prony_storage_sets_total",
	result.WorkStorageSetBytes:     "prony_storage_set_bytes_total",
	result.WorkStorageDeletes:      "prony_storage_deletes_total",
	result.WorkStorageGets:         "prony_storage_gets_total",
	result.WorkStorageScanned:      "prony_storage_scanned_keys_total",
	result.WorkStorageTaskBytes:    "prony_storage_task_bytes_total",
	result.WorkStoragePayloadBytes: "prony_storage_payload_bytes_total",
	result.WorkCommits:             "prony_commit_seconds_count",
	result.WorkStreamFrames:        "prony_stream_frames_total",
}

// Other metrics of servers.
const (
	fsyncsMetric      = "prony_storage_fsyncs_total"
	logFsyncsMetric   = "prony_storage_log_fsyncs_total"
	raftFsyncsMetric  = "prony_raft_log_fsyncs_total"
	raftEntriesMetric = "prony_raft_entries_total"
	raftBytesMetric   = "prony_raft_entry_bytes_total"
	callsMetric       = "prony_calls_total"
)

// backgroundFsyncs is the name under which the fsyncs of flushes and compactions are shown. Flushes
// and compactions run concurrently with the work, and the last of them may end after the second
// reading.
const backgroundFsyncs = "background fsyncs"

// counts returns the growth of the servers' counters during the work. It subtracts the allocations
// of a reading, and those that an idle server does in the time of the work: otherwise a slow host,
// on which the work takes longer, would count more of them.
//
// For a cluster counts leaves out calls, because clients ask for routes at intervals. It also
// leaves out the writes of followers, because a follower that lags applies several entries at once.
// The allocations of a cluster are only shown: heartbeats and followers that lag change them by up
// to 2 %.
func (w *workRun) counts(r workReadings) (counters, shown map[string]float64, warnings []string) {
	counters, shown = map[string]float64{}, map[string]float64{}
	rose := func(metric string, servers ...int) (sum float64, counted bool) {
		for _, i := range servers { // a follower has no series of commits
			v, has := r.after.servers[i].metrics[metric]
			sum, counted = sum+v-r.before.servers[i].metrics[metric], counted || has
		}
		return sum, counted
	}
	all := make([]int, len(r.after.servers))
	for i := range all {
		all[i] = i
	}
	take := func(name, metric string, servers ...int) {
		if v, counted := rose(metric, servers...); counted {
			counters[name] = v
		}
	}
	for name, metric := range storeCounters {
		take(name, metric, all...)
	}
	fsyncs, _ := rose(fsyncsMetric, all...)
	if of := w.leader(); len(all) == 1 {
		take(result.WorkCalls, callsMetric, all...)
		if log, counted := rose(logFsyncsMetric, all...); counted {
			counters[result.WorkCommitFsyncs], shown[backgroundFsyncs] = log, fsyncs-log
		}
	} else if shown[backgroundFsyncs] = fsyncs; of >= 0 { // the stores of a cluster have no log
		take(result.WorkCommitFsyncs, raftFsyncsMetric, of)
		take(result.WorkRaftEntries, raftEntriesMetric, of)
		take(result.WorkRaftEntryBytes, raftBytesMetric, of)
	} else {
		warnings = append(warnings, "fixed work: several nodes lead shards, so the entries and fsyncs of their Raft logs are not compared")
	}
	share := r.after.at.Sub(r.before.at).Seconds() / r.before.at.Sub(r.idle.at).Seconds()
	for i := range all {
		first, idle, before, after := r.first.servers[i], r.idle.servers[i], r.before.servers[i], r.after.servers[i]
		ofWork := func(of func(serverReading) float64) float64 {
			reading := of(idle) - of(first)
			background := max(0, of(before)-of(idle)-reading) * share
			return max(0, of(after)-of(before)-reading-background)
		}
		into, allocs, size := counters, result.WorkAllocs, result.WorkAllocBytes
		if len(all) > 1 {
			into, allocs, size = shown, "allocations", "allocated bytes"
		}
		into[allocs] += ofWork(func(r serverReading) float64 { return r.allocs })
		into[size] += ofWork(func(r serverReading) float64 { return r.bytes })
		shown["context switches"] += after.switches - before.switches
		shown["read calls"] += after.reads - before.reads
		shown["write calls"] += after.written - before.written
	}
	return counters, shown, warnings
}

// leader returns the index of the server that leads all shards. It returns -1 if no server does.
func (w *workRun) leader() int {
	if slices.ContainsFunc(w.leaders, func(id string) bool { return id != w.leaders[0] }) {
		return -1
	}
	for i, s := range w.cluster.Servers() {
		if s.ID == w.leaders[0] {
			return i
		}
	}
	return -1
}
