package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/doctor"
	"github.com/pronybench/prony/harness/result"
)

func TestDoctor(t *testing.T) {
	var stdout, stderr strings.Builder
	code := execute(t.Context(), []string{"prony", "doctor", "--json", "--window", "50ms", "--dir", t.TempDir()}, &stdout, &stderr)
	var d doctor.Report
	require.NoError(t, json.Unmarshal([]byte(stdout.String()), &d), stdout.String())
	assert.Equal(t, d.Verdict.ExitCode(), code, "for any verdict of this host")
	assert.NotEmpty(t, d.Checks)
	assert.NotEmpty(t, d.Host.Kernel)
}

func TestDoctorInWords(t *testing.T) {
	limit, rate, slip := 2e6, 12_345_678.0, 1.2345
	var text strings.Builder
	require.NoError(t, writeDoctor(&text, &doctor.Report{
		Verdict: result.Invalid,
		Host:    result.Host{CPUModel: "CPU", CPUs: 2, GOMAXPROCS: 2, GOMAXPROCSSource: "cpus", OS: "linux", Kernel: "6.1", Arch: "amd64", Virtualisation: "KVM", Filesystem: "ext4", CgroupCPUMax: "max"},
		Checks: []doctor.Check{
			{Name: "generator", State: doctor.Fit, Value: &rate, Unit: "cycles/s", Limit: &limit, About: "alone"},
			{Name: "slip", State: doctor.Unfit, Value: &slip, Unit: "ms", Limit: new(1.0), About: "late"},
			{Name: "steal", State: doctor.Unknown, Unit: "%", About: "taken"},
		},
	}))
	assert.Equal(t, `CPU, 2 CPUs, GOMAXPROCS 2 (cpus), linux 6.1
host class: 2-cpus-amd64-virtual-ext4

fit      generator  12,345,678 cycles/s  limit 2,000,000  alone
unfit    slip       1.23 ms              limit 1          late
unknown  steal      unknown                               taken

invalid: 3 checks, 1 unfit, 1 unknown
`, text.String())
}

// A dedicated host has a second table.
func TestDoctorOfADedicatedHostInWords(t *testing.T) {
	var text strings.Builder
	require.NoError(t, writeDoctor(&text, &doctor.Report{
		Verdict: result.Invalid, Host: result.Host{CPUModel: "CPU", CPUs: 2, GOMAXPROCS: 2, GOMAXPROCSSource: "cpus", OS: "linux", Kernel: "6.1"},
		Checks: []doctor.Check{{Name: "steal", State: doctor.Unknown, Unit: "%", About: "taken"}},
		Dedicated: []doctor.Setting{
			{Name: "SMT", State: doctor.Unfit, Value: "on", Advised: "off", Why: "shared"},
			{Name: "turbo", State: doctor.Unknown, Advised: "off", Why: "warm"},
			{Name: "swap", State: doctor.Fit, Value: "none", Advised: "no swap", Why: "late"},
		},
	}))
	_, tables, _ := strings.Cut(text.String(), "\n\n")
	assert.Equal(t, `unknown  steal  unknown    taken

as a dedicated host:

unfit    SMT    on       advised: off      shared
unknown  turbo  unknown  advised: off      warm
fit      swap   none     advised: no swap  late

invalid: 4 checks, 1 unfit, 2 unknown
`, tables)
	got := prony(t, "doctor", "--json", "--dedicated", "--window", "50ms", "--dir", t.TempDir())
	var d doctor.Report
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &d), got.stdout)
	assert.NotEmpty(t, d.Dedicated)
	assert.Equal(t, d.Verdict.ExitCode(), got.code)
}
