package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/scenario"
)

func TestReadsInWords(t *testing.T) {
	w := scenario.Workload{Name: "main", Driver: "stream", Reads: scenario.Reads{Get: 0.2}}
	assert.Contains(t, workloadInWords(w), ", 0.25 reads for each task (reads = 0.2)")
	w.Reads = scenario.Reads{List: 0.25, Await: 0.25}
	assert.Contains(t, workloadInWords(w), ", 0.5 lists of a queue, 0.5 waits for a task's end for each task (reads = [list(0.25), await(0.25)])")
	w.Reads = scenario.Reads{}
	assert.NotContains(t, workloadInWords(w), "read")
}
