package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	// The packages of the binaries under test, so that the go command reruns these tests after a
	// change.
	_ "github.com/pronybench/prony/engine/node"
	_ "github.com/pronybench/prony/harness/gate"
	_ "github.com/pronybench/prony/harness/k6"
	_ "github.com/pronybench/prony/harness/report"
	_ "github.com/pronybench/prony/harness/run"
)

// noteInputs makes the go command rerun these tests after a change of a script. The go command
// reuses a result while the files that the test opened are unchanged. It considers only files below
// the test's module, and not those that a child process reads. Therefore noteInputs stats the
// scripts through a symbolic link in the module.
func noteInputs(t *testing.T) {
	t.Helper()
	require.NoError(t, lookAtInputs())
}

var lookAtInputs = sync.OnceValue(func() error {
	// The separator at the end makes WalkDir follow the link.
	scripts := filepath.Join("testdata", "scenarios") + string(filepath.Separator)
	err := filepath.WalkDir(scripts, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("stat the scripts under test: %w", err)
	}
	return nil
})
