package topology

import "github.com/pronybench/prony/harness/proc"

// FindServer returns the absolute path of the queued binary. The environment variable PRONY_QUEUED
// has priority, then the binary in the folder of the running program, then bin/queued below the
// working directory.
func FindServer() (string, error) {
	return proc.Binary{Called: "the server", File: "queued", Env: "PRONY_QUEUED", Make: "build", Wanted: "queued"}.Find()
}
