package main

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/engine/version"
)

// The table, the JSON document, --version and the server's status report the same version of this
// program.
func TestTheVersionHasOneSource(t *testing.T) {
	want := version.Of()
	var document version.Info
	s, _ := serveInProcess(t)
	s.json(&document, "version")
	assert.Equal(t, want, document)
	assert.Equal(t, runtime.Version(), document.Go)
	assert.Equal(t, runtime.GOOS+"/"+runtime.GOARCH, document.Platform)
	table := s.ok("version")
	for _, row := range want.Rows() {
		assertRow(t, table, row[0], row[1])
	}
	assert.Equal(t, "queued "+want.String()+"\n", s.ok("--version"))
	var status struct{ Version string }
	s.json(&status, "status")
	assert.Equal(t, want.Version, status.Version)
	s.run("version", "now").fails(exitUsage)
}
