package node

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rest"
)

// ask sends an HTTP request. It returns the status, the leader named by the answer, and the body.
func (c *timed) ask(method, url, body string) (code int, leader, text string) {
	c.Helper()
	defer http.DefaultClient.CloseIdleConnections()
	in, err := http.NewRequestWithContext(context.Background(), method, "http://"+url, strings.NewReader(body))
	require.NoError(c, err)
	in.Header.Set("Content-Type", "application/json")
	out, err := http.DefaultClient.Do(in)
	require.NoError(c, err)
	b, err := io.ReadAll(out.Body)
	require.NoError(c, errors.Join(err, out.Body.Close()))
	return out.StatusCode, out.Header.Get(rest.LeaderHeader), string(b)
}

// forwarded returns the node's count of REST calls that other nodes executed.
func (c *timed) forwarded(id string) int {
	c.Helper()
	_, _, text := c.ask(http.MethodGet, c.nodes[id].Admin()+"/metrics", "")
	_, text, _ = strings.Cut(text, "\nprony_rest_forwarded_total ")
	text, _, _ = strings.Cut(text, "\n")
	n, err := strconv.Atoi(text)
	require.NoError(c, err)
	return n
}

// A node without leadership names the leader in its answers, also after a change of the leader.
func TestRESTAnswersNameTheLeader(t *testing.T) {
	t.Parallel()
	c := newConfigured(t, func(id string, c *Config) {
		calm(id, c)
		c.HTTP = "127.0.0.1:0"
	}, 0, 0, 0)
	calls, led := map[string]int{}, []string{}
	for round := range 2 {
		leads := c.leader()
		led = append(led, leads)
		at := c.nodes[leads].HTTP()
		for _, id := range c.ids {
			want := at
			if id == leads {
				want = ""
			}
			c.eventually(func() bool { // until each node knows the leader and its address
				_, _, text := c.ask(http.MethodGet, c.nodes[id].HTTP()+"/v1/routes", "")
				var routes queuepb.GetRoutesResponse
				require.NoError(t, protojson.Unmarshal([]byte(text), &routes), text)
				return routes.GetRoutes()[0].GetHttp() == at && c.nodes[id].service.LeaderHTTP() == want
			}, "node %s does not know the leader in round %d", id, round)
			code, leader, text := c.ask(http.MethodPost, c.nodes[id].HTTP()+"/v1/tasks:enqueue", `{"tasks":[{"queue":"q"}]}`)
			require.Equal(t, http.StatusOK, code, text)
			assert.Equal(t, want, leader)
			calls[id]++
			code, leader, text = c.ask(http.MethodPost, c.nodes[id].HTTP()+"/v1/tasks:claim", `{"queues":["no spaces"]}`)
			require.Equal(t, http.StatusBadRequest, code, text)
			assert.Equal(t, want, leader, "a refusal names the leader too")
		}
		if round == 0 {
			c.transfer(c.others(leads)[0])
		}
	}
	for _, id := range c.others(led...) {
		assert.Equal(t, calls[id], c.forwarded(id), "the accepted calls")
	}
	assert.Less(t, c.forwarded(led[0]), calls[led[0]], "calls during its leadership are not forwarded")
}

// Each node answers a waiting request for the routes once it knows the new leader, and the new
// leader does once it serves the shard. The answers must not come from expired waits: the wait is
// longer than the test.
func TestEachNodeSaysAtOnceWhoLeads(t *testing.T) {
	t.Parallel()
	c := newTimed(t, 0, 0, 0)
	ctx, cancel := context.WithTimeout(t.Context(), adminPatience)
	defer cancel()
	old := c.leader()
	next := c.others(old)[0]
	known := make(chan string, len(c.ids))
	for _, id := range c.ids {
		api := queuepb.NewQueueServiceClient(c.conns[id])
		go func() {
			defer func() { known <- id }()
			var version uint64
			for {
				out, err := api.GetRoutes(ctx, &queuepb.GetRoutesRequest{Version: version, WaitMs: 60_000})
				if !assert.NoError(t, err, id) {
					return
				}
				version = out.GetVersion()
				if r := out.GetRoutes()[0]; r.GetNode() == next && r.GetAddress() != "" && r.GetHere() == (id == next) {
					return
				}
			}
		}()
	}
	for left := len(c.ids); left > 0; {
		c.transfer(next) // again if an election moves the lead before each node has named it
		select {
		case <-known:
			left--
		case <-time.After(100 * time.Millisecond):
		}
	}
}
