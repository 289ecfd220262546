package gate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

const classBaseline = `
baseline "smoke" {
  floor "cycles_per_s" {
    min        = 200000
    host_class = "2-cpus-amd64-virtual-ext4"
    because    = "half"
  }
  floor "cycles_per_s" {
    min        = 100000
    host_class = "8-cpus-amd64-metal-xfs"
    observed   = 900000
    on         = "the large one"
    because    = "half"
  }
}
`

func onHost(cpus int, virtualisation, filesystem string) *result.Result {
	r := good()
	r.Manifest.Host = result.Host{CPUs: cpus, Arch: "amd64", Virtualisation: virtualisation, Filesystem: filesystem, CgroupCPUMax: "max"}
	return r
}

// A limit of a host class is judged on that class, and says on another one that it is not; good has 180,000 cycles a second.
func TestALimitIsJudgedOnItsHostClass(t *testing.T) {
	b, err := baselines(t, classBaseline)
	require.NoError(t, err)
	small := Check(b, onHost(2, "KVM", "ext4"))
	assert.Equal(t, result.Regressed, small.Verdict)
	assert.Equal(t, []bool{true, false}, []bool{small.Findings[0].Judged, small.Findings[1].Judged})
	assert.Equal(t, "cycles_per_s is not judged on this host class, 2-cpus-amd64-virtual-ext4: the floor 100,000 is for 8-cpus-amd64-metal-xfs", small.Findings[1].Sentence)
	assert.NotContains(t, strings.Join(small.Warnings, " "), "host class")
	limits := small.Limits()
	assert.Equal(t, []bool{true, false}, []bool{limits[0].Judged, limits[1].Judged})
	assert.Equal(t, "8-cpus-amd64-metal-xfs", limits[1].HostClass)

	large := Check(b, onHost(8, "none", "xfs"))
	assert.Equal(t, result.Pass, large.Verdict, large.Reasons)
	assert.Equal(t, []bool{false, true}, []bool{large.Findings[0].Judged, large.Findings[1].Judged})

	for class, r := range map[string]*result.Result{"4-cpus-amd64-virtual-ext4": onHost(4, "KVM", "ext4"), "unknown": onHost(2, "", "ext4")} {
		other := Check(b, r)
		assert.Equal(t, result.Pass, other.Verdict)
		assert.Contains(t, other.Warnings, "no limit is for the host class "+class+": only lost, duplicated and corrupted were judged")
	}
}

// Limits that are relative, and those without a host class, are judged on every host.
func TestOtherLimitsAreJudgedEverywhere(t *testing.T) {
	b, err := baselines(t, strings.Replace(referenceBaseline, "min     = 20000\n", "min     = 20000\n    host_class = \"elsewhere\"\n", 1))
	require.NoError(t, err)
	r := referred(400_000, 2.75)
	r.Manifest.Host = onHost(2, "KVM", "ext4").Manifest.Host
	report := Check(b, r)
	assert.Equal(t, result.Regressed, report.Verdict)
	assert.Equal(t, []bool{false, true, true}, []bool{report.Findings[0].Judged, report.Findings[1].Judged, report.Findings[2].Judged})
	assert.NotContains(t, strings.Join(report.Warnings, " "), "no limit is for")
}

func TestAHostClassIsOfALimitThatIsAFigure(t *testing.T) {
	for want, text := range map[string]string{
		"a relative limit holds on every host": "floor \"cycles_per_s\" {\n relative_to = \"cpu\"\n host_class = \"a\"\n min = 1\n because = \"x\"\n }",
		"lost is judged on every host":         "ceiling \"lost\" {\n host_class = \"a\"\n max = 0\n because = \"x\"\n }",
		"is not the name of a host class":      "floor \"cycles_per_s\" {\n host_class = \"a host\"\n min = 1\n because = \"x\"\n }",
		"two limits":                           "floor \"cycles_per_s\" {\n host_class = \"a\"\n min = 1\n because = \"x\"\n }\n floor \"cycles_per_s\" {\n host_class = \"a\"\n min = 2\n because = \"x\"\n }",
	} {
		_, err := baselines(t, "baseline \"a\" {\n"+text+"\n}\n")
		assert.ErrorContains(t, err, want)
	}
	r := onHost(2, "KVM", "ext4")
	r.Manifest.Scenario.Limits = []scenario.Limit{{Metric: "lost", Max: new(0.0), HostClass: "a", Because: "x", Where: "s.hcl:1:1"}}
	assert.Equal(t, result.Misconfigured, Check(nil, r).Verdict, "a scenario can't loosen it either")
	r.Manifest.Scenario.Limits = []scenario.Limit{{Metric: "cycles_per_s", Min: new(1e9), HostClass: "a", Because: "x", Where: "s.hcl:1:1"}}
	assert.Equal(t, result.Pass, Check(nil, r).Verdict, "it is for another host class")
}

// A run says nothing of the limits of other host classes, and keeps the class of its own.
func TestProposeKeepsTheHostClass(t *testing.T) {
	b, err := baselines(t, classBaseline)
	require.NoError(t, err)
	smoke, _ := b.For("smoke")
	text, changes, err := Propose([]byte(classBaseline), "one.hcl", smoke, onHost(2, "KVM", "ext4"))
	require.NoError(t, err)
	require.Len(t, changes, 1)
	again, err := baselines(t, string(text))
	require.NoError(t, err)
	smoke, _ = again.For("smoke")
	assert.Equal(t, "2-cpus-amd64-virtual-ext4", smoke.Limits[0].HostClass)
	assert.NotEmpty(t, smoke.Limits[0].Unobserved)
	assert.InDelta(t, 900_000, smoke.Limits[1].Observed, 1e-9)
	r := onHost(2, "KVM", "ext4")
	for _, class := range []string{"2-cpus-amd64-virtual-ext4", "8-cpus-amd64-metal-xfs"} {
		r.Manifest.Scenario.Limits = append(r.Manifest.Scenario.Limits, scenario.Limit{Metric: "cycles_per_s", Min: new(1.0), HostClass: class, Because: "x", Where: class})
	}
	carried := ProposeCarried(r)
	require.Len(t, carried, 1)
	assert.Equal(t, "2-cpus-amd64-virtual-ext4", carried[0].Where)
}
