package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/result"
)

// Conditions of several runs are shown as a range; missing ones are omitted.
func TestConditionWords(t *testing.T) {
	assert.Empty(t, ConditionWords())
	s := golden.Cases(t, "testdata/outputs/TestConditionWords.golden")
	s.Equal(t, "a run of an older version", ConditionWords(result.Host{FsyncMsP50: 0.084, FsyncMsMax: 2}))
	one := result.Host{FsyncMsP50: 1, FsyncMsP99: 3, ThreadHopUsP50: 22, ThreadHopUsP99: 60, PressureCPUPercent: new(0.5)}
	two := result.Host{FsyncMsP50: 1.5, FsyncMsP99: 3, ThreadHopUsP50: 26, ThreadHopUsP99: 70, PressureCPUPercent: new(0.0)}
	s.Equal(t, "one run", ConditionWords(one))
	s.Equal(t, "two runs, and one without conditions", ConditionWords(one, two, result.Host{}))
	p := &doc.Document{}
	provenanceSection(p, &result.Result{Manifest: result.Manifest{Host: one}})
	s.Equal(t, "provenance", strings.ReplaceAll(p.Markdown(), "\n\n", "\n"))
	old := &doc.Document{}
	provenanceSection(old, &result.Result{})
	assert.NotContains(t, old.Markdown(), "hop between")
	assert.NotContains(t, old.Markdown(), "PSI")
}
