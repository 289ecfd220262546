package result

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/pronybench/prony/harness/scenario"
)

// benchUnits lists the metrics in a line of bench.txt with their units in the notation of
// benchstat. benchstat reads MB as 10^6 bytes.
var benchUnits = []struct{ metric, unit string }{
	{CyclesPerS, "cycles/s"},
	{EnqueuesPerS, "enqueues/s"},
	{CPUUsPerCycle, "cpu-us/cycle"},
	{ServerCPUUsPerCycle, "server-cpu-us/cycle"},
	{ClientCPUUsPerCycle, "client-cpu-us/cycle"},
	{ServerSwitchesPerCycle, "server-switches/cycle"},
	{ClientSwitchesPerCycle, "client-switches/cycle"},
	{ServerCPUCores, "server-CPUs"},
	{ServerRSSMBMax, "server-rss-MB"},
	{StorageSetsPerCycle, "sets/cycle"},
	{StorageGetsPerCycle, "gets/cycle"},
	{StorageDeletesPerCycle, "deletes/cycle"},
	{StorageSetBytesPerCycle, "set-B/cycle"},
	{WrittenBytesPerCycle, "written-B/cycle"},
	{RaftEntriesPerCycle, "raft-entries/cycle"},
	{RaftEntryBytesMean, "raft-entry-B"},
	{RaftLogBytesPerCycle, "raft-log-B/cycle"},
	{RaftAppendMsMean, "raft-append-ms"},
	{RaftCommitMsMean, "raft-commit-ms"},
	{SteadyRateRatio, "steady-ratio"},
	{DiskMBMax, "disk-max-MB"},
	{DiskMBEnd, "disk-end-MB"},
	{FillTasksPerS, "fill-tasks/s"},
	{DrainCyclesPerS, "drain-cycles/s"},
	{DrainRatio, "drain-ratio"},
	{DrainSmallRatio, "drain-small-ratio"},
	{BacklogRSSMBMax, "backlog-rss-MB"},
	{RestartFirstClaimS, "first-claim-s"},
	{EnqueueLatencyMs + "_p50", "enqueue-p50-ms"},
	{EnqueueLatencyMs + "_p99", "enqueue-p99-ms"},
	{SettleLatencyMs + "_p50", "settle-p50-ms"},
	{SettleLatencyMs + "_p99", "settle-p99-ms"},
	{CycleLatencyMs + "_p50", "cycle-p50-ms"},
	{CycleLatencyMs + "_p99", "cycle-p99-ms"},
	{SlipMs + "_p99", "slip-p99-ms"},
}

// WriteBench writes r in the Go benchmark format: one line for each valid timed round, so that
// benchstat sees rounds as repetitions. Each point of a sweep is a separate benchmark. WriteBench
// writes no figure of a run whose ledger does not balance.
//
// Properties that may differ between two compared runs, such as the commit, are in comments. As
// configuration they would prevent a comparison, because benchstat puts results with different
// configurations into separate tables.
func WriteBench(w io.Writer, r *Result) error {
	if _, err := fmt.Fprintf(w, "# run: %s\n# commit: %s\n# go: %s\n# kernel: %s\n# verdict: %s\n",
		oneLine(r.Run), oneLine(r.Manifest.Build.Revision()), oneLine(r.Manifest.Build.GoVersion),
		oneLine(r.Manifest.Host.Kernel), oneLine(string(r.Verdict))); err != nil {
		return err
	}
	if r.Verdict == Incorrect {
		_, err := io.WriteString(w, "# no figures: the ledger does not balance\n")
		return err
	}
	out := benchfmt.NewWriter(w)
	for _, u := range benchUnits {
		spec, _ := Lookup(u.metric)
		record := &benchfmt.UnitMetadata{
			UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: u.unit, Key: "better"},
			OrigUnit:        u.unit,
			Value:           string(spec.Better),
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	config := benchConfig(r)
	nothing := func(w scenario.Workload) bool { return w.Arrivals.Kind == scenario.None }
	// The window of an idle server contains no operations.
	idle := scenario.Any(r.Manifest.Scenario.Workloads, nothing)
	made := func(r Round) bool { return r.Cycles > 0 || r.Enqueues > 0 || idle }
	for _, round := range r.Rounds {
		sound := round.Verdict != Incorrect && round.Verdict != Invalid && round.Verdict != Misconfigured
		if !round.Timed() || !sound || !made(round) {
			continue
		}
		line := &benchfmt.Result{Config: config, Name: benchfmt.Name(benchName(r, round.Point)), Iters: max(1, int(round.Cycles))}
		if round.Cycles > 0 {
			line.Values = append(line.Values, benchfmt.Value{
				Value: round.WindowSeconds / float64(round.Cycles), Unit: "sec/op",
				OrigValue: round.WindowSeconds * 1e9 / float64(round.Cycles), OrigUnit: "ns/op",
			})
		}
		for _, u := range benchUnits {
			if v, found := round.Metrics[u.metric]; found {
				line.Values = append(line.Values, benchfmt.Value{Value: v, Unit: u.unit})
			}
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// benchName returns the benchmark name of a point of a run: "FullCycle/durability=none",
// "ShardScaling/durability=none/shards=4".
func benchName(r *Result, point int) string {
	var values []Value
	for _, p := range r.Points {
		if p.Number == point {
			values = p.Values
		}
	}
	var b strings.Builder
	b.WriteString(camel(r.Scenario))
	if !slices.ContainsFunc(values, func(v Value) bool { return v.Path == durabilityPath }) {
		b.WriteString("/durability=" + Slug(r.Manifest.Durability()))
	}
	for _, v := range values {
		b.WriteString("/" + strings.ReplaceAll(v.Key, ".", "_") + "=" + Slug(v.Text))
	}
	return b.String()
}

func benchConfig(r *Result) []benchfmt.Config {
	host := r.Manifest.Host
	var config []benchfmt.Config
	for _, c := range []struct{ key, value string }{
		{"goos", host.OS},
		{"goarch", host.Arch},
		{"cpu", host.CPUModel},
		{"gomaxprocs", fmt.Sprint(host.GOMAXPROCS)},
		{"filesystem", host.Filesystem},
		{"scenario", r.Scenario},
		{"durability", r.Manifest.Durability()},
	} {
		if value := oneLine(c.value); value != "" {
			config = append(config, benchfmt.Config{Key: c.key, Value: []byte(value), File: true})
		}
	}
	return config
}

func camel(name string) string {
	var b strings.Builder
	for part := range strings.FieldsFuncSeq(Slug(name), func(c rune) bool { return c == '-' || c == '_' }) {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	if b.Len() == 0 {
		return "Unnamed"
	}
	return b.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
