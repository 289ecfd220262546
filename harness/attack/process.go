package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/pronybench/prony/harness/proc"
	"github.com/pronybench/prony/harness/result"
)

const (
	// command is the only argument of the child process.
	command = "attack"
	// planEnv is the environment variable that contains the plan as JSON. The plan is not passed as
	// an argument, because it contains a token, and every user of the host can read arguments.
	planEnv = "PRONY_ATTACK_PLAN"
	// begun is the line that the process writes when each attacker has started.
	begun = "begun\n"
	// beginTimeout bounds the wait for that line, and beginTick is the time between two checks.
	beginTimeout, beginTick = 30 * time.Second, 10 * time.Millisecond
	// endTimeout bounds the wait for the end of the attackers' calls.
	endTimeout = 2 * callTimeout
)

// Process is an attack that runs in a separate process.
type Process struct {
	process *proc.Process
	report  string // path of the file to which the process writes its counts
	log     string
}

// Start starts the attack of a plan as a child process. The binary must call Main if IsChild
// returns true for its arguments. The process writes its counts to the file report and its messages
// to the file log. Start returns when each attacker has started.
func Start(binary string, p Plan, report, log string) (_ *Process, err error) {
	plan, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("start the attack: %w", err)
	}
	cmd := exec.Command(binary, command)
	cmd.Env = append(proc.Environ(planEnv+"="), planEnv+"="+string(plan))
	for _, of := range []struct {
		path string
		into *io.Writer
	}{{report, &cmd.Stdout}, {log, &cmd.Stderr}} {
		file, openErr := os.OpenFile(of.path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if openErr != nil {
			return nil, fmt.Errorf("start the attack: %w", openErr)
		}
		// The child has its own copy of the descriptor.
		defer func() { err = errors.Join(err, file.Close()) }()
		*of.into = file
	}
	process, err := proc.Start(cmd)
	if err != nil {
		return nil, fmt.Errorf("start the attack: %w", err)
	}
	attack := &Process{process: process, report: report, log: log}
	if err := attack.waitUntilBegun(); err != nil {
		return nil, errors.Join(err, process.Kill())
	}
	return attack, nil
}

func (p *Process) waitUntilBegun() error {
	ticker := time.NewTicker(beginTick)
	defer ticker.Stop()
	for deadline := time.Now().Add(beginTimeout); ; {
		said, err := os.ReadFile(p.report)
		switch {
		case err != nil:
			return fmt.Errorf("wait for the attack to begin: %w", err)
		case bytes.HasPrefix(said, []byte(begun)):
			return nil
		case p.process.Ended():
			return p.endedByItself()
		case time.Now().After(deadline):
			return fmt.Errorf("the attack did not begin within %v", beginTimeout)
		}
		<-ticker.C
	}
}

func (p *Process) endedByItself() error {
	lines, err := proc.LastLines(p.log, proc.ErrorLines)
	return errors.Join(fmt.Errorf("the attack ended by itself: %s\n%s", p.process.Status(), proc.LogText(p.log, lines)), err)
}

// PID returns the ID of the attacking process.
func (p *Process) PID() int { return p.process.PID() }

// Stop ends the attack and returns its counts. If the attack had already ended, Stop returns an
// error: the figures of the round then include a time without attackers.
func (p *Process) Stop() ([]result.Attack, error) {
	early := p.process.Ended()
	if err := p.process.End(endTimeout); err != nil {
		return nil, fmt.Errorf("end the attack: %w", err)
	}
	if early || !p.process.Orderly() {
		return nil, p.endedByItself()
	}
	text, err := os.ReadFile(p.report)
	if err != nil {
		return nil, fmt.Errorf("read the counts of the attack: %w", err)
	}
	var counts []result.Attack
	if err := json.Unmarshal(bytes.TrimPrefix(text, []byte(begun)), &counts); err != nil {
		return nil, fmt.Errorf("read the counts of the attack: %s: %w", p.report, err)
	}
	return counts, nil
}

// IsChild reports whether a command line belongs to the child process of Start. Users cannot run
// this command by mistake, because its plan is in the environment.
func IsChild(args []string) bool {
	return len(args) == 2 && args[1] == command && os.Getenv(planEnv) != ""
}

// Main runs the child process and returns its exit code. The exit code is 0 if the process attacked
// until ctx was done.
func Main(ctx context.Context, stdout, stderr io.Writer) int {
	if err := act(ctx, stdout); err != nil {
		// The parent shows the log if the attack ends early.
		_, _ = fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// act runs the plan in the environment until ctx is done. It writes a line to counts when each
// attacker has started, and the counts as JSON at the end.
func act(ctx context.Context, counts io.Writer) error {
	var p Plan
	if err := json.Unmarshal([]byte(os.Getenv(planEnv)), &p); err != nil {
		return fmt.Errorf("decode the plan of the attack in %s: %w", planEnv, err)
	}
	ctx, cancel := context.WithTimeout(ctx, attackMax)
	defer cancel()
	t := newTallied(p)
	said := make(chan error, 1)
	if err := p.check(); err != nil {
		return err
	}
	go func() {
		t.begun.Wait()
		_, err := io.WriteString(counts, begun)
		said <- err
	}()
	did, err := t.run(ctx)
	if err != nil {
		return err
	}
	return errors.Join(<-said, json.NewEncoder(counts).Encode(did))
}

// attackMax bounds the duration of an attack, in case the parent never ends it.
const attackMax = 24 * time.Hour
