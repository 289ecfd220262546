// Package sshtest runs an SSH server in a test. The system's ssh client connects to it with keys
// and a configuration that exist only for the test.
package sshtest

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/pronybench/prony/harness/sshclient"
)

// name is the name that the client uses for the server.
const name = "sshtest"

// Server is an SSH server on the loopback interface. It runs commands as the user who runs the
// test.
type Server struct {
	Host sshclient.Host

	config   *ssh.ServerConfig
	listener net.Listener
	done     sync.WaitGroup

	mu       sync.Mutex
	conns    []net.Conn
	commands []string
}

// Start starts a server. It puts an ssh command that knows the server in front of all others in
// PATH, so the test cannot run in parallel with others. If there is no ssh client, Start skips the
// test. The server ends with the test.
func Start(t *testing.T) *Server {
	t.Helper()
	client, err := exec.LookPath("ssh")
	if err != nil {
		t.Skip("this host has no ssh client")
	}
	s := &Server{Host: name, config: &ssh.ServerConfig{}}
	dir := t.TempDir()
	host, user := key(t), key(t)
	s.config.AddHostKey(signer(t, host))
	allowed := signer(t, user).PublicKey().Marshal()
	s.config.PublicKeyCallback = func(_ ssh.ConnMetadata, offered ssh.PublicKey) (*ssh.Permissions, error) {
		if string(offered.Marshal()) != string(allowed) {
			return nil, errors.New("unknown key")
		}
		return &ssh.Permissions{}, nil
	}
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(user, "")
	if err != nil {
		t.Fatal(err)
	}
	file := func(called string, content []byte, mode os.FileMode) string {
		path := filepath.Join(dir, called)
		if err := os.WriteFile(path, content, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	_, port, _ := net.SplitHostPort(s.listener.Addr().String())
	config := file("config", fmt.Appendf(nil, "Host %s\n HostName 127.0.0.1\n Port %s\n User nobody\n IdentityFile %s\n IdentitiesOnly yes\n IdentityAgent none\n UserKnownHostsFile %s\n StrictHostKeyChecking yes\n",
		name, port, file("key", pem.EncodeToMemory(block), 0o600),
		file("known_hosts", fmt.Appendf(nil, "[127.0.0.1]:%s %s", port, ssh.MarshalAuthorizedKey(signer(t, host).PublicKey())), 0o600)), 0o600)
	file("ssh", fmt.Appendf(nil, "#!/bin/sh\nexec %s -F %s \"$@\"\n", client, config), 0o700)
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	s.done.Go(s.serve)
	t.Cleanup(func() {
		_ = s.listener.Close()
		s.Cut()
		s.done.Wait()
	})
	return s
}

func key(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return private
}

func signer(t *testing.T, private ed25519.PrivateKey) ssh.Signer {
	t.Helper()
	s, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Cut ends all connections, as a network failure does.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		_ = c.Close()
	}
	s.conns = nil
}

// Commands returns the commands that clients have requested so far.
func (s *Server) Commands() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.commands...)
}

func (s *Server) serve() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns = append(s.conns, c)
		s.mu.Unlock()
		s.done.Go(func() { s.connection(c) })
	}
}

func (s *Server) connection(c net.Conn) {
	defer func() { _ = c.Close() }()
	conn, channels, requests, err := ssh.NewServerConn(c, s.config)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	s.done.Go(func() { ssh.DiscardRequests(requests) })
	for open := range channels {
		if open.ChannelType() != "session" {
			_ = open.Reject(ssh.UnknownChannelType, "sessions only")
			continue
		}
		channel, requests, err := open.Accept()
		if err != nil {
			return
		}
		s.done.Go(func() { s.session(channel, requests) })
	}
}

// session runs the single command of a session.
func (s *Server) session(channel ssh.Channel, requests <-chan *ssh.Request) {
	for r := range requests {
		var command struct{ Text string }
		if r.Type != "exec" || ssh.Unmarshal(r.Payload, &command) != nil {
			_ = r.Reply(false, nil)
			continue
		}
		s.mu.Lock()
		s.commands = append(s.commands, command.Text)
		s.mu.Unlock()
		_ = r.Reply(true, nil)
		s.done.Go(func() {
			defer func() { _ = channel.Close() }()
			_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{run(command.Text, channel)}))
		})
	}
}

// run runs a command as sshd does: when the connection ends, the command does not end, but its
// input is closed.
func run(command string, channel ssh.Channel) uint32 {
	const failed = 126
	cmd := exec.Command("sh", "-c", command)
	cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 10 * time.Second
	in, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return failed
	}
	go func() {
		_, _ = io.Copy(in, channel)
		_ = in.Close()
	}()
	_ = cmd.Wait()
	return uint32(max(0, cmd.ProcessState.ExitCode()))
}
