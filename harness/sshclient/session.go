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

// Program defines the program of a session.
type Program struct {
	Dir     string            // existing folder on the host
	Command []string          // program and its arguments
	Env     map[string]string // added to the environment of the host's shell
	Unset   string            // prefix of environment variables that are removed; "" removes none
}

// Session is a program that runs in the foreground of a connection to a host. When the connection
// ends, the program gets SIGTERM. If it has not ended after endGrace, it gets SIGKILL.
type Session struct {
	host    Host
	process *proc.Process // the process of ssh
	input   *os.File      // each line that is written is the name of a signal for the program
}

const (
	// endGrace bounds how long a program may continue after its connection has ended.
	endGrace = 15 * time.Second
	// killWait bounds the wait for the end of a program after SIGKILL, including the delay of the
	// connection.
	killWait = 30 * time.Second
)

// Start starts a program on the host. The outputs of the program and ssh's messages are written to
// log. The caller may close log after Start. Start does not wait until the connection is open. If
// the connection fails, ssh ends, and log contains the reason. ssh is killed when this process
// dies.
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
		_ = writer.Close() // the reader has already ended
	}()
	return &Session{host: h, process: process, input: writer}, nil
}

// script returns a shell script that runs the program. A loop in the background reads names of
// signals from the input and sends the signals to the program. The end of the input means that the
// connection has ended. A shell connects the input of background commands to /dev/null unless it is
// redirected, so the loop reads from descriptor 3.
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

// Done returns a channel that is closed when the connection has ended. The connection ends together
// with the program, or earlier if it breaks.
func (s *Session) Done() <-chan struct{} { return s.process.Done() }

// signals maps the signals that a session can send to their names in a POSIX shell.
var signals = map[os.Signal]string{
	syscall.SIGTERM: "TERM", syscall.SIGKILL: "KILL", syscall.SIGSTOP: "STOP", syscall.SIGCONT: "CONT",
}

// Signal sends SIGTERM, SIGKILL, SIGSTOP or SIGCONT to the program. It returns nil if the session
// has ended. It does not wait until the signal has arrived.
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

// Kill ends the program with SIGKILL and returns when the session has ended. If the session does
// not end within half a minute, for example because the network is down, Kill cuts the connection
// and returns an error. The program then ends when its host notices that the connection has ended.
func (s *Session) Kill() error {
	err := s.Signal(syscall.SIGKILL)
	timer := time.NewTimer(killWait)
	defer timer.Stop()
	select {
	case <-s.process.Done():
	case <-timer.C:
		err = errors.Join(err, fmt.Errorf("ssh %s: the connection was cut: the program did not end within %s of SIGKILL", s.host, killWait), s.process.Kill())
	}
	return errors.Join(err, s.process.Err())
}

// Status describes how ssh ended. Unless the connection broke, this is how the program ended.
// Status returns "running" while ssh is running.
func (s *Session) Status() string {
	const noConnection, bySignal = 255, 128
	switch code := s.process.ExitCode(); {
	case code == noConnection:
		return "the connection ended, or could not be opened (ssh: exit status 255)"
	case code > bySignal:
		return fmt.Sprintf("ended by signal %d", code-bySignal)
	}
	return s.process.Status()
}

// Orderly reports whether the program has ended with status 0.
func (s *Session) Orderly() bool { return s.process.Orderly() }

// Err returns errors that the program's exit status does not report.
func (s *Session) Err() error { return s.process.Err() }
