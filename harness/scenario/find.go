package scenario

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/scenario/hclfile"
	"github.com/pronybench/prony/harness/walk"
)

const (
	// filesMax bounds the number of files that Find looks at, and foldersDeepMax the depth below a
	// folder.
	filesMax       = 2000
	fileBytesMax   = 64 << 10
	foldersDeepMax = 8
)

// begins matches the start of a scenario block.
var begins = regexp.MustCompile(`(?m)^[ \t]*scenario\b`)

// Find returns the .hcl files in and below the folders that contain scenarios, in the order of
// their paths. It skips files without a scenario, which exist only for others to include. It
// follows no symbolic links below the folders. It returns an error if no file contains a scenario.
func Find(dirs ...string) ([]string, error) {
	var files []string
	seen := 0
	for _, dir := range dirs {
		deep := strings.Count(filepath.Clean(dir), string(filepath.Separator)) + foldersDeepMax
		err := walk.Dir(dir, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && strings.Count(filepath.Clean(path), string(filepath.Separator)) > deep:
				return fs.SkipDir
			case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != dir:
				return fs.SkipDir
			case !entry.Type().IsRegular() || !strings.HasSuffix(path, ".hcl"):
				return nil
			}
			if seen++; seen > filesMax {
				return fmt.Errorf("there are more than %d files; name a smaller folder", filesMax)
			}
			src, err := hclfile.ReadFile(path, fileBytesMax)
			if err != nil {
				return fmt.Errorf("%s %w", path, err)
			}
			if begins.Match(src) && !slices.Contains(files, path) {
				files = append(files, path)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("look for scenarios in %s: %w", dir, err)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there is no scenario in %s", strings.Join(dirs, ", "))
	}
	slices.Sort(files)
	return files, nil
}
