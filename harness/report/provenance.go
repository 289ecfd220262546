package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// machine names the host in a few words.
func machine(h result.Host) string {
	return fmt.Sprintf("%s, %d CPUs", text(cmp.Or(h.CPUModel, "unknown CPU")), h.CPUs)
}

// provenanceSection says what one needs to trust the figures, and to measure them again.
func provenanceSection(p *page, r *result.Result) {
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
		{"rounds", text(plan(r.Rounds))},
		{"operating system", text(strings.TrimSpace(host.OS + " " + host.Arch))},
		{"kernel", text(host.Kernel)},
		{"CPU", text(host.CPUModel)},
		{"CPUs", known(float64(host.CPUs), "")},
		{"GOMAXPROCS", fmt.Sprintf("%s, from %s", known(float64(host.GOMAXPROCS), ""), text(orUnknown(host.GOMAXPROCSSource)))},
		{"memory", known(host.MemoryMB, "MB")},
		{"cgroup CPU limit", text(host.CgroupCPUMax)},
		{"cgroup memory limit", text(host.CgroupMemoryMax)},
		{"file system of the data", text(host.Filesystem)},
		{"fsync latency there, before the first round", fmt.Sprintf("median %s, largest %s", known(host.FsyncMsP50, "ms"), known(host.FsyncMsMax, "ms"))},
	}
	if ofScript(r) {
		rows = append(rows, []string{"k6 binary, SHA-256", code(build.K6)})
	}
	var filled [][]string
	for _, row := range rows {
		filled = append(filled, []string{row[0], orUnknown(row[1])})
	}
	p.table([]string{"what", "value"}, filled)
}

// known writes a value of the host, where 0 says that it could not be read.
func known(v float64, unit string) string {
	if v == 0 {
		return "unknown"
	}
	return strings.TrimSpace(render.Digits(v, 3) + " " + unit)
}

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
