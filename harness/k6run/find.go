package k6run

import "github.com/pronybench/prony/harness/proc"

// BinaryEnv names the k6 binary explicitly.
const BinaryEnv = "PRONY_K6"

// Find returns the absolute path of the k6 binary that has Prony's extension: the one that the
// environment variable PRONY_K6 names, else the one beside the running program, else bin/k6 below
// the working directory. A k6 from elsewhere lacks the extension and is not looked for.
func Find() (string, error) {
	return proc.Binary{Called: "k6", File: "k6", Env: BinaryEnv, Make: "k6", Wanted: "a k6 with Prony's extension"}.Find()
}
