package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/scenario"
)

func TestReadsInWords(t *testing.T) {
	w := scenario.Workload{Name: "main", Driver: "stream", Reads: 0.2}
	assert.Contains(t, workloadInWords(w), ", 0.25 reads for each task (reads = 0.2)")
	w.Reads = 0
	assert.NotContains(t, workloadInWords(w), "read")
}
