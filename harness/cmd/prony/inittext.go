package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/scenario"
)

// The load of a new scenario. An open load needs enough producers that one is free when a task is
// due.
const (
	closedProducers, closedWorkers = 16, 32
	openProducers, openWorkers     = 128, 128
	shardsBegun                    = 4
)

// scenario returns the text of the file. The answers must be valid.
func (a answers) scenario() string {
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintln(&text, fmt.Sprintf(format, args...)) }
	line("# `prony init` wrote %s as a starting point. `prony validate` reports its errors, and `prony explain` describes a", a.name)
	line("# run of it. scenarios/README.md in Prony's repository documents the whole language.")
	line("")
	line("scenario %q {", a.name)
	line("  title = %q", strings.ToUpper(a.inWords()[:1])+a.inWords()[1:])
	line("")
	a.writeTopology(line)
	a.writeWorkload(line)
	line("  # Each round starts on empty data, warms up, measures for the window, and then completes the remaining tasks.")
	line("  phases {")
	line("    warmup = \"2s\"")
	line("    window = \"5s\"")
	line("    drain  = \"30s\"")
	line("  }")
	line("")
	line("  # A median has a 95 %% interval with six rounds or more.")
	line("  rounds = 6")
	line("")
	line("  # Profiles come from a separate round. `prony profile locks` and `prony profile top` show them.")
	line("  capture \"cpu\" {}")
	line("  capture \"mutex\" {}")
	line("  capture \"block\" {}")
	line("")
	line("  # Accounts for each task: enqueued = completed + ready + leased + delayed + dead. Otherwise the run is incorrect.")
	line("  invariant \"conserved\" {}")
	a.writeLimit(line)
	line("}")
	return text.String()
}

// writer writes a line of the file.
type writer func(format string, args ...any)

func (a answers) writeTopology(line writer) {
	line("  # The system under test. Durability defines when the server acknowledges; every figure depends on it.")
	line("  # sync: after fsync. interval: after the write, with an fsync every sync_interval. none: after the write.")
	line("  topology %q {", a.topology)
	if a.topology == "sharded" {
		line("    shards     = %d", shardsBegun)
	}
	if a.topology == scenario.Raft {
		line("    nodes      = 3")
	}
	line("    durability = %q", a.durability)
	line("  }")
	line("")
}

func (a answers) writeWorkload(line writer) {
	driver, others := "stream", "gRPC streams; \"unary\" and \"rest\" use one call for each batch of tasks"
	if a.topology == scenario.Embedded {
		driver, others = scenario.DriverEmbedded, "the server runs in this process, without a network"
	}
	producers, workers, arrivals := closedProducers, closedWorkers, "closed()"
	why := []string{"Each producer sends its next call after the response to the last one, so the server sets the pace. rate(\"2k/s\") sends at a", "fixed rate instead, and measures latency from the due time of a task."}
	if a.rate != scenario.Closed {
		producers, workers, arrivals = openProducers, openWorkers, fmt.Sprintf("rate(%q)", a.rate)
		why = []string{"Tasks are due at this rate, independent of the server, and latency is measured from their due times.", "closed() lets the server set the pace instead."}
	}
	line("  # The load: producers enqueue tasks, workers claim and complete them.")
	line("  workload \"main\" {")
	line("    driver    = %q # %s", driver, others)
	line("    producers = %d", producers)
	line("    workers   = %d", workers)
	line("    payload   = %s # bytes", a.payloadCall())
	for _, text := range why {
		line("    # %s", text)
	}
	line("    arrivals  = %s", arrivals)
	line("  }")
	line("")
}

func (a answers) writeLimit(line writer) {
	line("")
	if a.latencyMax == "" {
		line("  # `prony check` judges a run by limits such as")
		line("  #   limit \"cycle_latency_ms_p99\" { max = 50  because = \"what users bear\" }")
		return
	}
	d, _ := time.ParseDuration(a.latencyMax) // already checked
	line("  # `prony check` judges a run by this limit.")
	line("  limit \"cycle_latency_ms_p99\" {")
	line("    max     = %s", strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', -1, 64))
	line("    because = \"99 of 100 tasks must complete within %s\"", a.latencyMax)
	line("  }")
}

func (a answers) payloadCall() string {
	least, most, _ := sizes(a.payload) // already checked
	if least == most {
		return scenario.Payload{Kind: "fixed", Min: least, Max: most}.String()
	}
	return scenario.Payload{Kind: "uniform", Min: least, Max: most}.String()
}

// inWords describes the scenario in one line.
func (a answers) inWords() string {
	load := "closed load"
	if a.rate != scenario.Closed {
		load = a.rate + " open load"
	}
	limit := ""
	if a.latencyMax != "" {
		limit = ", p99 within " + a.latencyMax
	}
	least, most, _ := sizes(a.payload) // already checked
	payload := strconv.Itoa(least)
	if most > least {
		payload += " to " + strconv.Itoa(most)
	}
	of := map[string]string{
		scenario.Single: "one server", "sharded": fmt.Sprintf("one server with %d shards", shardsBegun), scenario.Raft: "three nodes", scenario.Embedded: "an embedded server",
	}
	return fmt.Sprintf("%s on %s, payloads of %s bytes, durability %s%s", load, of[a.topology], payload, a.durability, limit)
}
