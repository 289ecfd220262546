package node

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The cluster calls over REST, at a server without a cluster: errors in the body are reported
// first.
func TestClusterCallsOverREST(t *testing.T) {
	a := newAdminTest(t)
	status, body := a.ask(http.MethodGet, "/v1/cluster")
	require.Equal(t, http.StatusOK, status)
	assert.JSONEq(t, `{"node":"","members":[],"groups":[],"outage":""}`, body)
	const alone = "this is a standalone server: start it with --cluster-node"
	for _, c := range []struct{ path, body, says string }{
		{"add", `{"node":"n2","address":"a:1"}`, alone},
		{"add", `{"node":"n2","address":"a"}`, `address: "a" is not host:port`},
		{"remove", `{"node":"n2"}`, alone},
		{"remove", `{}`, "node: is empty"},
		{"promote", `{"node":"n2"}`, alone},
		{"demote", `{"node":"n2"}`, alone},
		{"transfer", ``, alone},
		{"transfer", `{"shard":0,"node":"n2"}`, alone},
		{"transfer", `{"shard":null}`, alone},
		{"transfer", `{"shard":99}`, "shard: must be 0 to "},
		{"transfer", `{"shard":-1}`, "shard: must be a whole number from 0 to 4294967295, not -1"},
		{"transfer", `{"shard":0,"to":"n2"}`, "to: "},
		{"snapshot", `{"shard":0}`, alone},
		{"snapshot", `{"shard":99}`, "shard: must be 0 to "},
	} {
		status, out := a.post("/v1/cluster:"+c.path, c.body)
		assert.Equal(t, http.StatusBadRequest, status, "%s %s: %v", c.path, c.body, out)
		assert.Contains(t, fmt.Sprint(out["message"]), c.says, "%s %s", c.path, c.body)
	}
}
