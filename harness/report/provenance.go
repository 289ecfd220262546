package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

func machine(h result.Host) string {
	return text(cmp.Or(h.CPUModel, "unknown CPU")) + ", " + render.Plural(h.CPUs, "CPU")
}

// provenanceSection shows the conditions of the measurement, and how to repeat it.
func provenanceSection(p *page, r *result.Result) {
	provenanceTable(p, r, []string{"rounds", text(plan(r.Rounds))})
}

// provenanceTable is provenanceSection for measurements without rounds. measured is the row that
// describes their parts.
func provenanceTable(p *page, r *result.Result, measured []string) {
	p.heading(2, "Provenance")
	host, build := r.Manifest.Host, r.Manifest.Build
	rows := [][]string{
		{"run", code(r.Run)},
		{"command", code(commandLine(r.Manifest.Command))},
		{"working directory", code(r.Manifest.Dir)},
		{"durability", code(r.Manifest.Durability())},
		{"commit", code(build.Revision())},
		{"server binary, SHA-256", code(build.Server)},
		{"Go", text(build.GoVersion)},
		{"started (UTC)", moment(r.Started)},
		{"finished (UTC)", moment(r.Finished)},
		measured,
		{"host class, whose hosts share limits", code(host.Class())},
		{"operating system", text(strings.TrimSpace(host.OS + " " + host.Arch))},
		{"kernel", text(host.Kernel)},
		{"CPU", text(host.CPUModel)},
		{"CPUs", known(float64(host.CPUs), "")},
		{"GOMAXPROCS", fmt.Sprintf("%s, from %s", known(float64(host.GOMAXPROCS), ""), text(orUnknown(host.GOMAXPROCSSource)))},
		{"memory", known(host.MemoryMB, "MB")},
		{"cgroup CPU limit", text(host.CgroupCPUMax)},
		{"cgroup memory limit", text(host.CgroupMemoryMax)},
		{"virtualisation", text(orNotRecorded(host.Virtualisation))},
		{"container", text(orNotRecorded(host.Container))},
		{"file system of the data", text(host.Filesystem)},
		{"fsync latency there, before the first round", fsyncText(host)},
	}
	rows = append(rows, conditionRows(host)...)
	if ofScript(r) {
		rows = append(rows, []string{"k6 binary, SHA-256", code(build.K6)})
	}
	var filled [][]string
	for _, row := range rows {
		filled = append(filled, []string{row[0], orUnknown(row[1])})
	}
	p.table([]string{"what", "value"}, filled)
	serverHostsSection(p, r)
	targetsSection(p, r)
	serversSection(p, r)
}

// serversSection lists all settings that the first server reported, and the differences of the
// others.
func serversSection(p *page, r *result.Result) {
	switch r.Manifest.Scenario.Topology.Kind {
	case "", scenario.NoTopology, scenario.Embedded, scenario.ByProgram:
		return // no server process of Prony's
	}
	p.heading(3, "What the servers ran with")
	servers := r.Manifest.Servers
	if len(servers) == 0 {
		p.paragraph("Not recorded: the servers did not report it.")
		return
	}
	p.paragraph("All settings of the first server, as its process reported them at its start (as `queued config show` does), and the limits" +
		" of its Go runtime. Addresses and paths are omitted. Other servers are listed if they differ.")
	var rows [][]string
	for i, server := range servers {
		name := "first"
		if i > 0 {
			name = server.Server(pointName(r, server.Point))
		}
		for _, s := range server.Settings {
			rows = append(rows, []string{text(name), code(s.Name), code(s.Value), text(s.Origin)})
		}
	}
	p.table([]string{"server", "setting", "value", "from"}, rows)
}

// known formats a value of the host; 0 means that it could not be read.
func known(v float64, unit string) string {
	if v == 0 {
		return "unknown"
	}
	return strings.TrimSpace(render.Digits(v, 3) + " " + unit)
}

// orNotRecorded returns s, or scenario.NotRecorded if the run did not record it.
func orNotRecorded(s string) string { return cmp.Or(s, scenario.NotRecorded) }

func orUnknown(s string) string { return cmp.Or(s, "unknown") }

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// commandLine formats arguments with shell quotes.
func commandLine(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = arg
		plain := arg != "" && !strings.ContainsFunc(arg, func(c rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,+@%", c)
		})
		if !plain {
			quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
