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

// Host is another host in ssh's notation: "host", "user@host" or "ssh://user@host:port".
type Host string

const (
	// outputBytesMax bounds the output of a script.
	outputBytesMax = 1 << 20
	// errorBytesMax bounds the part of ssh's messages in an error.
	errorBytesMax = 2 << 10
	// endWait bounds the wait for ssh's outputs after ssh was killed.
	endWait = 5 * time.Second
)

// options make ssh fail instead of asking, and detect a broken connection within half a minute.
var options = []string{
	"-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=6",
}

// command returns ssh's command line for a script that a POSIX shell runs on the host, for any
// login shell of the user.
func (h Host) command(script string) []string {
	return append(append([]string{"ssh"}, options...), "--", string(h), "exec sh -c "+Quote(script))
}

// Quote quotes a text as one word of a shell command.
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// Run runs a script on the host with stdin as its input, and returns its output, at most 1 MiB. An
// exit status other than 0 is an error that contains the last messages. Run ends early when ctx
// ends.
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

// bounded stores the beginning of the data that is written to it.
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

// last stores the end of the data that is written to it.
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
