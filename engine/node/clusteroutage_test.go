package node

import (
	"context"
	"net/http"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queuepb"
)

// outageText is the answer of the last of three nodes to every request.
var outageText = regexp.MustCompile(`1 of 3 nodes is there \(n1\); missing: n2 since \d{4}-\S+Z \(\d+s\), n3 since \d{4}-\S+Z \(\d+s\)\. ` +
	`Reads and writes need 2 of 3\. Start the missing nodes\. If they are lost for good, restore a backup\. Never edit the peers`)

// Without a majority, every kind of answer names the missing nodes, since when they are missing,
// and the remedy.
func TestTheLastNodeSaysWhoIsMissing(t *testing.T) {
	t.Parallel()
	c := newConfigured(t, func(_ string, c *Config) { c.HTTP = "127.0.0.1:0" }, 0, 0, 0)
	c.leader()
	n, api := c.nodes["n1"], queuepb.NewQueueServiceClient(c.conns["n1"])
	for _, id := range c.others("n1") {
		c.eventually(func() bool { m, _ := n.cluster.Member(id); return m.Reachable }, "n1 has not heard of %s", id)
	}
	c.stop("n3")
	c.stop("n2")
	var page string
	if !assert.Eventually(t, func() bool {
		code, _, text := c.ask(http.MethodGet, n.Admin()+"/readyz", "")
		page = text
		return code == http.StatusServiceUnavailable && outageText.MatchString(text)
	}, adminPatience, 5*time.Millisecond) {
		require.Fail(t, "/readyz does not name the missing nodes", page)
	}
	ctx, cancel := context.WithTimeout(t.Context(), adminPatience)
	defer cancel()
	var calls sync.WaitGroup // concurrently, because each call looks for a leader for a while
	for name, call := range map[string]func() error{
		"enqueue": func() error {
			_, err := api.Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q"}}})
			return err
		},
		"claim": func() error {
			_, err := api.Claim(ctx, &queuepb.ClaimRequest{Queues: []string{"q"}})
			return err
		},
		"produce": func() error {
			stream, err := api.Produce(ctx)
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		},
	} {
		calls.Go(func() {
			err := call()
			assert.Equal(t, codes.Unavailable, status.Code(err), name)
			text := status.Convert(err).Message()
			assert.Regexp(t, "^no shard has a leader: "+outageText.String(), text, name)
			assert.NotContains(t, text, "shard -1", name)
			require.Len(t, status.Convert(err).Details(), 1, name)
			assert.IsType(t, &queuepb.NotLeader{}, status.Convert(err).Details()[0], name)
		})
	}
	calls.Go(func() {
		code, _, text := c.ask(http.MethodPost, n.HTTP()+"/v1/tasks:enqueue", `{"tasks":[{"queue":"q"}]}`)
		assert.Equal(t, http.StatusServiceUnavailable, code)
		assert.Regexp(t, `"message":\s*"no shard has a leader: `+outageText.String(), text)
	})
	calls.Wait()
	c.start("n2")
	c.eventually(func() bool {
		code, _, _ := c.ask(http.MethodGet, n.Admin()+"/readyz", "")
		return code == http.StatusOK
	}, "two of three nodes do not serve again")
	assert.Eventually(t, func() bool { return n.cluster.Outage() == "" }, adminPatience, 10*time.Millisecond)
}
