package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// suiteBytesMax is the size of the end of a test suite's output that is stored.
const suiteBytesMax = 64 << 10

// runSuite runs the command of a test suite in dir with the shell. failed describes how the suite
// failed, with its last lines, and is "" if it passed. The error says why the suite could not run.
// When runSuite returns, all processes in the suite's process group have ended.
func runSuite(ctx context.Context, dir, command string, within time.Duration) (failed string, err error) {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	c := exec.CommandContext(limited, "sh", "-c", command)
	c.Dir, c.Env = dir, environment()
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = 5 * time.Second
	output := &tail{}
	c.Stdout, c.Stderr = output, output
	err = c.Run()
	if c.Process != nil {
		// Processes that the suite left behind would disturb the measurement. ESRCH means that
		// there are none.
		if killErr := syscall.Kill(-c.Process.Pid, syscall.SIGKILL); killErr != nil && !errors.Is(killErr, syscall.ESRCH) {
			return "", fmt.Errorf("end the processes of %q: %w", command, killErr)
		}
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "", nil
	case ctx.Err() != nil:
		return "", fmt.Errorf("interrupted in the test suite %q: %w", command, ctx.Err())
	case limited.Err() != nil:
		return fmt.Sprintf("the test suite %q did not end in %v:\n%s", command, within, lastLines(output.String())), nil
	case errors.As(err, &exit), errors.Is(err, exec.ErrWaitDelay):
		return fmt.Sprintf("the test suite %q failed, %v:\n%s", command, err, lastLines(output.String())), nil
	}
	return "", fmt.Errorf("run the test suite %q: %w", command, err)
}

// tail is a writer that keeps the end of its input.
type tail struct{ kept bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	t.kept.Write(p)
	if over := t.kept.Len() - suiteBytesMax; over > 0 {
		t.kept.Next(over)
	}
	return len(p), nil
}

func (t *tail) String() string { return t.kept.String() }
