package scenario

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

// The tables of attributes in the documentation are those of the parser.
func TestReferenceOfTheDocumentation(t *testing.T) {
	const page = "../../scenarios/README.md"
	src, err := os.ReadFile(page)
	require.NoError(t, err)
	text := string(src)
	for heading, want := range map[string]string{
		"## `workload \"NAME\"`\n": workloadTable.markdown(), "## `topology \"KIND\"`\n": topologyTable.markdown(), "### `hosts`\n": hostsTable.markdown(),
		"### `build`\n": buildTable.markdown(), "## `phases`\n": phasesTable.markdown(), "## `fault \"KIND\"`\n": faultTable.markdown(),
		"## `backlog`\n": backlogTable.markdown(), "## `observe`\n": observeTable.markdown(), "## `recurring`\n": recurringTable.markdown(), "## `attack`\n": attackTable.markdown(),
		"### Other queue servers\n": targetTable.markdown(), "## `soak`\n": soakTable.markdown(),
	} {
		before, rest, found := strings.Cut(text, "\n"+heading)
		require.True(t, found, heading)
		intro, rest, found := strings.Cut(rest, "| attribute | values | default |\n")
		require.True(t, found, heading)
		require.NotContains(t, intro, "\n## ", heading)
		_, after, _ := strings.Cut(rest, "\n\n")
		assert.NotContains(t, want, "|  |", "%s: an attribute has no description or default", heading)
		text = before + "\n" + heading + intro + want + "\n" + after
	}
	if golden.Writing(t) {
		require.NoError(t, os.WriteFile(page, []byte(text), 0o600))
		return
	}
	assert.Equal(t, text, string(src), "run make golden")
}

// The JSON of a workload has each attribute under its name.
func TestAttributesAreInTheJSON(t *testing.T) {
	all := map[string]bool{}
	parsed, err := parse("a.hcl", []byte(`scenario "all" {
  topology "single" { durability = "none" }
  workload "main" {
    driver = "unary"
    procs = 1
    busy_poll = true
    connections = 2
    tenants = 2
    queue_per_worker = true
    think = fixed("1ms")
    producers = 2
    workers = 2
    producer_batch = 2
    worker_batch = 3
    in_flight = 100
    combined = true
    reads = 0.1
    priority = uniform(0, 9)
    keys = uniform()
    fail = 0.1
    delay = share("1s", 0.1)
    extend = 0.1
    key = 0.1
  }
  workload "streams" {
    driver = "stream"
    procs = 1
    producers = 1
    workers = 1
    idempotent = true
    result = share(64, 0.1)
  }
  workload "unique" {
    driver = "stream"
    procs = 1
    producers = 1
    workers = 1
    unique = until_finished(10)
    cancel = 0.1
    headers = 2
  }
  workload "batches" {
    driver = "stream"
    procs = 1
    producers = 1
    workers = 1
    batch = 2
    final_tasks = true
  }
  phases { window = "10s" }
}`), nil)
	require.NoError(t, err)
	for _, w := range parsed[0].Workloads {
		text, err := json.Marshal(w)
		require.NoError(t, err)
		var stored map[string]any
		require.NoError(t, json.Unmarshal(text, &stored))
		for name := range stored {
			all[name] = true
		}
	}
	for _, name := range workloadTable.names() {
		if name != "script" { // of the driver "k6", which takes few of the others
			assert.Contains(t, all, name)
		}
	}
}

// The bounds of the language also apply to workloads that do not come from the parser.
func TestBoundProblems(t *testing.T) {
	w := Workload{Tenants: 1, Queues: 1, Batch: 1}
	assert.Empty(t, w.BoundProblems(), "0 means unset")
	w = Workload{Producers: -1, InFlight: inFlightMax + 1, Connections: -1, Fail: 1, Extend: 1, Key: -0.5}
	assert.Equal(t, []string{
		"connections is -1; it must be at least 1", "tenants is 0; it must be at least 1", "queues is 0; it must be at least 1",
		"producers is -1; it must not be negative", "batch is 0; it must be at least 1", "fail is 1; it must be from 0 to below 1",
		"key is -0.5; it must be from 0 to 1", "in_flight is 100000001; it must be at most 100000000",
	}, w.BoundProblems())
	assert.Equal(t, []string{"batch is 0; it must be at least 1"}, w.BoundProblems("batch"))
}
