package rabbitmq

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheVersionIsThatOfTheFolder(t *testing.T) {
	dir := t.TempDir()
	at := func(folder string) string {
		script := filepath.Join(dir, folder, "rabbitmq-server")
		require.NoError(t, os.MkdirAll(filepath.Dir(script), 0o700))
		require.NoError(t, os.WriteFile(script, nil, 0o600))
		link := filepath.Join(dir, "link-"+filepath.Base(folder))
		require.NoError(t, os.Symlink(script, link))
		return link
	}
	version, err := versionOf(at("lib/rabbitmq_server-3.10.8/sbin"))
	require.NoError(t, err)
	assert.Equal(t, "3.10.8", version)
	_, err = versionOf(at("lib/other"))
	assert.ErrorContains(t, err, "is not in a folder rabbitmq_server-VERSION")
	_, err = versionOf(filepath.Join(dir, "nowhere"))
	assert.ErrorContains(t, err, "find the files of RabbitMQ")
}
