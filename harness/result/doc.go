// Package result defines the measurements of a run: their types, their storage in a run folder, and
// their export in the Go benchmark format.
//
// # A run folder
//
//	runs/20261121T171500.123Z-full-cycle/   the id: start in UTC and scenario
//	  manifest.json     Manifest: command, scenario with all defaults, host, build; written before the first round
//	  rounds.json       the rounds so far, written again after each round
//	  histograms.json   the latencies of each round, likewise: HdrHistogram V2, compressed, in base64
//	  bench.txt         one line for each timed round, for benchstat
//	  result.json       Result: everything but the histograms; written last
//	  profiles/         of the profiled rounds; logs of servers and traces are in the run folder
//	runs/latest         a symbolic link to the run that was stored last
//
// The folder of a serial budget contains serial.json. A soak's folder contains soak.json; package
// soak documents its other files.
//
// A comparison's folder contains comparison.json and a run folder for each arm (base, change,
// control). Every file is replaced atomically (see WriteFile), so a reader never sees a partial
// file. A folder with result.json is complete. For a folder without it, ReadStored returns the
// rounds so far. Begin creates the file .measuring, which exists while a process measures into the
// folder.
//
// Published data, below reports/data, consists of the same documents in a compressed form; see
// PackedSuffix.
//
// Command cmd/schema writes the JSON schemas under schema/ from these types and their comments.
// Every document names the version of its schema. A program reads only the version that it writes;
// for soaks it also reads version 1.
//
// # From rounds to metrics
//
// Specs returns every metric with its unit and direction. Round.Derive computes the metrics of a
// round from its fields and histograms. Summarise reduces each metric of the timed rounds to one
// Metric: a median with its confidence interval (package stat), a percentile of merged histograms,
// or a sum for tasks at fault. A metric that was not measured is missing, never zero.
//
// Functions on values are pure. A Folder is not safe for concurrent use.
package result
