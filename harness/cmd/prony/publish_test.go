package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/history"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/run"
	"github.com/pronybench/prony/harness/scenario"
)

// unlimited returns tiny with the name one, one round, and no limits on the fitness of the host
// instead of warnings.
func unlimited(more string) string {
	var limits strings.Builder
	for _, l := range scenario.ValidityLimits() {
		fmt.Fprintf(&limits, "    %s = \"any\"\n", l.Name)
	}
	return strings.NewReplacer("rounds = 2", "rounds = 1", `validity { on_breach = "warn" }`, "validity {\n"+limits.String()+"  }").Replace(inTasks(tiny("one", "600ms", more)))
}

// inRepository is inFolder with a commit of the program of serverOfTheCommit and of the given
// files: path and text alternate.
func inRepository(t *testing.T, files ...string) {
	t.Helper()
	inFolder(t)
	inGit(t, "init", "--quiet")
	write(t, ".gitignore", "runs\n")
	write(t, "server/go.mod", "module example.com/server\n\ngo 1.26\n")
	write(t, "server/main.go", fmt.Sprintf(`package main

import (
	"os"
	"syscall"
)

func main() { panic(syscall.Exec(%q, os.Args, os.Environ())) }
`, queuedBinary))
	for i := 0; i < len(files); i += 2 {
		write(t, files[i], files[i+1])
	}
	commitAll(t)
}

// serverOfTheCommit builds the repository's server, which runs the real one, and selects it for
// measurements. Go stamps the checked-out commit into it.
func serverOfTheCommit(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "queued")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=true", "-o", path, ".")
	build.Dir, build.Env = "server", append(os.Environ(), "GOWORK=off")
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))
	t.Setenv("PRONY_QUEUED", path)
	return path
}

func inGit(t *testing.T, args ...string) {
	t.Helper()
	_, err := git(t.Context(), ".", append([]string{"-c", "user.name=t", "-c", "user.email=t@t"}, args...)...)
	require.NoError(t, err)
}

func commitAll(t *testing.T) {
	t.Helper()
	inGit(t, "add", "--all")
	inGit(t, "commit", "--quiet", "--allow-empty", "--message", "as it is")
}

func TestPublishMeasuresWhatHasNoPageOfTheCode(t *testing.T) {
	inRepository(t,
		"scenarios/one.hcl", unlimited(""), "scenarios/warns.hcl", tiny("warns", "600ms", ""), "harness/code.go", "package harness\n", "harness/README.md", "1\n")
	serverOfTheCommit(t)
	ran := prony(t, "publish", "--json")
	require.Equal(t, 0, ran.code, ran.stderr)
	d := ran.document(t)
	require.Len(t, d.Scenarios, 1, "the scenario that only warns of an unfit host is skipped")
	assert.Equal(t, "reports/scenarios/one.md", d.Scenarios[0].Page)
	assert.FileExists(t, "reports/scenarios/one.md")
	records, err := history.Read("reports/history/one.jsonl")
	require.NoError(t, err)
	require.Len(t, records, 1)
	assert.Equal(t, filepath.Base(d.Scenarios[0].Run), records[0].Run)
	assert.Contains(t, ran.stderr, "one: published as reports/scenarios/one.md\npublish: 1 published, 0 not complete, 0 not started\n")

	again := func(scenarios int, args ...string) {
		t.Helper()
		ran := prony(t, append([]string{"publish", "--json"}, args...)...)
		require.Equal(t, 0, ran.code, ran.stderr)
		assert.Len(t, ran.document(t).Scenarios, scenarios, ran.stderr)
	}
	again(0)
	commitAll(t)
	write(t, "harness/code_test.go", "package harness\n")
	write(t, "harness/README.md", "2\n")
	write(t, "harness/report/page.go", "package report\n")
	commitAll(t)
	again(0) // pages, tests and documents are not measured
	write(t, "harness/code.go", "package harness\n\nconst changed = true\n")
	commitAll(t)
	serverOfTheCommit(t)
	again(1)
	commitAll(t)
	again(0)
	write(t, "scenarios/one.hcl", strings.Replace(unlimited(""), "workers   = 4", "workers   = 5", 1))
	commitAll(t)
	again(1)
	commitAll(t)
	again(1, "--again")
	write(t, "scenarios/two.hcl", strings.Replace(unlimited(""), `scenario "one"`, `scenario "two"`, 1))
	commitAll(t)
	again(1, "--again", "--only", "two")
	assert.FileExists(t, "reports/scenarios/two.md")
}

func TestPublishMeasuresCommitsOnly(t *testing.T) {
	inRepository(t, "scenarios/one.hcl", unlimited(""))
	s := sheet(t)
	fails := func(name string, args ...string) {
		t.Helper()
		refused(t, s, name, prony(t, append([]string{"publish"}, args...)...))
	}
	write(t, "scenarios/one.hcl", unlimited("# changed"))
	fails("a changed scenario")
	commitAll(t)
	write(t, "two.go", "package two\n")
	fails("a new file")
	commitAll(t)
	fails("a negative time", "--within", "-1s")
	fails("no such folder", "nowhere")
	write(t, "warns.hcl", tiny("warns", "600ms", ""))
	commitAll(t)
	fails("a scenario that warns", "warns.hcl")
	fails("no such scenario", "--only", "tow")
	assert.NoDirExists(t, "runs", "nothing is measured")
	write(t, "runs/one.hcl", unlimited(""))
	outside := t.TempDir()
	s.Replace(outside, "OUTSIDE")
	write(t, filepath.Join(outside, "one.hcl"), unlimited(""))
	fails("an ignored file", "runs/one.hcl")
	fails("a file outside the repository", filepath.Join(outside, "one.hcl"))
	t.Chdir(outside)
	write(t, "scenarios/one.hcl", unlimited(""))
	fails("no repository")
	assert.NoDirExists(t, "runs", "nothing is measured")
}

func TestASoakIsNotPublishedByRuns(t *testing.T) {
	t.Parallel()
	s := sheet(t)
	s.Error(t, "a soak", publishProblem(&scenario.Scenario{Name: "s", File: "s.hcl", Soak: &scenario.Soak{}}))
	s.Error(t, "other hosts", publishProblem(&scenario.Scenario{Topology: scenario.Topology{Kind: scenario.Remote}}))
	assert.NoError(t, publishProblem(&scenario.Scenario{}))
}

// A server that was not built from the commit's code is not measured.
func TestTheServerIsBuiltFromTheCode(t *testing.T) {
	inRepository(t, "engine/code.go", "package engine\n")
	server := serverOfTheCommit(t)
	c, err := committedCode(t.Context(), "reports")
	require.NoError(t, err)
	assert.NoError(t, c.built(t.Context(), ""))
	assert.NoError(t, c.built(t.Context(), server))
	s := sheet(t)
	s.Replace(queuedBinary, "QUEUED")
	s.Replace(server, "SERVER")
	s.Replace(c.head, "COMMIT")
	s.Error(t, "no record", c.built(t.Context(), queuedBinary))
	write(t, "engine/code.go", "package engine\n\nconst changed = true\n")
	commitAll(t)
	c, err = committedCode(t.Context(), "reports")
	require.NoError(t, err)
	s.Error(t, "changed files", c.built(t.Context(), server))
	assert.False(t, c.same(t.Context(), "0123456789"), "a commit that the repository does not have")
}

func TestPagesOutsideTheRepositoryAreNotAsked(t *testing.T) {
	inRepository(t)
	paths, err := withinRepository(t.Context(), "reports", filepath.Join(t.TempDir(), "reports"), ".")
	require.NoError(t, err)
	assert.Equal(t, []string{"reports"}, paths)
}

var errDiskFull = errors.New("the disk is full")

// published runs a publication with scripted verdicts.
func published(t *testing.T, within time.Duration, failing string, verdicts ...result.Verdict) (*publication, string, error) {
	t.Helper()
	var said strings.Builder
	dir := t.TempDir()
	p := &publication{began: time.Now(), within: within, stderr: &said, reports: filepath.Join(dir, "reports")}
	var scenarios []*scenario.Scenario
	of := map[string]result.Verdict{}
	for i, v := range verdicts {
		name := string(rune('a' + i))
		of[name] = v
		s := &scenario.Scenario{Name: name, Rounds: 1, Phases: scenario.Phases{Window: time.Minute}}
		scenarios = append(scenarios, s)
	}
	p.execute = func(_ context.Context, s *scenario.Scenario, _ *run.Place) (*result.Result, string, error) {
		if s.Name == failing {
			return nil, "", errDiskFull
		}
		var r *result.Result
		folder := stored(t, filepath.Join(t.TempDir(), "runs"), s.Name, func(made *result.Result) {
			made.Scenario, made.Manifest.Scenario.Name, made.Verdict = s.Name, s.Name, of[s.Name]
			kind := &made.Manifest.Scenario.Topology.Kind
			*kind = cmp.Or(s.Topology.Kind, *kind)
			r = made
		})
		return r, folder, nil
	}
	err := p.all(t.Context(), scenarios)
	return p, said.String(), err
}

// Every run with a verdict on the build is published.
func TestEachCompleteRunIsPublished(t *testing.T) {
	t.Parallel()
	p, said, err := published(t, 0, "", result.Pass, result.Invalid, result.Incorrect, result.Regressed, result.Inconclusive, result.Misconfigured)
	require.NoError(t, err)
	var pages []string
	for _, o := range p.outcomes {
		pages = append(pages, filepath.Base(o.Page))
	}
	assert.Equal(t, []string{"a.md", ".", "c.md", "d.md", "e.md", "."}, pages)
	assert.NoFileExists(t, filepath.Join(p.reports, "scenarios", "b.md"))
	assert.NoDirExists(t, filepath.Join(p.reports, "data", "b"))
	s := sheet(t)
	s.Replace(filepath.Dir(t.TempDir()), "TMP")
	s.Equal(t, "six scenarios", said)
	page, err := os.ReadFile(p.outcomes[2].Page)
	require.NoError(t, err)
	assert.Contains(t, string(page), "no figure of it is published")
	assert.NotContains(t, string(page), "cycles_per_s")
}

// The verdict is by the checked-in limits, and the command ends with it.
func TestAPublishedRunIsJudgedByTheLimits(t *testing.T) {
	inRepository(t, "scenarios/one.hcl", unlimited(""), "baselines/one.hcl", strings.NewReplacer(`"tiny"`, `"one"`, "500", "1e15").Replace(baseline))
	serverOfTheCommit(t)
	got := prony(t, "publish", "--json")
	require.Equal(t, result.Regressed.ExitCode(), got.code, got.stderr)
	assert.Regexp(t, `one: regressed, published as reports/scenarios/one.md: cycles_per_s \S+ is below the floor 1e\+15: half of what it does\n`, got.stderr)
	assert.Contains(t, got.stderr, "one: measured: ")
	assert.NotContains(t, got.stderr, "one: pass", "only the limits give a verdict")
	document := got.document(t)
	assert.Equal(t, "reports/scenarios/one.md", document.Scenarios[0].Page)
	assert.NotEmpty(t, document.Scenarios[0].Limits)
	records, err := history.Read("reports/history/one.jsonl")
	require.NoError(t, err)
	assert.Equal(t, result.Regressed, records[0].Verdict)
	kept, err := result.ReadResult("reports/data/one/result.json")
	require.NoError(t, err)
	assert.Equal(t, result.Pass, kept.Verdict, "limits may change, so their verdict is not stored")
}

func TestWhatTargetsLostIsPublished(t *testing.T) {
	t.Parallel()
	p, _, err := published(t, 0, "")
	require.NoError(t, err)
	p.execute = func(_ context.Context, s *scenario.Scenario, _ *run.Place) (*result.Result, string, error) {
		var r *result.Result
		return r, stored(t, filepath.Join(t.TempDir(), "runs"), s.Name, func(made *result.Result) {
			made.Scenario, made.Manifest.Scenario.Name, made.Verdict = s.Name, s.Name, result.Incorrect
			made.Manifest.Scenario.Topology.Kind = scenario.ByProgram
			r = made
		}), nil
	}
	require.NoError(t, p.all(t.Context(), []*scenario.Scenario{{Name: "a"}}))
	assert.Equal(t, result.Incorrect, p.outcomes[0].Verdict, "the command's verdict")
	assert.FileExists(t, p.outcomes[0].Page)
}

func TestNoScenarioBeginsThatEndsTooLate(t *testing.T) {
	t.Parallel()
	p, said, err := published(t, 30*time.Second, "", result.Pass)
	require.NoError(t, err)
	assert.Empty(t, p.outcomes)
	assert.Regexp(t, `a: not started: it takes about \d+s, and --within leaves (30|29)s\n`, said)
	assert.Contains(t, said, "publish: 0 published, 0 not complete, 1 not started")
}

func TestWhatWasPublishedBeforeAnErrorStays(t *testing.T) {
	t.Parallel()
	p, _, err := published(t, 0, "b", result.Pass, result.Pass, result.Pass)
	require.ErrorIs(t, err, errDiskFull)
	assert.Len(t, p.outcomes, 1)
	assert.FileExists(t, filepath.Join(p.reports, "scenarios", "a.md"))
}
