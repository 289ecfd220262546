// Package child starts the server programs of a target on free ports, waits until they serve, and
// ends them.
//
// All of them end with this process, even if it is killed (package proc). PIDs returns the started
// processes. A caller that reads their CPU time and memory must include their descendants, because
// PostgreSQL and RabbitMQ work in forked processes.
package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/pronybench/prony/harness/proc"
)

const (
	// serveMax is the maximum wait until a server serves.
	serveMax = 60 * time.Second
	// poll is the interval between two checks whether a server serves.
	poll = 20 * time.Millisecond
	// endGrace is how long a server has to end after SIGTERM.
	endGrace = 5 * time.Second
)

// Program is a server program to start.
type Program struct {
	Name    string   // used in errors and for its log, NAME.log in the folder
	Command []string // the path of the program and its arguments
	Env     []string // in addition to this process's environment
	// Serves returns nil once the server serves. It is called repeatedly with a context that ends
	// after some seconds.
	Serves func(ctx context.Context) error
	// Helper marks a process that the servers need and that is not a server itself. PIDs omits
	// helpers.
	Helper bool
}

// Servers are the processes of one launch. Its methods are safe for concurrent use.
type Servers struct {
	folder   string
	programs []Program

	mu      sync.Mutex
	running []*proc.Process // one for each program; nil if none runs
}

// Start starts programs in order and returns when each serves. folder is their working directory
// and contains their logs. If a program fails, Start ends all of them.
func Start(ctx context.Context, folder string, programs ...Program) (*Servers, error) {
	s := &Servers{folder: folder, programs: programs}
	if err := s.Restart(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Restart starts the programs again after Kill, as Start did.
func (s *Servers) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil {
		return errors.New("restart the servers: they are running")
	}
	for _, p := range s.programs {
		process, err := s.start(p)
		if err != nil {
			return errors.Join(err, s.end())
		}
		s.running = append(s.running, process)
	}
	for i, p := range s.programs {
		if err := s.await(ctx, p, s.running[i]); err != nil {
			return errors.Join(err, s.end())
		}
	}
	return nil
}

func (s *Servers) logOf(p Program) string { return filepath.Join(s.folder, p.Name+".log") }

func (s *Servers) start(p Program) (*proc.Process, error) {
	log, err := os.OpenFile(s.logOf(p), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", p.Name, err)
	}
	defer func() { _ = log.Close() }() // the process has its own descriptor
	cmd := exec.Command(p.Command[0], p.Command[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.folder, log, log
	cmd.Env = append(os.Environ(), p.Env...)
	return proc.Start(cmd)
}

func (s *Servers) await(ctx context.Context, p Program, process *proc.Process) error {
	if p.Serves == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, serveMax)
	defer cancel()
	for {
		err := serves(ctx, p)
		if err == nil {
			return nil
		}
		select {
		case <-process.Done():
			return s.failed(p, fmt.Errorf("%s ended before it served: %s", p.Name, process.Status()))
		case <-ctx.Done():
			return s.failed(p, fmt.Errorf("%s does not serve: %w (%w)", p.Name, err, context.Cause(ctx)))
		case <-time.After(poll):
		}
	}
}

func serves(ctx context.Context, p Program) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return p.Serves(ctx)
}

func (s *Servers) failed(p Program, err error) error {
	lines, logErr := proc.LastLines(s.logOf(p), proc.ErrorLines)
	if logErr != nil {
		return errors.Join(err, logErr)
	}
	return fmt.Errorf("%w\n%s", err, proc.LogText(s.logOf(p), lines))
}

// PIDs returns the servers' processes without helpers; nil if they do not run.
func (s *Servers) PIDs() (pids []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, process := range s.running {
		if !s.programs[i].Helper {
			pids = append(pids, process.PID())
		}
	}
	return pids
}

// Kill ends all processes and their descendants with SIGKILL, and returns when they have ended.
func (s *Servers) Kill(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		return errors.New("kill the servers: none runs")
	}
	var errs []error
	var forked []int
	for _, process := range s.running {
		below, err := descendants(process.PID())
		errs = append(errs, err)
		forked = append(forked, below...)
	}
	for _, process := range s.running {
		errs = append(errs, process.Kill())
	}
	s.running = nil
	return errors.Join(append(errs, killAll(ctx, forked))...)
}

// Stop ends all processes, the last one first, and returns when they have ended. It does nothing if
// none runs.
func (s *Servers) Stop(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end()
}

func (s *Servers) end() error {
	var errs []error
	for len(s.running) > 0 {
		last := len(s.running) - 1
		below, err := descendants(s.running[last].PID())
		errs = append(errs, err, s.running[last].End(endGrace))
		ctx, cancel := context.WithTimeout(context.Background(), endGrace)
		errs = append(errs, killAll(ctx, below))
		cancel()
		s.running = s.running[:last]
	}
	s.running = nil
	return errors.Join(errs...)
}
