package pages

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/result"
)

func serialSettings(p result.SerialPoint) []string {
	return []string{
		"waits=" + p.Waits, "server_procs=" + strconv.Itoa(p.ServerProcs), "generator_procs=" + strconv.Itoa(p.GeneratorProcs),
		"connections=" + strconv.Itoa(p.Connections), "in_flight=" + strconv.Itoa(p.InFlight),
	}
}

// ofSerial returns a figure of a serial budget at the point that has all these values. Settings
// with the same value at all points may be omitted.
func (d *dataset) ofSerial(metric string, at []string) (*value, error) {
	points := d.serial.Points
	var names []string
	for i, point := range points {
		var varied []string
		for k, setting := range serialSettings(point) {
			if slices.ContainsFunc(points, func(other result.SerialPoint) bool { return serialSettings(other)[k] != setting }) {
				varied = append(varied, setting)
			}
		}
		if !slices.Equal(slices.Sorted(slices.Values(varied)), slices.Sorted(slices.Values(at))) {
			names = append(names, quoted(varied))
			continue
		}
		if point.Skipped != "" {
			return nil, refuse("the point %s of %q was not measured: %s", quoted(at), d.name, point.Skipped)
		}
		return d.ofSerialPoint(metric, i)
	}
	return nil, refuse("the serial budget %q has no point %s: name one completely: %s", d.name, quoted(at), strings.Join(names, ", or "))
}

func (d *dataset) ofSerialPoint(metric string, i int) (*value, error) {
	point := &d.serial.Points[i]
	values := map[string]*value{}
	add := func(name, unit string, m result.Metric, single bool) {
		m.Unit = unit
		values[name] = &value{
			of: d, metric: name, point: result.Point{Number: i + 1, Name: point.Name()}, Metric: m, durability: d.manifest.Durability(),
			rounds: fmt.Sprintf("%d pairs of slices", point.Budget.Pairs), anchor: doc.Anchor(report.SerialHeading(*point)), single: single,
		}
	}
	b := point.Budget
	add("budget_ns", "ns", result.Metric{Median: b.WorkNs, Low: b.LowNs, High: b.HighNs, N: b.Pairs}, false)
	for name, w := range map[string]*result.SerialWindow{"unloaded_": point.Unloaded, "": point.AtBudget} {
		window := func(metric, unit string, v float64) {
			add(name+metric, unit, result.Metric{Median: v, Low: v, High: v, N: 1}, true)
		}
		window("requests_per_s", "1/s", w.RequestsPerS)
		window("server_cpu_ns_per_request", "ns", w.ServerCPUNs)
		window("generator_cpu_ns_per_request", "ns", w.GeneratorCPUNs)
		window("serial_cpu_ns_per_request", "ns", w.Profile.SerialNs)
		window("futex_ns_per_request", "ns", w.Profile.FutexNs)
		window("yield_ns_per_request", "ns", w.Profile.YieldNs)
		window("voluntary_switches_per_request", "switches", w.VoluntarySwitches)
		window("efficiency_percent", "%", 100*w.Efficiency)
		if w.IdlePercent != nil {
			window("idle_percent", "%", *w.IdlePercent)
		}
	}
	v := values[metric]
	if v == nil {
		return nil, refuse("the serial budget %q has no metric %q: %s", d.name, metric, meant(metric, slices.Sorted(maps.Keys(values))))
	}
	return v, nil
}
