package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/scenario"
)

// fakeGo puts a go command first in PATH that logs its arguments and creates the output file, and
// returns the path of the log.
func fakeGo(t *testing.T) (log string) {
	t.Helper()
	dir := t.TempDir()
	log = filepath.Join(dir, "log")
	script := `#!/bin/sh
echo "GOAMD64=$GOAMD64 CGO_ENABLED=$CGO_ENABLED $*" >>` + log + `
while [ "$1" != "-o" ]; do shift; done
mkdir -p "$(dirname "$2")" && echo built >"$2"
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o700))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("GOAMD64", "")
	t.Setenv("CGO_ENABLED", "")
	return log
}

func builtBy(builds ...*scenario.ServerBuild) *scenario.Scenario {
	s := &scenario.Scenario{Name: "a", File: "a.hcl"}
	for _, b := range builds {
		s.Points = append(s.Points, scenario.Point{Topology: scenario.Topology{Kind: scenario.Single, Build: b}})
	}
	return s
}

// Each build that the scenarios request is made once, and removed in the end.
func TestServersAreBuiltAsTheScenariosSay(t *testing.T) {
	log := fakeGo(t)
	race := &scenario.ServerBuild{Tags: []string{"one", "two"}, Race: true}
	v3 := &scenario.ServerBuild{GOAMD64: "v3", PGO: "a.pgo", PGOSHA256: "1"}
	all, err := builtServers(t.Context(), []*scenario.Scenario{builtBy(race, v3), builtBy(v3)}, io.Discard)
	require.NoError(t, err)
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.Len(t, lines, 2)
	assert.Subset(t, strings.Fields(lines[0]), []string{"GOAMD64=", "CGO_ENABLED=1", "build", "-tags", "one,two", "-race"})
	pgo, err := filepath.Abs("a.pgo")
	require.NoError(t, err)
	assert.Subset(t, strings.Fields(lines[1]), []string{"GOAMD64=v3", "CGO_ENABLED=", "build", "-pgo=" + pgo})
	assert.NotContains(t, lines[1], "-race")

	first, second := all.of(scenario.Topology{Build: race}), all.of(scenario.Topology{Build: v3})
	assert.NotEqual(t, first, second)
	assert.Equal(t, first, all.first(builtBy(race, v3)))
	assert.FileExists(t, first)
	assert.FileExists(t, second)
	assert.Empty(t, all.found, "no server is searched")
	require.NoError(t, all.close(t.Context()))
	assert.NoFileExists(t, first)
	assert.NoFileExists(t, second)
}

// Points with a build and points without one have separate servers.
func TestAFoundServerBesideABuiltOne(t *testing.T) {
	fakeGo(t)
	t.Setenv("PRONY_QUEUED", "/bin/true")
	all, err := builtServers(t.Context(), []*scenario.Scenario{builtBy(nil, &scenario.ServerBuild{GOAMD64: "v1"})}, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, "/bin/true", all.of(scenario.Topology{}))
	assert.NotEqual(t, "/bin/true", all.of(scenario.Topology{Build: &scenario.ServerBuild{GOAMD64: "v1"}}))
	require.NoError(t, all.close(t.Context()))
}

// The error of a failed build names the build.
func TestABuildThatFails(t *testing.T) {
	dir := filepath.Dir(fakeGo(t))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), []byte("#!/bin/sh\necho 'the compiler is missing'\nexit 1\n"), 0o700))
	_, err := builtServers(t.Context(), []*scenario.Scenario{builtBy(&scenario.ServerBuild{Race: true})}, io.Discard)
	require.ErrorContains(t, err, "the server, built with the race detector: build build-1 of ")
	require.ErrorContains(t, err, "the compiler is missing")
}

func TestCommandsThatDoNotBuildServersRefuseABuild(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "a.hcl", `scenario "a" {
  topology "single" {
    durability = "none"
    build { race = true }
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "1s" }
}
`)
	s := sheet(t)
	for _, command := range []string{"prony compare", "prony ratchet"} {
		_, err := (&vars{}).loadFor(command, []string{"a.hcl"})
		s.Error(t, command, err)
	}
	_, err := (&vars{}).loadFor("prony run", []string{"a.hcl"})
	require.NoError(t, err)
}
