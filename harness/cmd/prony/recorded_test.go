package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRecordedCommandsDoNotNameTheFolderOfTheirRun(t *testing.T) {
	want := []string{"prony", "run", "--rounds", "2", "small.hcl"}
	assert.Equal(t, want, recorded(want))
	assert.Equal(t, want, recorded([]string{"prony", "run", "--out", "/tmp/x", "--rounds", "2", "small.hcl"}))
	assert.Equal(t, want, recorded([]string{"prony", "run", "--rounds", "2", "--out=/tmp/x", "small.hcl"}))
	assert.Equal(t, want, recorded([]string{"prony", "run", "--rounds", "2", "small.hcl", "--out"}))
	assert.Equal(t, []string{"prony", "soak", "--for", "2h", "small.hcl"},
		recorded([]string{"prony", "soak", "--folder", "/tmp/x", "--for", "2h", "--listen=9100", "small.hcl"}))
	assert.Equal(t, []string{"prony", "run", "--", "--out", "x"}, recorded([]string{"prony", "run", "--", "--out", "x"}), "files")
}
