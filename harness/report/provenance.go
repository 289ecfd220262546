package report

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/report/words"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// provenanceSection shows the conditions of the measurement, and how to repeat it.
func provenanceSection(p *doc.Document, r *result.Result) {
	provenanceTable(p, r, []string{"rounds", doc.Escape(plan(r.Rounds))})
}

// provenanceTable is provenanceSection for measurements without rounds. measured is the row that
// describes their parts.
func provenanceTable(p *doc.Document, r *result.Result, measured []string) {
	p.Heading(2, "Provenance")
	host, build := r.Manifest.Host, r.Manifest.Build
	rows := [][]string{
		{"run", doc.Code(r.Run)},
		{"command", doc.Code(words.CommandLine(r.Manifest.Command))},
		{"working directory", doc.Code(r.Manifest.Dir)},
		{"durability", doc.Code(r.Manifest.Durability())},
		{"commit", doc.Code(build.Revision())},
		{"server binary, SHA-256", doc.Code(build.Server)},
		{"Go", doc.Escape(build.GoVersion)},
		{"started (UTC)", words.Moment(r.Started)},
		{"finished (UTC)", words.Moment(r.Finished)},
		measured,
		{"host class, whose hosts share limits", doc.Code(host.Class())},
		{"operating system", doc.Escape(strings.TrimSpace(host.OS + " " + host.Arch))},
		{"kernel", doc.Escape(host.Kernel)},
		{"CPU", doc.Escape(host.CPUModel)},
		{"CPUs", words.Known(float64(host.CPUs), "")},
		{"GOMAXPROCS", fmt.Sprintf("%s, from %s", words.Known(float64(host.GOMAXPROCS), ""), doc.Escape(words.OrUnknown(host.GOMAXPROCSSource)))},
		{"memory", words.Known(host.MemoryMB, "MB")},
		{"cgroup CPU limit", doc.Escape(host.CgroupCPUMax)},
		{"cgroup memory limit", doc.Escape(host.CgroupMemoryMax)},
		{"virtualisation", doc.Escape(words.OrNotRecorded(host.Virtualisation))},
		{"container", doc.Escape(words.OrNotRecorded(host.Container))},
		{"file system of the data", doc.Escape(host.Filesystem)},
		{"fsync latency there, before the first round", words.Fsync(host)},
	}
	rows = append(rows, conditionRows(host)...)
	if ofScript(r) {
		rows = append(rows, []string{"k6 binary, SHA-256", doc.Code(build.K6)})
	}
	var filled [][]string
	for _, row := range rows {
		filled = append(filled, []string{row[0], words.OrUnknown(row[1])})
	}
	p.Table([]string{"what", "value"}, filled)
	serverHostsSection(p, r)
	targetsSection(p, r)
	serversSection(p, r)
}

// serversSection lists all settings that the first server reported, and the differences of the
// others.
func serversSection(p *doc.Document, r *result.Result) {
	switch r.Manifest.Scenario.Topology.Kind {
	case "", scenario.NoTopology, scenario.Embedded, scenario.ByProgram:
		return // no server process of Prony's
	}
	p.Heading(3, "What the servers ran with")
	servers := r.Manifest.Servers
	if len(servers) == 0 {
		p.Paragraph("Not recorded: the servers did not report it.")
		return
	}
	p.Paragraph("All settings of the first server, as its process reported them at its start (as `queued config show` does), and the limits" +
		" of its Go runtime. Addresses and paths are omitted. Other servers are listed if they differ.")
	var rows [][]string
	for i, server := range servers {
		name := "first"
		if i > 0 {
			name = server.Server(runs.PointName(r, server.Point))
		}
		for _, s := range server.Settings {
			rows = append(rows, []string{doc.Escape(name), doc.Code(s.Name), doc.Code(s.Value), doc.Escape(s.Origin)})
		}
	}
	p.Table([]string{"server", "setting", "value", "from"}, rows)
}
