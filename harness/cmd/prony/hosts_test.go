package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// networked returns a scenario with short rounds on hosts, with the given topology and sweeps.
func networked(window, between, sweeps string) string {
	text := tiny("networked", window, sweeps)
	return strings.Replace(text, `topology "single" { durability = "none" }`, fmt.Sprintf("topology \"raft\" {\n durability = \"none\"\n procs = 1\n hosts {\n%s\n}\n}", between), 1)
}

// binary runs the program as a process, because it may restart in a new network namespace, which
// this process must not.
func binary(t *testing.T, args ...string) command {
	t.Helper()
	var stdout, stderr bytes.Buffer
	program := exec.CommandContext(t.Context(), pronyBinary, args...)
	program.Stdout, program.Stderr = &stdout, &stderr
	err := program.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); !exited {
		require.NoError(t, err)
	}
	return command{program.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// measuredOn reads the only run of a folder. It skips the test with the reason if the hosts could
// not be created.
func measuredOn(t *testing.T, got command) *result.Result {
	t.Helper()
	document := got.document(t)
	require.Len(t, document.Scenarios, 1, got.stderr)
	r, _, err := result.Read(document.Scenarios[0].Run)
	require.NoError(t, err)
	if len(r.NotMeasured) > 0 {
		t.Skip("not possible on this machine: ", r.NotMeasured[0].Why)
	}
	return r
}

// measured runs a scenario on hosts once and requires balanced ledgers. On a busy machine
// heartbeats may arrive after the election timeout, which makes the run invalid. The network is the
// same then.
func measured(t *testing.T, file string) (*result.Result, command) {
	t.Helper()
	got := binary(t, "run", "--json", "--rounds", "1", file)
	r := measuredOn(t, got)
	require.Contains(t, []result.Verdict{result.Pass, result.Invalid}, r.Verdict, "%v\n%s", r.Reasons, got.stderr)
	return r, got
}

// Three nodes on separate hosts, from the file to the page: each point has the requested round
// trip, loss and bandwidth.
func TestThreeHosts(t *testing.T) {
	inFolder(t)
	write(t, "hosts.hcl", networked("300ms", "loss_percent = 1\n bandwidth = \"100Mbit\"", `sweep "topology.hosts.round_trip" { values = ["1ms", "20ms"] }`))
	r, got := measured(t, "hosts.hcl")
	require.Len(t, r.Rounds, 2)
	var lost uint64
	for i, round := range r.Rounds {
		h := round.Hosts
		require.NotNil(t, h)
		assert.InDelta(t, []float64{1, 20}[i], h.RoundTripMs, 0)
		assert.InDelta(t, 1, h.LossPercent, 0)
		assert.InDelta(t, 100, h.Mbit, 0)
		assert.Positive(t, h.TripMsP50)
		assert.Positive(t, h.Packets)
		assert.Positive(t, h.Received, "the hosts count the packets that they may drop")
		lost += h.Lost
		assert.Positive(t, h.ForwarderCores)
		assert.Positive(t, round.Ledger.Completed)
		assert.Len(t, round.Nodes, 3)
	}
	assert.Positive(t, lost)
	assert.Greater(t, r.Rounds[1].Hosts.TripMsP50, 10.0, "at least the configured delay")
	assert.FileExists(t, got.document(t).Scenarios[0].Page)
}

// Clients also reach servers on hosts over TLS, and hosts add no delay by default.
func TestThreeHostsWithTLS(t *testing.T) {
	inFolder(t)
	text := networked("300ms", "", "")
	write(t, "hosts.hcl", strings.Replace(text, "procs = 1", "tls = true", 1))
	r, _ := measured(t, "hosts.hcl")
	require.Len(t, r.Rounds, 1)
	assert.Positive(t, r.Rounds[0].Ledger.Completed)
	assert.Zero(t, r.Rounds[0].Hosts.RoundTripMs)
}

// A program that is killed during a round leaves no node and no forwarder: the hosts end with them.
func TestThreeHostsKilled(t *testing.T) {
	dir := inFolder(t)
	write(t, "hosts.hcl", networked("10m", `round_trip = "1ms"`, ""))
	program := exec.Command(pronyBinary, "run", "--json", "hosts.hcl")
	var stdout, stderr bytes.Buffer
	program.Stdout, program.Stderr = &stdout, &stderr
	require.NoError(t, program.Start())
	ended := make(chan error, 1)
	go func() { ended <- program.Wait() }()
	var addresses []string
	require.Eventually(t, func() bool {
		var err error
		addresses, err = filepath.Glob(filepath.Join(dir, defaultOut, "*", "data", "topology-*", "server-*", "address.json"))
		return err == nil && len(addresses) == 3 || len(ended) > 0
	}, time.Minute, 10*time.Millisecond)
	if len(ended) > 0 {
		assert.Error(t, <-ended)
		measuredOn(t, command{0, stdout.String(), stderr.String()})
		require.Fail(t, "the program ended early", stderr.String())
	}
	var pids []int
	for _, path := range addresses {
		var at struct {
			PID    int      `json:"pid"`
			Listen []string `json:"listen"`
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &at))
		assert.True(t, strings.HasPrefix(at.Listen[0], "198.18.0."), "%s", text)
		pids = append(pids, at.PID)
	}
	own, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", program.Process.Pid))
	require.NoError(t, err)
	namespaces := []string{own}
	for _, pid := range pids {
		of, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
		require.NoError(t, err)
		assert.NotContains(t, namespaces, of, "each host has its own namespace")
		namespaces = append(namespaces, of)
	}
	require.NoError(t, program.Process.Kill())
	assert.Error(t, <-ended)
	require.Eventually(t, func() bool {
		all, err := filepath.Glob("/proc/[0-9]*/ns/net")
		for _, path := range all {
			of, _ := os.Readlink(path) // a process that has ended has none
			for _, namespace := range namespaces {
				if of == namespace {
					return false
				}
			}
		}
		return err == nil
	}, time.Minute, 20*time.Millisecond, "the namespaces are empty, so the kernel removes them")
}

// A comparison refuses a scenario with hosts, and names the alternative.
func TestCompareRefusesHosts(t *testing.T) {
	inFolder(t)
	write(t, "hosts.hcl", networked("100ms", "", ""))
	f := compareFlags{scenario: "hosts.hcl"}
	_, err := f.load(compareCommand(nil), ".")
	sheet(t).Error(t, "a comparison", err)
}

// Servers on other machines cannot be reached from the network of hosts.
func TestHostsBesideRemoteServers(t *testing.T) {
	made := &scenario.Scenario{Name: "made", Topology: scenario.Topology{Kind: scenario.Raft, Hosts: &scenario.Hosts{}}}
	remote := &scenario.Scenario{Name: "remote", Topology: scenario.Topology{Kind: scenario.Remote}}
	err := enterForHosts([]*scenario.Scenario{remote, made}, io.Discard)
	sheet(t).Error(t, "remote servers", err)
	require.NoError(t, enterForHosts([]*scenario.Scenario{remote}, io.Discard))
}
