package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	// What the binaries under test are made of, so that the go command runs these tests again when
	// it has changed.
	_ "github.com/pronybench/prony/engine/node"
	_ "github.com/pronybench/prony/harness/gate"
	_ "github.com/pronybench/prony/harness/k6"
	_ "github.com/pronybench/prony/harness/report"
	_ "github.com/pronybench/prony/harness/run"
)

// noteInputs has the go command run these tests again when a script has changed. It keeps a result
// for as long as the files that a test looked at are the same, but only those below the test's
// module, and what a child process reads it does not see: a link leads to the scripts.
func noteInputs(t *testing.T) {
	t.Helper()
	require.NoError(t, lookAtInputs())
}

var lookAtInputs = sync.OnceValue(func() error {
	scripts := filepath.Join("testdata", "scenarios") + string(filepath.Separator) // the link's target
	err := filepath.WalkDir(scripts, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("look at what is tested: %w", err)
	}
	return nil
})
