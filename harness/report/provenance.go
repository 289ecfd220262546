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

// machine names the host in a few words.
func machine(h result.Host) string {
	return text(cmp.Or(h.CPUModel, "unknown CPU")) + ", " + render.Plural(h.CPUs, "CPU")
}

// provenanceSection says what one needs to trust the figures, and to measure them again.
func provenanceSection(p *page, r *result.Result) {
	provenanceTable(p, r, []string{"rounds", text(plan(r.Rounds))})
}

// provenanceTable is provenanceSection of what was measured in other parts than rounds, which measured says.
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

// serversSection lists all settings that the first server ran with by its own account, and what the others had otherwise.
func serversSection(p *page, r *result.Result) {
	switch r.Manifest.Scenario.Topology.Kind {
	case "", scenario.NoTopology, scenario.Embedded, scenario.ByProgram:
		return // no server process of Prony's
	}
	p.heading(3, "What the servers ran with")
	servers := r.Manifest.Servers
	if len(servers) == 0 {
		p.paragraph("Not recorded: the servers did not say it.")
		return
	}
	p.paragraph("All settings of the first server, as its process said them when it served (those of `queued config show`), and the limits" +
		" of its Go runtime. Addresses and paths are left out. Others are listed where they differ.")
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

// known writes a value of the host, where 0 says that it could not be read.
func known(v float64, unit string) string {
	if v == 0 {
		return "unknown"
	}
	return strings.TrimSpace(render.Digits(v, 3) + " " + unit)
}

// orNotRecorded writes a value that runs of older versions do not have.
func orNotRecorded(s string) string { return cmp.Or(s, scenario.NotRecorded) }

func orUnknown(s string) string { return cmp.Or(s, "unknown") }

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// commandLine writes arguments as a shell would need them.
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
