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
	s := sheet(t)
	require.NoError(t, checkServers(said("10s", "default"), said("45s", "default")))
	require.NoError(t, checkServers(said("10s", "runtime"), said("45s", "runtime")))
	for _, origins := range [][2]string{{"default", "flag"}, {"environment", "default"}, {"file", "file"}} {
		s.Error(t, origins[0]+" and "+origins[1], checkServers(said("10s", origins[0]), said("45s", origins[1])))
	}
	s.Error(t, "separate runs", checkSettings(run(said("10s", "default")), run(said("45s", "default"))))
	assert.NoError(t, checkSettings(run(said("10s", "default")), run(said("10s", "default"))))

	second := func(value string) []result.ServerSettings {
		of := said(value, "flag")[0]
		of.Node = "n2"
		return append(said("10s", "default"), of)
	}
	s.Error(t, "a second server", checkServers(second("20s"), second("45s")))
	assert.NoError(t, checkServers(second("20s"), second("20s")))
}

func TestTheLengthOfTheFixedWorkIsBounded(t *testing.T) {
	s := sheet(t)
	for _, c := range []struct {
		cycles uint64
		given  bool
		unfit  error
		name   string // of the error; "" if there is none
	}{
		{0, false, nil, ""},
		{0, false, errors.New("it has faults"), ""},
		{1_000, true, nil, ""},
		{10_000_000, true, nil, ""},
		{0, true, nil, "none"},
		{10_000_001, true, nil, "too many"},
		{60_000, true, errors.New("it has faults"), "interleaved rounds"},
	} {
		f := compareFlags{workCycles: c.cycles}
		err := f.checkWork(c.given, c.unfit)
		if c.name == "" {
			assert.NoError(t, err)
		} else {
			s.Error(t, c.name, err)
		}
	}
}
