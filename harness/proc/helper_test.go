package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

const (
	// patience bounds waits for events that must happen. It does not test speed.
	patience = 30 * time.Second
	tick     = time.Millisecond
	// helperEnv makes the test binary act as a program with the steps in its arguments.
	helperEnv = "PROGRAM_TEST_HELPER"
)

func TestMain(m *testing.M) {
	if os.Getenv(helperEnv) != "" {
		if err := act(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if err := os.Setenv(helperEnv, "yes"); err != nil { // for all processes started here
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// act executes the steps, and prints events that a test waits for to stdout.
func act(steps []string) error {
	for i, step := range steps {
		verb, argument, _ := strings.Cut(step, " ")
		switch verb {
		case "parent": // starts a process that takes the other steps, like the harness
			p, err := Start(exec.Command(os.Args[0], steps[i+1:]...))
			if err != nil {
				return err
			}
			fmt.Println(p.PID())
			<-p.Done()
			return p.Err()
		case "child": // starts a process that continues, and does not wait for it
			cmd := exec.Command("sleep", "600")
			if err := cmd.Start(); err != nil {
				return err
			}
			fmt.Println(cmd.Process.Pid)
		case "stubborn":
			signal.Ignore(syscall.SIGTERM)
			fmt.Println("stubborn")
		case "obey": // ends with a status on request
			asked := make(chan os.Signal, 1)
			signal.Notify(asked, syscall.SIGTERM)
			fmt.Println("obeying")
			<-asked
			return exit(argument)
		case "work": // until it has used some CPU time
			var used syscall.Rusage
			for used.Utime.Nano()+used.Stime.Nano() < int64(20*time.Millisecond) {
				if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
					return err
				}
			}
		case "hang":
			<-time.After(10 * time.Minute) // all tests have timed out by then
		case "find": // finds a program
			found, err := Binary{File: argument, Env: wheelEnv}.Find()
			if err != nil {
				return err
			}
			fmt.Println(found)
		case "exit":
			return exit(argument)
		default:
			return errors.New("unknown step: " + step)
		}
	}
	return nil
}

func exit(status string) error {
	code, err := strconv.Atoi(status)
	if err == nil {
		os.Exit(code)
	}
	return err
}

func itself(t *testing.T) string {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	return executable
}

// gone reports whether a process has ended. The process that inherited it may not have reaped it
// yet.
func gone(t *testing.T, pid int) bool {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	// It ended before it was opened or read.
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return true
	}
	require.NoError(t, err)
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X")
}
