// Package e2e runs the k6 binary with real scripts against a real server: the scripts of
// scenarios/k6, the scripts of the README, and invalid scripts.
package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pronybench/prony/engine/buildtest"
)

// The repository's root, and the programs under test.
var (
	root              = filepath.Join("..", "..", "..")
	k6, queued, prony string
)

func TestMain(m *testing.M) {
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func build() (err error) {
	if root, err = filepath.Abs(root); err != nil {
		return fmt.Errorf("find the repository: %w", err)
	}
	for _, b := range []struct {
		folder string
		path   *string
	}{
		{"harness/k6/cmd/k6", &k6},
		{"engine/cmd/queued", &queued},
		{"harness/cmd/prony", &prony},
	} {
		if *b.path, err = buildtest.Program(filepath.Base(b.folder), b.folder); err != nil {
			return err
		}
	}
	return nil
}
