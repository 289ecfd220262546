package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// noteInputs has the go command run these tests again when what they build or run has changed. It keeps a result for as long
// as the files that a test looked at are the same, but only those below the test's module, and what a child process reads it
// does not see. Seen through testdata/repository, a link to the root, the others are below it too.
func noteInputs(t *testing.T) {
	t.Helper()
	require.NoError(t, lookAtInputs())
}

var lookAtInputs = sync.OnceValue(func() error {
	for _, dir := range []string{"engine", "harness", filepath.Join("scenarios", "k6"), "go.work"} {
		err := filepath.WalkDir(filepath.Join("testdata", "repository", dir), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() {
				_, err = os.Stat(path)
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil // other tests make and remove files meanwhile
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("look at what is tested: %w", err)
		}
	}
	return nil
})
