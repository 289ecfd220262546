package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
)

// mistaken are incomplete or wrong command lines, which run in an empty folder.
var mistaken = []string{
	"rnu", "lsit", "help rnu", "baseline nothing", "baseline explian", "gate test", "ratchet pgae", "doctor here",
	"run", "run --round 3 x.hcl", "run -rounds 3 x.hcl", "run --quick x.hcl", "run --rounds many x.hcl", "run --rounds", "run none.hcl",
	"guard", "guard --within soon x.hcl", "validate", "explain", "completion", "completion tcsh", "init", "init Big", "init a b",
	"profile diff", "profile diff a", "profile top a b", "ratchet", "compare", "compare a b c", "list", "list nowhere",
	"check", "check --baselines nowhere", "report", "report --out a --publish b", "report --format csv --json", "baseline explain",
	"baseline propose", "profile locks", "view", "convert",
}

// mistakenHere are mistakes about existing files. They run in the folder that TestMistakes makes.
var mistakenHere = []string{
	"baseline explain --baselines limits tyni", "baseline propose torn.zip", "check --baselines empty", "check runs/one",
	"compare runs/base none", "compare runs/base", "compare runs/base runs/base runs/base", "compare --base main runs/base", "compare --change main runs/base runs/base",
	"compare --effect big runs/base runs/base", "compare --effect 100% runs/base runs/base",
	"convert none.json --to csv", "convert prose.txt", "convert prose.txt --to xml", "convert prose.txt --to csv --json", "convert prose.txt --to csv",
	"doctor --dir none", "doctor --window 0s",
	"explain --all tiny.hcl", "gate resample --baselines limits empty", "gate resample --sets 0 runs",
	"gate selftest --for -1s", "gate selftest --within 0s", "gate selftest --drawn -1", "gate selftest --kinds identical,cpu-4",
	"gate selftest --for 0 --bank none", "gate selftest --for 0 --bank .",
	"guard tiny.hcl", "guard soaked.hcl", "guard --baseline main tiny.hcl", "guard --within -1s tiny.hcl", "history", "history page", "history --json",
	"init taken --out taken.hcl", "init many", "init x --out dangling.hcl", "init two", "init x --out scenarios", "init x --out x.txt", "init x --out none/x.hcl",
	"init x --rate fast", "init x --rate 0/s", "init x --payload 4KB", "init x --payload 8", "init x --payload 2MiB", "init x --payload 256-64",
	"init x --latency-max 50", "init x --latency-max 2h", "init x --durability often", "init x --topology remote",
	"init x --rate fast --payload 8 --topology remote",
	"list empty", "profile diff runs/base runs/one",
	"ratchet --for -1s --env X --pgo none.pgo --json", "ratchet --build-env =1", "ratchet page --experiments bad.hcl",
	"report none", "report --html x.html reports empty", "report --html reports", "report --html x.html empty", "report --html x.html none",
	"report --publish reports --html x.html",
	"run hello", "run hello.hcl", "run scenarios/hello.hcl", "run helo.hcl", "run goodbye.hcl", "run soaked.hcl", "run --out lo tiny.hcl",
	"run --rounds 0 tiny.hcl", "run --rounds -1 tiny.hcl", "run --rounds 1001 tiny.hcl",
	"run --var workers tiny.hcl", "run --var =3 tiny.hcl", "run --var a=1 --var a=2 tiny.hcl",
	"serial --connections 0,1", "serial --search 10ms", "serial --waits both", "serial none",
	"view none", "view empty", "view empty/x", "view a b", "view --listen :80",
}

// A wrong command line has one message with the problem, the remedy, and a pointer to the help.
func TestMistakes(t *testing.T) {
	s := golden.Cases(t, "testdata/mistakes.golden")
	root := inFolder(t)
	of := func(lines []string) {
		before := filesBelow(t, root)
		for _, line := range lines {
			got := mistake(t, s, strings.Fields(line)...)
			assert.NotContains(t, got.stderr, "arg(s)", line)
			if !strings.Contains(line, "--json") {
				assert.Empty(t, got.stdout, line)
			}
		}
		assert.Equal(t, before, filesBelow(t, root), "nothing is written")
	}
	of(mistaken)
	write(t, "tiny.hcl", tiny("tiny", "100ms", ""))
	write(t, "soaked.hcl", soaked)
	write(t, "taken.hcl", "mine")
	write(t, "bad.hcl", "experiment \"one\" {}\n")
	write(t, "prose.txt", "hello\n")
	write(t, "torn.zip", "PK")
	write(t, "empty/x", "")
	write(t, "limits/tiny.hcl", baseline)
	write(t, "lo/latest/x", "")
	write(t, "reports/a.md", "# A\n")
	write(t, "scenarios/many.hcl", tiny("one", "100ms", "")+tiny("two", "100ms", ""))
	write(t, "scenarios/smoke/hello.hcl", tiny("hello", "100ms", ""))
	require.NoError(t, os.Symlink("nowhere", "dangling.hcl"))
	stored(t, "runs", "base", nil)
	stored(t, "runs", "one", nil)
	of(mistakenHere)
}

// filesBelow returns the paths below a folder, with the texts of the files.
func filesBelow(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		var text []byte
		if err == nil && d.Type().IsRegular() {
			text, err = os.ReadFile(path)
		}
		all[path] = string(text)
		return err
	}))
	return all
}

// An unknown word without a similar command lists all commands. A command that only contains others
// shows its help if no subcommand is named.
func TestUnknownCommands(t *testing.T) {
	for _, line := range []string{"foo", "--json foo", "help foo"} {
		got := prony(t, strings.Fields(line)...)
		assert.Equal(t, 2, got.code, line)
		assert.Regexp(t, `prony: there is no command "foo": there are baseline, check, .*, run, .*validate`, got.stderr, line)
	}
	for _, line := range []string{"", "help", "profile", "help profile", "profile --help", "help profile top", "baseline", "gate"} {
		got := prony(t, strings.Fields(line)...)
		assert.Equal(t, 0, got.code, line)
		assert.Empty(t, got.stderr, line)
		assert.Contains(t, got.stdout, "Usage:\n", line)
	}
}

// A problem with the name of a file is in the JSON document.
func TestAFileThatIsNotThereIsAskedAbout(t *testing.T) {
	inFolder(t)
	got := prony(t, "validate", "--json", "hello")
	assert.Equal(t, 2, got.code)
	var v validation
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &v))
	require.NotEmpty(t, v.Problems)
	assert.Equal(t, "hello", v.Problems[0].File)
}

// An error about a missing program or file names the remedy.
func TestWhatIsNotInstalled(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	s := sheet(t)
	s.Replace(filepath.Dir(program), "PROGRAM")
	s.Replace(inFolder(t), "HERE")
	write(t, "tiny.hcl", tiny("tiny", "100ms", ""))
	t.Setenv("PRONY_QUEUED", "")
	mistake(t, s, "run", "tiny.hcl")
	t.Setenv("PRONY_QUEUED", "nowhere")
	got := mistake(t, s, "run", "--json", "tiny.hcl")
	assert.Equal(t, result.Misconfigured, got.document(t).Verdict)
	assert.NoDirExists(t, defaultOut)
	mistake(t, s, "compare", "--base", "main")
	mistake(t, s, "serial")
	t.Setenv("PATH", t.TempDir())
	for _, line := range []string{"compare --base HEAD", "ratchet --base main --hypothesis x --cost none", "gate selftest"} {
		mistake(t, s, strings.Fields(line)...)
	}
}

// The folder of baselines is not needed if all scenarios have limits.
func TestGuardWithoutBaselines(t *testing.T) {
	s := sheet(t)
	inFolder(t)
	write(t, "tiny.hcl", inTasks(tiny("tiny", "1s", `limit "cycles_per_s" { min = 0.001  because = "x" }`)))
	mistake(t, s, "guard", "--baselines", "nowhere", "tiny.hcl")
	got := prony(t, "guard", "tiny.hcl")
	assert.Equal(t, 0, got.code, got.stderr)
}
