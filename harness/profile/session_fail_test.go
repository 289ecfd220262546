package profile

import (
	"context"
	"net/http"
	"runtime/pprof"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/adminhttp"
	"github.com/pronybench/prony/harness/scenario"
)

func TestStartRefusesWhatItCannotCapture(t *testing.T) {
	p := newProcess(t)
	s := golden.Cases(t, "testdata/captures.golden")
	for name, captures := range map[string][]scenario.Capture{
		"unknown":           {{Kind: "heap"}},
		"duplicate":         {{Kind: "cpu"}, {Kind: "cpu"}},
		"no mutex fraction": {{Kind: "mutex"}},
		"no block rate":     {{Kind: "block"}},
	} {
		_, err := Start(t.Context(), Server{p.admin}, captures, marks())
		s.Error(t, name, err)
	}
	assert.Empty(t, p.asked)
}

func TestNoCapturesAskNothing(t *testing.T) {
	p := newProcess(t)
	s, err := Start(t.Context(), Server{p.admin}, nil, marks())
	require.NoError(t, err)
	require.NoError(t, s.Stop(t.Context()))
	profiles, err := s.Write(t.TempDir(), "profiles")
	require.NoError(t, err)
	assert.Empty(t, profiles)
	assert.Empty(t, p.asked)
}

func TestStartFailsWhenRatesCannotBeSet(t *testing.T) {
	p := newProcess(t)
	texts := golden.Cases(t, "testdata/rates.golden")
	texts.Replace(p.admin.Address, "ADDRESS")
	p.answer("/debug/rates", refuse)
	_, err := Start(t.Context(), Server{p.admin}, []scenario.Capture{mutexCapture}, marks())
	texts.Error(t, "refused", err)
	assert.False(t, p.askedFor("/debug/pprof/mutex"))

	for _, body := range []string{`{"mutex":5,"block":0}`, `{"block":0}`} {
		p.answer("/debug/rates", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) })
		_, err = Start(t.Context(), Server{p.admin}, []scenario.Capture{mutexCapture}, marks())
		texts.Error(t, body, err)
	}
}

func TestStartThatFailsSwitchesRatesOff(t *testing.T) {
	p := newProcess(t)
	texts := golden.Cases(t, "testdata/starts.golden")
	texts.Replace(p.admin.Address, "ADDRESS")
	p.answer("/debug/pprof/block", refuse)
	_, err := Start(t.Context(), Server{p.admin}, []scenario.Capture{mutexCapture, blockCapture}, marks())
	texts.Error(t, "no snapshot", err)
	assert.Zero(t, p.rate("mutex"))
	assert.Zero(t, p.rate("block"))
}

func TestStopThatFailsSwitchesRatesOff(t *testing.T) {
	p := newProcess(t)
	texts := golden.Cases(t, "testdata/stops.golden")
	texts.Replace(p.admin.Address, "ADDRESS")
	s, err := Start(t.Context(), Server{p.admin}, []scenario.Capture{mutexCapture, blockCapture}, marks())
	require.NoError(t, err)
	p.answer("/debug/pprof/mutex", refuse)
	err = s.Stop(t.Context())
	texts.Error(t, "no snapshot", err)
	assert.Equal(t, err, s.Stop(t.Context()), "the same error again")
	assert.Zero(t, p.rate("mutex"))
	assert.Zero(t, p.rate("block"))
	_, err = s.Write(t.TempDir(), "profiles")
	texts.Error(t, "not stopped", err)
}

func TestStopWithCancelledContextGivesUpAtOnceAndSwitchesRatesOff(t *testing.T) {
	p := newProcess(t)
	s, err := Start(t.Context(), Server{p.admin}, []scenario.Capture{mutexCapture, {Kind: "cpu"}}, marks())
	require.NoError(t, err)
	require.NoError(t, s.StartCPU(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Stop(ctx), context.Canceled)
	assert.Zero(t, p.rate("mutex"))
	assert.True(t, p.askedFor("/debug/cpu/stop"), "the process has one CPU profile: the next session needs it")
}

func TestCPUProfileThatFailsIsReported(t *testing.T) {
	for _, path := range []string{"/debug/cpu/start", "/debug/cpu/stop"} {
		p := newProcess(t)
		p.answer(path, refuse)
		s, err := Start(t.Context(), Server{p.admin}, []scenario.Capture{{Kind: "cpu"}}, marks())
		require.NoError(t, err)
		err = s.StartCPU(t.Context())
		if path == "/debug/cpu/stop" {
			require.NoError(t, err)
			err = s.Stop(t.Context())
			pprof.StopCPUProfile()
		}
		require.ErrorContains(t, err, "CPU profile")
		require.ErrorContains(t, err, "out of order")
	}
}

// A server of an earlier version has no CPU profile over a requested time; its other profiles are
// taken.
func TestServerWithoutCPUProfiles(t *testing.T) {
	p := newProcess(t)
	p.answer("/debug/cpu/start", http.NotFound)
	s, err := Start(t.Context(), Server{p.admin}, []scenario.Capture{{Kind: "cpu"}, mutexCapture}, marks())
	require.NoError(t, err)
	require.NoError(t, s.StartCPU(t.Context()))
	require.NoError(t, s.Stop(t.Context()))
	require.Len(t, s.Warnings(), 1)
	golden.Cases(t, "testdata/nocpu.golden").Equal(t, "warning", s.Warnings()[0])
	profiles, err := s.Write(t.TempDir(), "profiles")
	require.NoError(t, err)
	require.Len(t, profiles, 1)
	assert.Equal(t, "mutex", profiles[0].Kind)
	assert.False(t, p.askedFor("/debug/cpu/stop"))
}

func TestStartFailsWhenNothingListens(t *testing.T) {
	for _, captures := range [][]scenario.Capture{{mutexCapture}, {{Kind: "allocs"}}} {
		_, err := Start(t.Context(), Server{adminhttp.Client{Address: "127.0.0.1:1"}}, captures, marks())
		require.ErrorContains(t, err, "connection refused", captures)
	}
}
