package k6run

import "github.com/pronybench/prony/harness/proc"

// BinaryEnv names the k6 binary explicitly.
const BinaryEnv = "PRONY_K6"

// Find returns the absolute path of a k6 binary with Prony's extension. It uses the path in the
// environment variable PRONY_K6, then a k6 in the folder of the running program, then bin/k6 below
// the working directory. It does not search PATH, because a k6 there lacks the extension.
func Find() (string, error) {
	return proc.Binary{Called: "k6", File: "k6", Env: BinaryEnv, Make: "k6", Wanted: "a k6 with Prony's extension"}.Find()
}
