package client_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/pronybench/prony/engine/client"
)

// secretSent returns the authorization that a server receives from a client with a token.
func secretSent(t *testing.T, token grpc.DialOption) string {
	t.Helper()
	seen := make(chan []string, 1)
	f := &fake{produce: func(s produceServer) error {
		in, _ := metadata.FromIncomingContext(s.Context())
		seen <- in["authorization"]
		return nil
	}}
	c, err := client.Dial(f.listen(t), token)
	require.NoError(t, err)
	stream, err := c.API().Produce(bounded(t))
	require.NoError(t, err)
	_, err = stream.Recv()
	require.Error(t, err)
	require.NoError(t, c.Close())
	return strings.Join(<-seen, " and ")
}

// Editors, shells and the server's own token file add white space around a secret.
func TestATokenIsSentWithoutTheSpaceAroundIt(t *testing.T) {
	longest := strings.Repeat("x", client.TokenBytesMax)
	for text, want := range map[string]string{
		"secret": "secret", "secret\n": "secret", " \tsecret\r\n\n": "secret", "!~": "!~", longest: longest,
	} {
		assert.Equal(t, "Bearer "+want, secretSent(t, client.WithToken(text)))
		path := filepath.Join(t.TempDir(), "token")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		assert.Equal(t, "Bearer "+want, secretSent(t, client.WithTokenFile(path)))
	}
	link := filepath.Join(t.TempDir(), "link")
	path := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(path, []byte("linked\n"), 0o600))
	require.NoError(t, os.Symlink(path, link))
	assert.Equal(t, "Bearer linked", secretSent(t, client.WithTokenFile(link)), "containers mount secrets as links")
}

// Dial refuses invalid tokens before anything is sent, and the error does not contain them.
func TestDialRefusesWhatIsNoToken(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	two, large, empty := file("two", "hidden\nhidden\n"), file("large", strings.Repeat("x", client.TokenBytesMax)+"\n"), file("empty", " \n")
	missing := filepath.Join(dir, "missing")
	for _, c := range []struct {
		token grpc.DialOption
		says  string
	}{
		{client.WithToken(""), "WithToken: the access token is empty: pass the secret as the server gave it"},
		{client.WithToken(" \n"), "WithToken: the access token is empty: pass the secret as the server gave it"},
		{client.WithToken("hidden words"), `WithToken: the access token has the character ' ' at byte 6: only printable ASCII without spaces can be sent; pass the secret as the server gave it`},
		{client.WithToken("hidden\x00"), `WithToken: the access token has the character '\x00' at byte 6`},
		{client.WithToken("hiddén"), `WithToken: the access token has the character 'é' at byte 4`},
		{client.WithToken("hidde\xff"), `WithToken: the access token has the character '�' at byte 5`},
		{client.WithToken(strings.Repeat("x", client.TokenBytesMax+1)), "WithToken: the access token has 4097 bytes, more than 4096: pass the secret as the server gave it"},
		{client.WithTokenFile(two), "WithTokenFile: " + two + `: the access token has the character '\n' at byte 6`},
		{client.WithTokenFile(empty), "WithTokenFile: " + empty + ": the access token is empty"},
		{client.WithTokenFile(large), "WithTokenFile: read the access token: " + large + " has more than 4096 bytes: name a file with only the secret"},
		{client.WithTokenFile(missing), "WithTokenFile: read the access token: stat " + missing + ": no such file or directory"},
		{client.WithTokenFile(""), "WithTokenFile: the path is empty: pass the path of the file with the secret, or omit the option if the server requires no token"},
		{client.WithTokenFile(dir), "WithTokenFile: read the access token: " + dir + " is not a regular file: name the file with the secret"},
		{client.WithTokenFile(pipe), "WithTokenFile: read the access token: " + pipe + " is not a regular file"},
	} {
		_, err := client.Dial("127.0.0.1:7070", c.token)
		_, adminErr := client.DialAdmin("127.0.0.1:7071", c.token)
		for address, err := range map[string]error{"127.0.0.1:7070": err, "127.0.0.1:7071": adminErr} {
			require.ErrorContains(t, err, "dial "+address+": invalid argument: "+c.says)
			require.ErrorIs(t, err, client.ErrInvalidArgument)
			assert.NotContains(t, err.Error(), "hidd")
		}
	}
}
