package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	pprof "github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
)

// stackOf is one sample of a profile: its functions, innermost first, and its values.
type stackOf struct {
	functions []string
	values    []int64
}

func writeProfile(t *testing.T, path string, types []string, stacks ...stackOf) {
	t.Helper()
	p := &pprof.Profile{PeriodType: &pprof.ValueType{Type: "x", Unit: "count"}, Period: 1}
	for _, name := range types {
		kind, unit, _ := strings.Cut(name, "/")
		p.SampleType = append(p.SampleType, &pprof.ValueType{Type: kind, Unit: unit})
	}
	at := map[string]*pprof.Location{}
	for _, s := range stacks {
		sample := &pprof.Sample{Value: s.values}
		for _, name := range s.functions {
			if at[name] == nil {
				id := uint64(len(at) + 1)
				f := &pprof.Function{ID: id, Name: name}
				at[name] = &pprof.Location{ID: id, Address: id, Line: []pprof.Line{{Function: f}}}
				p.Function, p.Location = append(p.Function, f), append(p.Location, at[name])
			}
			sample.Location = append(sample.Location, at[name])
		}
		p.Sample = append(p.Sample, sample)
	}
	require.NoError(t, p.CheckValid())
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, p.Write(f))
	require.NoError(t, f.Close())
}

// profiledRun stores a run with the given number of profiled rounds of 1000 cycles, in which
// deciding costs the given number of CPU samples.
func profiledRun(t *testing.T, id string, rounds int, deciding int64) {
	t.Helper()
	const shard = module + "engine/shard."
	captures := t.TempDir()
	folder := stored(t, "runs", id, func(r *result.Result) {
		r.Manifest.Build.Commit = "0123456789abcdef"
		var captured []profile.Captured
		for i := range rounds {
			number, n := 3+i, deciding+int64(i)
			r.Rounds = append(r.Rounds, result.Round{Number: number, Profiled: true, Verdict: result.Pass, Cycles: 1000, WindowSeconds: 1})
			of := profile.Source{Round: number}
			dir := filepath.Join(captures, of.Dir())
			writeProfile(t, filepath.Join(dir, "cpu.pb.gz"), []string{"samples/count", "cpu/nanoseconds"},
				stackOf{[]string{shard + "(*Shard).decide", "main.main"}, []int64{n, n * 10_000_000}},
				stackOf{[]string{"runtime.memmove", shard + "(*Shard).release", "main.main"}, []int64{50, 500_000_000}},
			)
			writeProfile(t, filepath.Join(dir, "block.pb.gz"), []string{"contentions/count", "delay/nanoseconds"},
				stackOf{[]string{"sync.(*Mutex).Lock", shard + "(*inbox).put", shard + "(*Shard).Settle"}, []int64{400, 12_000_000}},
				stackOf{[]string{"sync.(*Mutex).Lock", shard + "(*inbox).take", shard + "(*Shard).decide"}, []int64{100, 4_000_000}},
				stackOf{[]string{"runtime.selectgo", shard + "(*Shard).wait", shard + "(*Shard).decide"}, []int64{10, 900_000_000}},
			)
			writeProfile(t, filepath.Join(dir, "mutex.pb.gz"), []string{"contentions/count", "delay/nanoseconds"},
				stackOf{[]string{"sync.(*Mutex).Unlock", shard + "(*inbox).take", shard + "(*Shard).decide"}, []int64{450, 15_000_000}},
				stackOf{[]string{"runtime.unlock", "runtime.unlock2", "runtime.wakep"}, []int64{10, 1_000_000}},
			)
			captured = append(captured, profile.Captured{Source: of, Cycles: map[string]uint64{"cpu": 1000, "block": 1000, "mutex": 1000}})
		}
		var err error
		r.Profiles, r.Locks, err = profile.Merge(captures, captured)
		require.NoError(t, err)
	})
	require.NoError(t, os.Rename(filepath.Join(captures, "profiles"), filepath.Join(folder, "profiles")))
}

// The expected output of each command line is a file in testdata/profile.
func TestProfileCommands(t *testing.T) {
	inFolder(t)
	profiledRun(t, "a", 3, 100)
	profiledRun(t, "b", 3, 300)
	profiledRun(t, "one", 1, 100)
	stored(t, "runs", "none", nil)
	stored(t, "runs", "slow", func(r *result.Result) {
		r.Rounds[0].Stalls = &result.Stalls{SlowMs: 5}
		r.Rounds[1].Stalls = &result.Stalls{
			SlowMs: 5, Missing: 4, Causes: []result.StallCause{{Cause: "rotation", Commits: 2, Ms: 60}, {Cause: "flush", Commits: 1, Ms: 30}},
			Commits: []result.SlowCommit{
				{AtS: 0.1, Ms: 20, Shard: 3, Commands: 7, Cause: "rotation", CausesMs: map[string]float64{"rotation": 20}},
				{AtS: 0.25, Ms: 70, Cause: "rotation", CausesMs: map[string]float64{"rotation": 40, "flush": 30}, FlushMs: 65, Collections: 1},
			},
		}
	})
	profiledRun(t, "few", 1, 100)
	require.NoError(t, os.RemoveAll("runs/one/profiles"))
	for _, c := range []struct{ name, args string }{
		{"top", "top runs/a"},
		{"top-per-cycle", "top --kind block --per-cycle runs/a"},
		{"locks", "locks runs/a"},
		{"locks-published", "locks runs/one"},
		{"diff", "diff runs/a runs/b"},
		{"diff-same", "diff runs/a runs/a"},
		{"stalls", "stalls runs/slow"},
		{"stalls-none", "stalls runs/none"},
		{"wrong-kind", "top --kind heap runs/a"},
		{"wrong-node", "top --node n2 runs/a"},
		{"wrong-point", "locks runs/a extra"},
		{"no-profiles", "top runs/none"},
		{"diff-gone", "diff runs/a runs/one"},
		{"open-gone", "open runs/one"},
		{"diff-few", "diff runs/a runs/few"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := prony(t, append([]string{"profile"}, strings.Fields(c.args)...)...)
			text := fmt.Sprintf("prony profile %s\nexit %d\n-- stdout\n%s-- stderr\n%s", c.args, got.code, got.stdout, got.stderr)
			golden.Text(t, "testdata/profile/"+c.name+".golden", text)
		})
	}
}

func TestProfileCommandsAsJSON(t *testing.T) {
	inFolder(t)
	profiledRun(t, "a", 2, 100)
	profiledRun(t, "b", 2, 400)
	var top profileTop
	require.NoError(t, json.Unmarshal([]byte(prony(t, "profile", "top", "--json", "--per-cycle", "runs/a").stdout), &top))
	assert.Equal(t, "tiny", top.Scenario)
	assert.InDelta(t, (201+100)*10_000_000/2000., top.Profile.Total, 1e-6)
	assert.True(t, top.PerCycle)
	var locks profileLocks
	require.NoError(t, json.Unmarshal([]byte(prony(t, "profile", "locks", "--json").stdout), &locks), "of the newest run")
	require.Len(t, locks.Locks, 2)
	assert.Equal(t, "shard.inbox.mu", locks.Locks[0].Name)
	assert.InDelta(t, 1_800_000_000, locks.Waits[0].WorkNs, 0)
	assert.NotEmpty(t, locks.Caveats)
	stored(t, "runs", "slow", func(r *result.Result) { r.Rounds[1].Stalls = &result.Stalls{SlowMs: 5} })
	var slow profileStalls
	require.NoError(t, json.Unmarshal([]byte(prony(t, "profile", "stalls", "--json", "runs/slow").stdout), &slow))
	require.Len(t, slow.Rounds, 1)
	assert.Equal(t, 2, slow.Rounds[0].Round)
	assert.Equal(t, 5.0, slow.Rounds[0].Stalls.SlowMs)
	var diff profileDiff
	require.NoError(t, json.Unmarshal([]byte(prony(t, "profile", "diff", "--json", "runs/a", "runs/b").stdout), &diff))
	require.Len(t, diff.Profiles, 1)
	assert.Equal(t, module+"engine/shard.(*Shard).decide", diff.Profiles[0].Function)
	assert.Equal(t, profiledSide{Run: "runs/b", Commit: "0123456789abcdef", Rounds: 2, Cycles: 2000}, diff.Change)
}

// untilSaid is a writer that signals when its output contains a text.
type untilSaid struct {
	mu   sync.Mutex
	text bytes.Buffer
	want string
	said func()
}

func (u *untilSaid) Write(p []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	n, err := u.text.Write(p)
	if strings.Contains(u.text.String(), u.want) {
		u.said()
	}
	return n, err
}

// pprof runs with the profile, its address is printed, and an interruption ends it.
func TestProfileOpen(t *testing.T) {
	s := sheet(t)
	inFolder(t)
	profiledRun(t, "a", 1, 100)
	fakeGo := func(script string) {
		write(t, "bin/go", "#!/bin/sh\n"+script)
		require.NoError(t, os.Chmod("bin/go", 0o700))
		dir, err := filepath.Abs("bin")
		require.NoError(t, err)
		t.Setenv("PATH", dir+string(os.PathListSeparator)+"/usr/bin:/bin")
	}
	fakeGo(`echo "$@" > args; echo "Serving web UI on http://127.0.0.1:5555" >&2; exec tail -f /dev/null`)
	for _, json := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		out := &untilSaid{want: "http://127.0.0.1:5555", said: cancel}
		var stderr bytes.Buffer
		args := []string{"prony", "profile", "open", "--kind", "block", "runs/a"}
		if json {
			args = append(args, "--json")
		}
		assert.Equal(t, 0, execute(ctx, args, out, &stderr), stderr.String())
		asked, err := os.ReadFile("args")
		require.NoError(t, err)
		assert.Equal(t, "tool pprof -http=127.0.0.1: -no_browser runs/a/profiles/block.pb.gz\n", string(asked))
		if json {
			assert.JSONEq(t, `{"file":"runs/a/profiles/block.pb.gz","url":"http://127.0.0.1:5555"}`, out.text.String())
		} else {
			assert.Equal(t, "runs/a/profiles/block.pb.gz: http://127.0.0.1:5555 (interrupt to end)\n", out.text.String())
		}
	}
	fakeGo(`echo "no such tool" >&2; exit 3`)
	got := prony(t, "profile", "open", "runs/a")
	refused(t, s, "pprof fails", got)

	t.Setenv("PATH", "")
	got = prony(t, "profile", "open", "runs/a")
	refused(t, s, "no go command", got)
}
