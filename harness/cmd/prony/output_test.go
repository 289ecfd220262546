package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// working returns all commands that do something, except those that cobra adds, and completion,
// which prints a script.
func working(c *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, sub := range c.Commands() {
		if sub.Name() == "help" || sub.Name() == "completion" {
			continue
		}
		if sub.Runnable() {
			all = append(all, sub)
		}
		all = append(all, working(sub)...)
	}
	return all
}

// pathOf returns the words of the command line that select a command.
func pathOf(c *cobra.Command) []string { return strings.Fields(c.CommandPath())[1:] }

// Every command can print its result as JSON.
func TestEveryCommandHasJSON(t *testing.T) {
	inFolder(t)
	commands := working(newRoot([]string{"prony"}))
	require.GreaterOrEqual(t, len(commands), 3)
	s := validator(t, "document")
	for _, c := range commands {
		t.Run(strings.Join(pathOf(c), " "), func(t *testing.T) {
			flag := c.Flags().Lookup("json")
			require.NotNil(t, flag, "use jsonFlag")
			assert.Equal(t, "bool", flag.Value.Type())
			assert.Equal(t, "false", flag.DefValue)

			got := prony(t, append(pathOf(c), "--json", "--no-such-flag")...)
			assert.Equal(t, 2, got.code)
			assert.Contains(t, got.stderr, "no-such-flag")
			document := got.document(t)
			assert.Equal(t, result.Misconfigured, document.Verdict)
			assert.Contains(t, document.Error, "no-such-flag")
			valid(t, s, []byte(got.stdout))

			plain := prony(t, append(pathOf(c), "--no-such-flag")...)
			assert.Equal(t, 2, plain.code)
			assert.Empty(t, plain.stdout)
			assert.Equal(t, got.stderr, plain.stderr)
		})
	}
}

func TestErrorsAsJSON(t *testing.T) {
	inFolder(t)
	for _, line := range []string{"rnu --json", "run --json", "run --json=true none.hcl", "check --json none", "report --json none"} {
		got := prony(t, strings.Fields(line)...)
		assert.Equal(t, 2, got.code, line)
		document := got.document(t)
		assert.Equal(t, result.Misconfigured, document.Verdict, line)
		assert.Equal(t, got.stderr, "prony: "+document.Error+"\n")
		assert.NotNil(t, document.Scenarios)
	}
	assert.Empty(t, prony(t, "report", "--", "--json").stdout, "the name of a folder")
}

// A verdict is printed exactly once, even if no document has it.
func TestFailure(t *testing.T) {
	t.Parallel()
	d := failure(verdictError{result.Inconclusive})
	assert.Equal(t, result.Inconclusive, d.Verdict)
	assert.Equal(t, "verdict inconclusive", d.Error)
	assert.Equal(t, result.Misconfigured, failure(errors.New("no")).Verdict)

	var out bytes.Buffer
	n := &noted{Writer: &out}
	_, err := n.Write(nil)
	require.NoError(t, err)
	assert.False(t, n.used)
	_, err = n.Write([]byte("x"))
	require.NoError(t, err)
	assert.True(t, n.used)
}

func TestReportAsJSON(t *testing.T) {
	inFolder(t)
	first, second := stored(t, "a", "1", nil), stored(t, "a", "2", nil)
	got := prony(t, "report", "--json", first, second)
	require.Equal(t, 0, got.code, got.stderr)
	document := got.document(t)
	assert.Equal(t, result.Pass, document.Verdict)
	assert.Equal(t, []result.Page{
		{Of: first, Page: filepath.Join(first, "report.md"), Files: []string{filepath.Join(first, "tiny-throughput.svg"), filepath.Join(first, "tiny-latency.svg")}},
		{Of: second, Page: filepath.Join(second, "report.md"), Files: []string{filepath.Join(second, "tiny-throughput.svg"), filepath.Join(second, "tiny-latency.svg")}},
	}, document.Pages)
	valid(t, validator(t, "document"), []byte(got.stdout))

	got = prony(t, "report", "--json", first, "none")
	assert.Equal(t, 2, got.code)
	document = got.document(t)
	assert.Equal(t, result.Misconfigured, document.Verdict)
	sheet(t).Equal(t, "no such run", document.Error)
	assert.Len(t, document.Pages, 1, "the written pages are listed")
}

// schemas is the folder of the committed schemas. It is absolute, because tests change the working
// directory.
var schemas, _ = filepath.Abs(filepath.Join("..", "..", "result", "schema"))

// validator returns the committed schema of that name.
func validator(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(schemas, name+".json"))
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	require.NoError(t, c.AddResource("schema.json", document))
	s, err := c.Compile("schema.json")
	require.NoError(t, err)
	return s
}

func valid(t *testing.T, s *jsonschema.Schema, text []byte) {
	t.Helper()
	require.True(t, json.Valid(text), "%s", text)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	require.NoError(t, s.Validate(value))
}
