package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// A default that a commit changes is part of the change. A value that was set on one side only is
// refused, and so is any difference between separate runs, which may be from different hosts.
func TestAChangedDefaultIsAPartOfTheChange(t *testing.T) {
	said := func(value, origin string) []result.ServerSettings {
		return []result.ServerSettings{{Settings: []result.ServerSetting{{Name: "stall_max", Value: value, Origin: origin}}}}
	}
	run := func(servers []result.ServerSettings) *result.Result {
		return &result.Result{Scenario: "tiny", Manifest: result.Manifest{Scenario: scenario.Scenario{Name: "tiny"}, Servers: servers}}
	}
	const refused = `the settings of base and change differ: the server's stall_max is "10s" and "45s"`
	require.NoError(t, checkServers(said("10s", "default"), said("45s", "default")))
	require.NoError(t, checkServers(said("10s", "runtime"), said("45s", "runtime")))
	for _, origins := range [][2]string{{"default", "flag"}, {"environment", "default"}, {"file", "file"}} {
		assert.ErrorContains(t, checkServers(said("10s", origins[0]), said("45s", origins[1])), refused, origins)
	}
	assert.ErrorContains(t, checkSettings(run(said("10s", "default")), run(said("45s", "default"))), refused)
	assert.NoError(t, checkSettings(run(said("10s", "default")), run(said("10s", "default"))))

	second := func(value string) []result.ServerSettings {
		of := said(value, "flag")[0]
		of.Node = "n2"
		return append(said("10s", "default"), of)
	}
	assert.ErrorContains(t, checkServers(second("20s"), second("45s")), `the server's stall_max of n2 is "20s" and "45s"`)
	assert.NoError(t, checkServers(second("20s"), second("20s")))
}

func TestTheLengthOfTheFixedWorkIsBounded(t *testing.T) {
	for _, c := range []struct {
		cycles uint64
		given  bool
		unfit  error
		says   string
	}{
		{0, false, nil, ""},
		{0, false, errors.New("it has faults"), ""},
		{1_000, true, nil, ""},
		{10_000_000, true, nil, ""},
		{0, true, nil, "--work-cycles 0 must be between 1000 and 10000000"},
		{10_000_001, true, nil, "--work-cycles 10000001 must be between 1000 and 10000000"},
		{60_000, true, errors.New("it has faults"), "because interleaved rounds have no fixed work: leave it out (it has faults)"},
	} {
		f := compareFlags{workCycles: c.cycles}
		err := f.checkWork(c.given, c.unfit)
		if c.says == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, c.says)
		}
	}
}
