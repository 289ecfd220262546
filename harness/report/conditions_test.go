package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/result"
)

// Conditions of several runs are shown as a range; missing ones are omitted.
func TestConditionWords(t *testing.T) {
	assert.Empty(t, ConditionWords())
	assert.Equal(t, "before the first round: median fsync 0.084 ms", ConditionWords(result.Host{FsyncMsP50: 0.084, FsyncMsMax: 2}), "a run of an older version")
	one := result.Host{FsyncMsP50: 1, FsyncMsP99: 3, ThreadHopUsP50: 22, ThreadHopUsP99: 60, PressureCPUPercent: new(0.5)}
	two := result.Host{FsyncMsP50: 1.5, FsyncMsP99: 3, ThreadHopUsP50: 26, ThreadHopUsP99: 70, PressureCPUPercent: new(0.0)}
	assert.Equal(t, "before the first round: median fsync 1 ms (p99 3 ms), median thread hop 22 µs (p99 60 µs), CPU pressure 0.5 %", ConditionWords(one))
	assert.Equal(t, "before the first round: median fsync 1 to 1.5 ms (p99 3 ms), median thread hop 22 to 26 µs (p99 60 to 70 µs), CPU pressure 0 to 0.5 %",
		ConditionWords(one, two, result.Host{}))
	p := &doc.Document{}
	provenanceSection(p, &result.Result{Manifest: result.Manifest{Host: one}})
	assert.Contains(t, p.Markdown(), "| fsync latency there, before the first round | median 1 ms, 99th percentile 3 ms, largest unknown |")
	assert.Contains(t, p.Markdown(), "| hop between two OS threads, before the first round | median 22 µs, 99th percentile 60 µs |")
	assert.Contains(t, p.Markdown(), "| CPU pressure (PSI) of the ten seconds before the run | 0.5 % |")
	old := &doc.Document{}
	provenanceSection(old, &result.Result{})
	assert.NotContains(t, old.Markdown(), "hop between")
	assert.NotContains(t, old.Markdown(), "PSI")
}
