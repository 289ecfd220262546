package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func descendants(pid int) ([]int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	children := map[int][]int{}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the process has ended
		}
		// The state and the parent follow the name, which is in parentheses and may contain any
		// character.
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(fields) < 2 {
			return nil, fmt.Errorf("%s: unexpected text %q", path, text)
		}
		child, childErr := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		parent, parentErr := strconv.Atoi(fields[1])
		if err := errors.Join(childErr, parentErr); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		children[parent] = append(children[parent], child)
	}
	var found []int
	for next := children[pid]; len(next) > 0; next = next[1:] {
		found = append(found, next[0])
		next = append(next, children[next[0]]...)
	}
	return found, nil
}

// killAll ends processes of other parents with SIGKILL and returns when they have ended. The kernel
// reuses the id of an ended process only after all other ids, so an id that was found a moment ago
// still belongs to the same process.
func killAll(ctx context.Context, pids []int) error {
	var errs []error
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			errs = append(errs, fmt.Errorf("kill process %d: %w", pid, err))
		}
	}
	for _, pid := range pids {
		for alive(pid) {
			select {
			case <-ctx.Done():
				return errors.Join(append(errs, fmt.Errorf("process %d has not ended after SIGKILL: %w", pid, context.Cause(ctx)))...)
			case <-time.After(poll):
			}
		}
	}
	return errors.Join(errs...)
}

// alive reports whether a process runs. It returns false for an ended process that is not reaped
// yet.
func alive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text[max(0, strings.LastIndexByte(string(text), ')')):]), " ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}
