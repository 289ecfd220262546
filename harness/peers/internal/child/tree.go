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

// descendants returns the processes that a process forked, and those that they forked.
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
		// After the name, which is in parentheses and may have any character: the state and the parent.
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

// killAll ends processes of other parents with SIGKILL and returns when they have ended. The kernel gives the id of a process that ended to
// another one only after all other ids were used, so that processes that were found an instant ago are still themselves.
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

// alive reports whether a process runs. One that ended and was not reaped yet does not.
func alive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text[max(0, strings.LastIndexByte(string(text), ')')):]), " ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}
