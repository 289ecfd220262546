package config

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each source with a removed setting is reported, with the replacement.
func TestARemovedSettingIsRefused(t *testing.T) {
	file := "cluster {\n node = \"n1\"\n secret = \"s\"\n certs = \"c\"\n}\n"
	_, err := load(t, file, []string{"QUEUED_CLUSTER_SECRET=s"}, "--cluster-secret", "s")
	problems := (*Problems)(nil)
	require.ErrorAs(t, err, &problems)
	require.Len(t, problems.List, 3)
	for i, at := range []string{":3:2", "QUEUED_CLUSTER_SECRET", "--cluster-secret"} {
		p := problems.List[i]
		assert.Contains(t, p.At, at)
		assert.Equal(t, "secret in cluster is no longer a setting", p.Message)
		assert.Contains(t, p.Remedy, "'queued cluster init'")
		assert.Contains(t, p.Remedy, "--cluster-certs")
	}
	_, err = load(t, "cluster {\n node = \"n1\"\n certs = \"c\"\n}\n", nil)
	require.NoError(t, err)
}
