// Package e2e runs the k6 binary with real scripts against a real server: those of scenarios/k6, those that the README
// shows, and those that are wrong.
package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The repository's root, and the binaries under test. They are kept between runs: the go command links one again only when
// what is in it changed.
var (
	root   = filepath.Join("..", "..", "..")
	k6     = filepath.Join("bin", "e2e", "k6")
	queued = filepath.Join("bin", "e2e", "queued")
	prony  = filepath.Join("bin", "e2e", "prony")
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	var err error
	if root, err = filepath.Abs(root); err != nil {
		return 0, fmt.Errorf("find the repository: %w", err)
	}
	for _, b := range []struct {
		module, what string
		to           *string
	}{
		{filepath.Join("harness", "k6"), "./cmd/k6", &k6},
		{"engine", "./cmd/queued", &queued},
		{"harness", "./cmd/prony", &prony},
	} {
		*b.to = filepath.Join(root, *b.to)
		if err := build(b.module, b.what, *b.to); err != nil {
			return 0, err
		}
	}
	return m.Run(), nil
}

func build(module, what, to string) error {
	command := exec.Command("go", "build", "-buildvcs=false", "-o", to, what)
	command.Dir = filepath.Join(root, module)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", what, err, out)
	}
	return nil
}
