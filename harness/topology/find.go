package topology

import "github.com/pronybench/prony/harness/proc"

// FindServer returns the absolute path of the queued binary: the one that the environment variable
// PRONY_QUEUED names, else the one in the folder of the running program, else bin/queued below the
// working directory.
func FindServer() (string, error) {
	return proc.Binary{Called: "the server", File: "queued", Env: "PRONY_QUEUED", Make: "build", Wanted: "queued"}.Find()
}
