package child

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

// Find returns the path of a server program. It looks next to this program, in bin below the
// working directory, in PATH, and then at the patterns. The error explains how to install the
// program.
func Find(name string, patterns ...string) (string, error) {
	var candidates []string
	if executable, err := os.Executable(); err == nil {
		candidates = append(candidates, filepath.Join(filepath.Dir(executable), name))
	}
	candidates = append(candidates, filepath.Join("bin", name))
	for _, path := range candidates {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return filepath.Abs(path)
		}
	}
	if path, err := exec.LookPath(name); err == nil {
		return filepath.Abs(path)
	}
	for _, pattern := range patterns {
		if found, err := filepath.Glob(pattern); err == nil && len(found) > 0 {
			return found[len(found)-1], nil
		}
	}
	return "", fmt.Errorf("%s is not installed: run ci/peers.sh", name)
}

// FindAt returns place if it is a file, for example the program's location in a Debian package, and
// otherwise the result of Find.
func FindAt(place, name string) (string, error) {
	if info, err := os.Stat(place); err == nil && info.Mode().IsRegular() {
		return place, nil
	}
	return Find(name)
}

// Version returns the first group of the pattern in a command's output.
func Version(ctx context.Context, pattern string, command ...string) (string, error) {
	out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w: %s", command[0], err, out)
	}
	found := regexp.MustCompile(pattern).FindSubmatch(out)
	if found == nil {
		return "", fmt.Errorf("ask %s for its version: it answered %q", command[0], out)
	}
	return string(found[1]), nil
}
