package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/buildtest"
	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/run"
)

// generatorSource is a load generator that is the real one, if the engine that it is built with has a client.
const generatorSource = `package main

import (
	"os"
	"syscall"

	_ "example.org/engine/client"
)

func main() {
	real := os.Getenv("PRONY_TEST_GENERATOR")
	panic(syscall.Exec(real, []string{real}, os.Environ()))
}
`

func TestCompareMeasuresADuet(t *testing.T) {
	longtest.Only(t)
	generator, err := buildtest.Program("generator", "harness/cmd/generator")
	require.NoError(t, err)
	t.Setenv("PRONY_TEST_GENERATOR", generator)
	repository(t)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	gitDo(t, "tag", "no-client")
	write(t, "harness/go.mod", "module example.org/harness\n\ngo 1.26\n\nrequire example.org/engine v0.0.0\n")
	write(t, "harness/cmd/generator/main.go", generatorSource)
	write(t, "engine/client/client.go", "package client\n")
	write(t, "scenarios/compare.hcl", tiny("tiny", "1s", "profiled_rounds = 2\n  capture \"cpu\" {}\n  capture \"mutex\" {}"))
	gitDo(t, "add", ".")
	gitDo(t, "commit", "--quiet", "-m", "a client")
	head := strings.TrimSpace(gitDo(t, "rev-parse", "HEAD"))
	wrapper(t, "os.Setenv(\"CHANGED\", \"yes\")")
	got := prony(t, "compare", "--base", "HEAD", "--for", "1ns", "--json")
	require.Equal(t, 4, got.code, "two generations can't tell: %s", got.stderr)
	c := got.comparison(t)
	assert.Equal(t, result.Inconclusive, c.Verdict)
	require.NotNil(t, c.Duet)
	assert.Equal(t, 2, c.Duet.Measured)
	assert.Equal(t, layouts, c.Duet.Layouts)
	assert.True(t, c.Duet.OwnClients)
	assert.Equal(t, head, c.Base.Commit)
	assert.False(t, c.Base.Dirty)
	assert.True(t, c.Change.Dirty, "the tree as it stands is measured")
	assert.NotEqual(t, c.Base.Server, c.Change.Server)
	nothingOfBuilds(t, tmp)
	valid(t, validator(t, "comparison"), []byte(got.stdout))

	folders, err := filepath.Glob("runs/*-compare-tiny")
	require.NoError(t, err)
	require.Len(t, folders, 1)
	folder := folders[0]
	assert.Contains(t, got.stderr, folder)
	assert.FileExists(t, filepath.Join(folder, report.ComparisonPage))
	assert.NoDirExists(t, filepath.Join(folder, "data"))
	measured, err := result.ReadDuet(folder)
	require.NoError(t, err)
	for _, g := range measured.Generations {
		for _, s := range g.Sides {
			assert.NotZero(t, s.Cycles)
			assert.Equal(t, s.Ledger.Enqueued, s.Ledger.Completed)
			require.NotNil(t, s.Open)
			assert.NotZero(t, s.Open.Arrivals)
		}
	}
	for _, name := range []string{run.Base, run.Change} {
		arm, err := result.ReadArm(name, filepath.Join(folder, name))
		require.NoError(t, err)
		assert.NotEmpty(t, arm.Result.Profiles)
		assert.NotEmpty(t, arm.Result.Rounds)
	}
	again := prony(t, "compare", "--json", folder)
	assert.Equal(t, 4, again.code, again.stderr)
	assert.Equal(t, c.Metrics, again.comparison(t).Metrics, "what is stored is judged alike")

	t.Run("a base without the client", func(t *testing.T) {
		got := prony(t, "compare", "--base", "no-client", "--for", "1ns", "--json")
		require.Equal(t, 4, got.code, got.stderr)
		c := got.comparison(t)
		assert.False(t, c.Duet.OwnClients)
		assert.Contains(t, strings.Join(c.Warnings, "\n"), "both sides have the client of the working tree")
	})
	t.Run("a server that fails", func(t *testing.T) {
		wrapper(t, `os.Stderr.WriteString("store: not today\n"); os.Exit(3)`)
		got := prony(t, "compare", "--base", "HEAD", "--json")
		assert.Equal(t, 2, got.code, got.stderr)
		c := got.comparison(t)
		assert.Equal(t, result.Misconfigured, c.Verdict)
		assert.Contains(t, strings.Join(c.Reasons, "\n"), "store: not today")
	})
}
