package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/result"
)

// machine names the host in a few words.
func machine(h result.Host) string {
	cpu := h.CPUModel
	if cpu == "" {
		cpu = "unknown CPU"
	}
	return fmt.Sprintf("%s, %d CPUs", text(cpu), h.CPUs)
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
	return strings.TrimSpace(short(v) + " " + unit)
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

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

// scenarioSettings are those of the expanded scenario that shape the figures, in the order of the page.
var scenarioSettings = []struct{ name, path string }{
	{"topology", "topology.kind"},
	{"nodes", "topology.nodes"},
	{"shards", "topology.shards"},
	{"durability", "topology.durability"},
	{"listen", "topology.listen"},
	{"driver", "workload.driver"},
	{"k6 script", "workload.script"},
	{"commands share Raft entries", "topology.coalesce"},
	{"server GOMAXPROCS", "topology.procs"},
	{"generator GOMAXPROCS", "workload.procs"},
	{"connections", "workload.connections"},
	{"tenants", "workload.tenants"},
	{"queues per tenant", "workload.queues"},
	{"producers", "workload.producers"},
	{"worker slots", "workload.workers"},
	{"tasks per call", "workload.batch"},
	{"arrivals", "workload.arrivals.kind"},
	{"arrivals per second", "workload.arrivals.per_second"},
	{"arrivals, part of the peak", "workload.arrivals.of_peak"},
	{"then, per second", "workload.arrivals.to_per_second"},
	{"then, part of the peak", "workload.arrivals.to_of_peak"},
	{"over", "workload.arrivals.over"},
	{"each", "workload.arrivals.every"},
	{"queues are chosen", "workload.keys.kind"},
	{"skew of that", "workload.keys.skew"},
	{"seed", "workload.seed"},
	{"tasks in flight, at most", "workload.in_flight"},
}

// scenarioSection lists what of the expanded scenario shapes the figures. What a scenario does not have is not
// listed.
func scenarioSection(p *page, r *result.Result) {
	m := r.Manifest
	rows := settingRows(m, "")
	several := m.Settings("workloads")
	if len(several) == 0 {
		rows = append(rows, payloadRow(m)...)
	}
	rows = append(rows, sweptRows(m)...)
	for _, s := range []struct{ name, path string }{
		{"lease", "workload.lease"},
		{"warm-up", "phases.warmup"},
		{"window", "phases.window"},
		{"drain, at most", "phases.drain"},
		{"series, a sample each", "series.every"},
	} {
		if d, found := durationSetting(m, s.path); found {
			rows = append(rows, []string{s.name, code(d.String())})
		}
	}
	for _, s := range []struct{ name, path string }{
		{"backlog, tasks", "backlog.tasks"},
		{"backlog, restart before the drain", "backlog.restart"},
	} {
		if value, found := m.Setting(s.path); found {
			rows = append(rows, []string{s.name, code(value)})
		}
	}
	if len(rows) == 0 {
		return
	}
	p.heading(2, "Scenario")
	p.table([]string{"setting", "value"}, rows)
	if len(several) == 0 {
		return
	}
	for _, w := range each(m) {
		name, _ := w.Setting("workload.name")
		own := append(settingRows(w, "workload."), payloadRow(w)...)
		if d, found := durationSetting(w, "workload.lease"); found {
			own = append(own, []string{"lease", code(d.String())})
		}
		p.table([]string{"workload " + code(name), "value"}, own)
	}
}

// settingRows are the settings that a scenario has, of those whose path begins so.
func settingRows(m result.Manifest, prefix string) [][]string {
	var rows [][]string
	for _, s := range scenarioSettings {
		if !strings.HasPrefix(s.path, prefix) {
			continue
		}
		if value, found := setting(m, s.path); found {
			rows = append(rows, []string{s.name, value})
		}
	}
	return rows
}

func payloadRow(m result.Manifest) [][]string {
	if payload := payload(m); payload != "" {
		return [][]string{{"payload, bytes", code(payload)}}
	}
	return nil
}

// setting writes the value of a setting, with all values of one that is swept.
func setting(m result.Manifest, path string) (string, bool) {
	if swept := m.Swept(sweepPath(m, path)); len(swept) > 0 {
		var values []string
		for _, v := range swept {
			values = append(values, code(v))
		}
		return "swept: " + strings.Join(values, ", "), true
	}
	value, found := m.Setting(path)
	return code(value), found
}

// sweepPath is the path by which a sweep names a setting: a workload's has its name in it.
func sweepPath(m result.Manifest, path string) string {
	name, _ := m.Setting("workload.name")
	if rest, found := strings.CutPrefix(path, "workload."); found {
		return "workload." + name + "." + rest
	}
	return path
}

// sweptRows are the swept settings that have no row of their own.
func sweptRows(m result.Manifest) [][]string {
	var rows [][]string
	for _, attribute := range []string{"payload", "arrivals", "lease"} {
		if value, found := setting(m, "workload."+attribute); found && len(m.Swept(sweepPath(m, "workload."+attribute))) > 0 {
			rows = append(rows, []string{attribute, value})
		}
	}
	return rows
}

func payload(m result.Manifest) string {
	kind, hasKind := m.Setting("workload.payload.kind")
	low, hasLow := m.Setting("workload.payload.bytes_min")
	high, hasHigh := m.Setting("workload.payload.bytes_max")
	switch {
	case !hasKind || !hasLow:
		return ""
	case kind == "lognormal":
		median, _ := m.Setting("workload.payload.bytes_median")
		p99, _ := m.Setting("workload.payload.bytes_p99")
		return fmt.Sprintf("%s(%s, %s), %s to %s", kind, median, p99, low, high)
	case !hasHigh || low == high:
		return fmt.Sprintf("%s(%s)", kind, low)
	default:
		return fmt.Sprintf("%s(%s, %s)", kind, low, high)
	}
}

// durationSetting returns a duration of the scenario, which JSON holds in nanoseconds or as Go writes it.
func durationSetting(m result.Manifest, path string) (time.Duration, bool) {
	value, found := m.Setting(path)
	if !found {
		return 0, false
	}
	return parseDuration(value)
}

func parseDuration(value string) (time.Duration, bool) {
	if ns, err := strconv.ParseInt(value, 10, 64); err == nil {
		return time.Duration(ns), true
	}
	d, err := time.ParseDuration(value)
	return d, err == nil
}
