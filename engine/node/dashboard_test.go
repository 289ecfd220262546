package node

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/pronybench/prony/engine/queuepb"
)

type dashboard struct {
	Panels []struct {
		ID      int
		Type    string
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ RefID, Expr, LegendFormat string }
	}
	Templating struct{ List []struct{ Name string } }
}

var (
	metricName = regexp.MustCompile(`\b(?:prony|go|process)_[a-z0-9_]+`)
	// labelList matches label names in queries and legends.
	labelList = regexp.MustCompile(`by \(([^)]*)\)|\{\{(\w+)\}\}`)
)

// Each query of the dashboard must match a scrape of a node that has been used.
func TestTheDashboardAsksForWhatTheServerExports(t *testing.T) {
	text, err := os.ReadFile("../deploy/grafana/queued.json")
	require.NoError(t, err)
	var d dashboard
	require.NoError(t, json.Unmarshal(text, &d))
	labels := exported(t, usedNode(t))
	var rows []string
	asked, ids := map[string]bool{}, map[int]bool{}
	for _, p := range d.Panels {
		assert.False(t, ids[p.ID], "two panels have the id %d", p.ID)
		ids[p.ID] = true
		if p.Type == "row" {
			rows = append(rows, p.Title)
			continue
		}
		assert.NotEmpty(t, p.Title)
		assert.NotEmpty(t, p.Targets, p.Title)
		for _, q := range p.Targets {
			names := metricName.FindAllString(q.Expr, -1)
			assert.NotEmpty(t, names, "%s: %s", p.Title, q.Expr)
			for _, name := range names {
				asked[name] = true
				if !assert.NotNil(t, labels[name], "%s asks for %s, which is not exported", p.Title, name) {
					continue
				}
				for _, m := range labelList.FindAllStringSubmatch(q.Expr+q.LegendFormat, -1) {
					for label := range strings.SplitSeq(m[1]+m[2], ", ") {
						assert.Contains(t, labels[name], label, "%s: %s", p.Title, name)
					}
				}
			}
			assert.Contains(t, q.Expr, `instance=~"$instance"`, p.Title)
		}
	}
	assert.Equal(t, []string{"Load", "Depth and age", "Latency", "Commits and storage", "Process"}, rows)
	// The dashboard must show all series of the server.
	for name := range labels {
		base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count"), "_sum")
		if strings.HasPrefix(name, "prony_") && !strings.HasPrefix(name, "prony_queue_") {
			assert.True(t, asked[name] || asked[base+"_bucket"] || asked[base+"_sum"], "no panel shows %s", name)
		}
	}
}

// usedNode returns a node after calls of each kind.
func usedNode(t *testing.T) *Node {
	t.Helper()
	r := newRESTNode(t)
	conn, err := grpc.NewClient("passthrough:///"+r.node.Addresses()[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	stream, err := queuepb.NewQueueServiceClient(conn).Produce(r.ctx)
	require.NoError(t, err)
	require.NoError(t, stream.Send(&queuepb.ProduceRequest{Tasks: []*queuepb.NewTask{{Queue: "q"}, {}}}))
	_, err = stream.Recv()
	require.NoError(t, err)
	require.Len(t, r.claim("q", 0), 1)
	require.NoError(t, stream.CloseSend())
	_, err = stream.Recv()
	require.Error(t, err)
	return r.node
}
