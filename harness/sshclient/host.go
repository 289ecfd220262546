package sshclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// Host identifies another host in ssh's notation: "host", "user@host" or "ssh://user@host:port".
type Host string

const (
	// outputBytesMax bounds the size of a script's output in bytes.
	outputBytesMax = 1 << 20
	// errorBytesMax bounds how much of ssh's messages an error contains, in bytes.
	errorBytesMax = 2 << 10
	// endWait bounds the wait for ssh's outputs to be closed after ssh was killed.
	endWait = 5 * time.Second
)

// options make ssh fail instead of asking the user. They make it detect a broken connection within
// half a minute.
var options = []string{
	"-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=6",
}

// command returns ssh's command line for a script. A POSIX shell runs the script on the host,
// whatever the login shell of the user is.
func (h Host) command(script string) []string {
	return append(append([]string{"ssh"}, options...), "--", string(h), "exec sh -c "+Quote(script))
}

// Quote quotes a text as one word of a shell command.
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// Run runs a script on the host with stdin as its input. It returns the script's output, at most 1
// MiB. If the exit status is not 0, the error contains the last messages. Run ends early when ctx
// is done.
func (h Host) Run(ctx context.Context, script string, stdin io.Reader) ([]byte, error) {
	args := h.command(script)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.WaitDelay = endWait
	out, messages := &bounded{most: outputBytesMax}, &last{most: errorBytesMax}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, out, messages
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("ssh %s: cancelled: %w", h, context.Cause(ctx))
	case errors.Is(err, exec.ErrNotFound):
		return nil, fmt.Errorf("ssh %s: this host has no ssh client: install one: %w", h, err)
	case err != nil:
		return nil, fmt.Errorf("ssh %s: %w: %s", h, err, messages.text())
	case out.cut:
		return nil, fmt.Errorf("ssh %s: the output is larger than %d bytes", h, outputBytesMax)
	}
	return out.kept.Bytes(), nil
}

// bounded stores the first bytes of the data that is written to it.
type bounded struct {
	kept bytes.Buffer
	most int
	cut  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	keep := min(len(p), b.most-b.kept.Len())
	b.cut = b.cut || keep < len(p)
	b.kept.Write(p[:keep])
	return len(p), nil
}

// last stores the last bytes of the data that is written to it.
type last struct {
	kept []byte
	most int
}

func (l *last) Write(p []byte) (int, error) {
	l.kept = append(l.kept, p...)
	l.kept = l.kept[max(0, len(l.kept)-l.most):]
	return len(p), nil
}

func (l *last) text() string {
	return strings.TrimSpace(strings.ToValidUTF8(string(l.kept), "?"))
}
