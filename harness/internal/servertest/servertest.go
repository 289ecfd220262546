// Package servertest builds the real server for tests.
package servertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// Main is the TestMain of a package two folders below the repository's root: it builds the server once, at a path that it
// puts into queued, and exits with the code of the tests, which fail if they leave goroutines behind.
func Main(m *testing.M, queued *string) {
	dir, err := os.MkdirTemp("", "server-test-")
	if err == nil {
		*queued = filepath.Join(dir, "queued")
		build := exec.Command("go", "build", "-buildvcs=false", "-o", *queued, "./cmd/queued")
		build.Dir = filepath.Join("..", "..", "engine") // the engine's module: the server needs packages that the harness does not require
		build.Stderr = os.Stderr
		err = build.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build the server:", err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
		os.Exit(code)
	}))
}
