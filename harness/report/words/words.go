// Package words describes hosts, times and conditions of measurements for pages, as Markdown of one
// line.
package words

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Machine names the CPUs of a host.
func Machine(h result.Host) string {
	return doc.Escape(cmp.Or(h.CPUModel, "unknown CPU")) + ", " + render.Plural(h.CPUs, "CPU")
}

// Known formats a value of the host; 0 means that it could not be read.
func Known(v float64, unit string) string {
	if v == 0 {
		return "unknown"
	}
	return strings.TrimSpace(render.Digits(v, 3) + " " + unit)
}

// OrNotRecorded returns s, or scenario.NotRecorded if the run did not record it.
func OrNotRecorded(s string) string { return cmp.Or(s, scenario.NotRecorded) }

// OrUnknown returns s, or "unknown" if it is empty.
func OrUnknown(s string) string { return cmp.Or(s, "unknown") }

// Moment formats a time with seconds, and the zero time as "".
func Moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// CommandLine formats arguments with shell quotes.
func CommandLine(args []string) string {
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

// Fsync describes the latency of fsync on a host.
func Fsync(h result.Host) string {
	parts := []string{"median " + Known(h.FsyncMsP50, "ms")}
	if h.FsyncMsP99 > 0 {
		parts = append(parts, "99th percentile "+Known(h.FsyncMsP99, "ms"))
	}
	return strings.Join(append(parts, "largest "+Known(h.FsyncMsMax, "ms")), ", ")
}

// Unit formats the unit of a metric.
func Unit(u string) string {
	if u == "us" {
		return "µs"
	}
	return doc.Escape(u)
}

// Minute formats a time with minutes.
func Minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

// Slices describes how the load alternates between the sides of a duet, and on which CPUs.
func Slices(ms float64, together bool, cpus []result.SideCPUs) string {
	how, who := "in alternating slices", "servers and generators on separate CPUs"
	if together {
		how, who = "in simultaneous slices of both sides", "each side on its own CPUs"
	}
	text := fmt.Sprintf("load %s of %s ms", how, render.Digits(ms, 3))
	if len(cpus) == 2 {
		text += fmt.Sprintf(", %s, alternating between %s and %s", who, cpusText(cpus[0]), cpusText(cpus[1]))
	}
	return text
}

func cpusText(c result.SideCPUs) string {
	return fmt.Sprintf("%s for servers with %s for the generator", numbers(c.Servers), numbers(c.Generator))
}

func numbers(all []int) string {
	var texts []string
	for _, n := range all {
		texts = append(texts, strconv.Itoa(n))
	}
	return strings.Join(texts, "+")
}
