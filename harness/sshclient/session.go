package sshclient

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pronybench/prony/harness/proc"
)

// Program is what a session runs.
type Program struct {
	Dir     string            // an existing folder on the host
	Command []string          // the program and its arguments
	Env     map[string]string // set beside what the host's shell sets
	Unset   string            // variables whose names begin so are not passed on; "" passes all on
}

// Session is a program in the foreground of a connection to a host. The program ends with the connection: it gets SIGTERM when the
// connection is gone, and SIGKILL if it has not ended within endGrace of that.
type Session struct {
	host    Host
	process *proc.Process // ssh
	input   *os.File      // each line is the name of a signal for the program
}

const (
	// endGrace is how long a program has to end after the connection is gone.
	endGrace = 15 * time.Second
	// killWait is how long a program may take to end after SIGKILL, the connection's time included.
	killWait = 30 * time.Second
)

// Start starts a program on the host, with its outputs and ssh's messages going to log, which the caller may close then. It does not
// wait for the connection: if there is none, ssh ends, and log has the reason. ssh is killed when this process dies.
func (h Host) Start(p Program, log *os.File) (*Session, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("ssh %s: %w", h, err)
	}
	args := h.command(p.script())
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = reader, log, log
	process, err := proc.Start(cmd)
	if err = errors.Join(err, reader.Close()); err != nil {
		if process != nil {
			err = errors.Join(err, process.Kill())
		}
		return nil, errors.Join(err, writer.Close())
	}
	go func() {
		<-process.Done()
		_ = writer.Close() // its reader has ended
	}()
	return &Session{host: h, process: process, input: writer}, nil
}

// script runs the program beside a loop that sends it the signals which come in by name. The end of the input is that of the connection.
// A background command of a shell reads nothing unless its input is redirected, hence descriptor 3.
func (p Program) script() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cd %s || exit 125\n", Quote(p.Dir))
	if p.Unset != "" {
		fmt.Fprintf(&b, "for name in $(env | sed -n 's/^\\(%s[A-Za-z0-9_]*\\)=.*/\\1/p'); do unset \"$name\"; done\n", p.Unset)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		fmt.Fprintf(&b, "%s=%s; export %s\n", name, Quote(p.Env[name]), name)
	}
	words := make([]string, len(p.Command))
	for i, word := range p.Command {
		words[i] = Quote(word)
	}
	fmt.Fprintf(&b, `exec 3<&0
%s </dev/null 3<&- &
program=$!
{
  while read -r signal; do kill -s "$signal" "$program"; done
  kill -s TERM "$program"
  kill -s CONT "$program"
  sleep %d
  kill -s KILL "$program"
} <&3 3<&- >/dev/null 2>&1 &
keeper=$!
exec 3<&-
wait "$program"
status=$?
kill "$keeper" 2>/dev/null
exit "$status"
`, strings.Join(words, " "), int(endGrace.Seconds()))
	return b.String()
}

// Done is closed when the connection has ended, with the program or before it.
func (s *Session) Done() <-chan struct{} { return s.process.Done() }

// signals are those that a session sends, by the names that a POSIX shell has for them.
var signals = map[os.Signal]string{
	syscall.SIGTERM: "TERM", syscall.SIGKILL: "KILL", syscall.SIGSTOP: "STOP", syscall.SIGCONT: "CONT",
}

// Signal sends SIGTERM, SIGKILL, SIGSTOP or SIGCONT to the program, unless the session has ended, which is not an error. The program gets
// the signal when the connection has carried it there.
func (s *Session) Signal(sig os.Signal) error {
	name, known := signals[sig]
	if !known {
		return fmt.Errorf("ssh %s: a session can't send %s", s.host, sig)
	}
	if _, err := s.input.WriteString(name + "\n"); err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("ssh %s: send %s: %w", s.host, sig, err)
	}
	return nil
}

// Kill ends the program with SIGKILL and returns when the session has ended. A session that does not end within half a minute, as without
// a network, is cut, which is an error: the program then ends by itself as far as its host knows that the connection is gone.
func (s *Session) Kill() error {
	err := s.Signal(syscall.SIGKILL)
	timer := time.NewTimer(killWait)
	defer timer.Stop()
	select {
	case <-s.process.Done():
	case <-timer.C:
		err = errors.Join(err, fmt.Errorf("ssh %s: the connection was cut: the program had not ended within %s of SIGKILL", s.host, killWait), s.process.Kill())
	}
	return errors.Join(err, s.process.Err())
}

// Status says in words how ssh ended, which is as the program did unless the connection broke; "running" while it runs.
func (s *Session) Status() string {
	const noConnection, bySignal = 255, 128
	switch code := s.process.ExitCode(); {
	case code == noConnection:
		return "the connection ended, or could not be made (ssh: exit status 255)"
	case code > bySignal:
		return fmt.Sprintf("ended by signal %d", code-bySignal)
	}
	return s.process.Status()
}

// Orderly reports whether the program has ended with status 0.
func (s *Session) Orderly() bool { return s.process.Orderly() }

// Err is what went wrong besides the program's own status.
func (s *Session) Err() error { return s.process.Err() }
