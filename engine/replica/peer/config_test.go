package peer

import (
	"bytes"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestABadConfigurationIsNamed(t *testing.T) {
	taken := start(t, "n1")
	for _, c := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Node = "" }, `node id ""`},
		{func(c *Config) { c.Node = "Node" }, `node id "Node"`},
		{func(c *Config) { c.Node = strings.Repeat("n", 33) }, "1 to 32 bytes"},
		{func(c *Config) { c.Secret = make([]byte, 31) }, "31 bytes: make it 32"},
		{func(c *Config) { c.Server = &tls.Config{} }, "both sides"},
		{func(c *Config) { c.Client = &tls.Config{} }, "both sides"},
		{func(c *Config) { c.Server, c.Client = &tls.Config{}, &tls.Config{} }, "no authority"},
		{func(c *Config) { c.Peers = map[string]string{"N": "h:1"} }, `peers: node id "N"`},
		{func(c *Config) { c.Peers = map[string]string{"n2": "host"} }, `peers: node n2: address "host"`},
		{func(c *Config) { c.Peers = map[string]string{"n2": ":7073"} }, `address ":7073"`},
		{func(c *Config) { c.Peers = map[string]string{"n2": "h:0"} }, "from 1 to 65535"},
		{func(c *Config) { c.Peers = map[string]string{"n2": "h:65536"} }, "from 1 to 65535"},
		{func(c *Config) { c.Peers = map[string]string{"n2": "h:1", "n3": "h:1"} }, "nodes n2 and n3 have one address"},
		{func(c *Config) { c.Listen = taken.Addr() }, taken.Addr()},
		{func(c *Config) { c.Listen = ":0" }, "say the one to advertise"},
		{func(c *Config) { c.Listen, c.Advertise = ":0", "0.0.0.0:7073" }, "all interfaces"},
		{func(c *Config) { c.Advertise = "host" }, `advertise: address "host"`},
	} {
		config := Config{Node: "n2", Listen: "127.0.0.1:0"}
		c.change(&config)
		m, err := Listen(config)
		require.ErrorContains(t, err, c.want)
		assert.Nil(t, m)
	}
	m, err := Listen(Config{Node: strings.Repeat("n", 31) + "-", Listen: ":0", Advertise: "host:7073", Peers: map[string]string{"n2": "[::1]:7073"}})
	require.NoError(t, err)
	assert.Equal(t, "host:7073", m.Addr())
	require.NoError(t, m.Close())
}

func TestTheBoundsAreThoseOfTheDesign(t *testing.T) {
	m, err := Listen(Config{Node: "n1", Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	assert.Equal(t, defaults, m.bounds)
	assert.Equal(t, 128, cap(m.slots))
	require.NoError(t, m.Close())
}

func TestASecretIsReadFromAFileOfItsOwner(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, mode os.FileMode, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
		require.NoError(t, os.Chmod(path, mode))
		return path
	}
	good := strings.Repeat("0123456789abcdef", 2)
	for name, text := range map[string]string{"plain": good, "line": good + "\n", "dos": good + "\r\n", "spaces": " " + good} {
		for _, mode := range []os.FileMode{0o600, 0o400} {
			got, err := ReadSecret(write(name+mode.String(), mode, text))
			require.NoError(t, err)
			assert.Equal(t, strings.TrimRight(text, "\r\n"), string(got))
		}
	}
	got, err := ReadSecret(write("long", 0o600, strings.Repeat("x", secretMax)))
	require.NoError(t, err)
	assert.Len(t, got, secretMax)

	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for path, want := range map[string]string{
		write("short", 0o600, good[:31]+"\n"):                  "has 31 bytes, and needs 32",
		write("empty", 0o600, ""):                              "has 0 bytes",
		write("group", 0o640, good):                            "mode 0640",
		write("world", 0o604, good):                            "chmod 600",
		write("huge", 0o600, strings.Repeat("x", secretMax+1)): "more than 4096 bytes",
		filepath.Join(dir, "missing"):                          "no such file",
		dir:                                                    "it is not a file",
		pipe:                                                   "it is not a file",
	} {
		secret, err := ReadSecret(path)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, path)
		assert.Nil(t, secret)
		assert.NotContains(t, err.Error(), good[:16])
	}

	// The files that systemd passes to a service have an access control list, and look like this.
	credential, loose := write("credential", 0o440, good), write("loose", 0o660, good)
	_, err = ReadSecret(credential)
	require.ErrorContains(t, err, "mode 0440")
	t.Setenv("CREDENTIALS_DIRECTORY", dir+"/")
	_, err = ReadSecret(credential)
	require.NoError(t, err)
	_, err = ReadSecret(loose)
	require.ErrorContains(t, err, "mode 0660")
	t.Setenv("CREDENTIALS_DIRECTORY", filepath.Dir(dir))
	_, err = ReadSecret(credential)
	require.ErrorContains(t, err, "mode 0440")
}

func TestTheSecretIsCopied(t *testing.T) {
	mine := bytes.Clone(secret)
	a, b := start(t, "n1", func(c *Config, _ *bounds) { c.Secret = mine }), start(t, "n2")
	clear(mine)
	l := b.Group(0)
	out, err := a.Group(0).Dial(b.to(), patience)
	require.NoError(t, err)
	exchange(t, out, accept(t, l))
	assert.IsType(t, Addr{}, out.RemoteAddr())
	_, isTCP := out.LocalAddr().(*net.TCPAddr)
	assert.True(t, isTCP)
}
