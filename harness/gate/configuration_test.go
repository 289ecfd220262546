package gate

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// withConfiguration returns testBaseline with the configuration of a result.
func withConfiguration(t *testing.T, r *result.Result) (*Baselines, string) {
	t.Helper()
	b, err := baselines(t, testBaseline)
	require.NoError(t, err)
	smoke, _ := b.For("smoke")
	text, changes, err := ProposeConfiguration([]byte(testBaseline), "one.hcl", smoke, &r.Manifest.Scenario)
	require.NoError(t, err)
	require.Len(t, changes, 1)
	b, err = baselines(t, string(text))
	require.NoError(t, err)
	return b, string(text)
}

func TestCheckRefusesAnotherConfiguration(t *testing.T) {
	r := good()
	was := r.Manifest.Scenario.Configuration()
	b, _ := withConfiguration(t, r)
	report := Check(b, r)
	assert.Equal(t, result.Pass, report.Verdict)
	assert.Empty(t, report.Warnings)

	r.Manifest.Scenario.Phases.Window = 5
	r.Manifest.Scenario.Variables = []scenario.Variable{{Name: "window", Value: "5ns", Given: true}, {Name: "workers", Value: "3"}}
	set("cycles_per_s", 1)(r)
	report = Check(b, r)
	assert.Equal(t, result.Misconfigured, report.Verdict)
	require.Len(t, report.Reasons, 1, "limits of the baseline must not be judged")
	s := golden.Cases(t, "testdata/configuration.golden")
	s.Replace(was, "CONFIGURATION")
	s.Replace(r.Manifest.Scenario.Configuration(), "OTHER")
	s.Equal(t, "another configuration", report.Reasons[0])
	require.Len(t, report.Findings, 3, "the implied ceilings apply to every configuration")
	set("lost", 1)(r)
	assert.Equal(t, result.Incorrect, Check(b, r).Verdict)
}

func TestProposeConfiguration(t *testing.T) {
	r := good()
	b, text := withConfiguration(t, r)
	smoke, _ := b.For("smoke")
	assert.Equal(t, r.Manifest.Scenario.Configuration(), smoke.Configuration)
	same, changes, err := ProposeConfiguration([]byte(text), "one.hcl", smoke, &r.Manifest.Scenario)
	require.NoError(t, err)
	assert.Empty(t, changes)
	assert.Equal(t, text, string(same))
	s := golden.Cases(t, "testdata/badconfiguration.golden")
	s.Replace(filepath.Dir(t.TempDir()), "DIR")
	_, _, err = ProposeConfiguration([]byte("baseline \"a\" {\n}\n"), "one.hcl", Baseline{Scenario: "smoke"}, &r.Manifest.Scenario)
	s.Error(t, "no baseline", err)

	b, err = baselines(t, proposable)
	require.NoError(t, err)
	smoke, _ = b.For("smoke")
	first, _, err := ProposeConfiguration([]byte(proposable), "one.hcl", smoke, &r.Manifest.Scenario)
	require.NoError(t, err)
	b, err = baselines(t, string(first))
	require.NoError(t, err)
	smoke, _ = b.For("smoke")
	r.Manifest.Scenario.Phases.Window = 5
	second, changes, err := ProposeConfiguration(first, "one.hcl", smoke, &r.Manifest.Scenario)
	require.NoError(t, err)
	assert.Equal(t, []Change{{"configuration", smoke.Configuration, r.Manifest.Scenario.Configuration(), "", ""}}, changes)
	assert.Equal(t, strings.Replace(string(first), smoke.Configuration, r.Manifest.Scenario.Configuration(), 1), string(second))
	_, err = baselines(t, strings.Replace(testBaseline, "{\n", "{\n  configuration = \"latest\"\n", 1))
	s.Error(t, "not a configuration", err)
}

// Each checked-in baseline names the configuration of its checked-in scenario.
func TestBaselinesAreForTheirScenarios(t *testing.T) {
	b, err := LoadBaselines("../../baselines")
	require.NoError(t, err)
	files, err := scenario.Find("../../scenarios")
	require.NoError(t, err)
	all, err := scenario.Load(files...)
	require.NoError(t, err)
	for name, baseline := range b.scenarios {
		i := slices.IndexFunc(all, func(s *scenario.Scenario) bool { return s.Name == name })
		if assert.GreaterOrEqual(t, i, 0, "no scenario %s", name) {
			assert.Equal(t, all[i].Configuration(), baseline.Configuration, "%s: consider its limits, and run 'make baselines'", filepath.Base(baseline.File))
		}
	}
}
