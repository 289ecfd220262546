package topology

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/pronybench/prony/harness/adminhttp"
)

// routesBytesMax is larger than the routes of the largest possible number of shards.
const routesBytesMax = 64 << 10

// routesAnswer is the answer of a node that was asked for the leaders of the shards.
type routesAnswer struct {
	Routes []struct {
		Shard int    `json:"shard"`
		Node  string `json:"node"`
		Here  bool   `json:"here"`
	} `json:"routes"`
}

// errForeignShards reports that the routes name a shard that the cluster does not have. A retry
// does not help.
var errForeignShards = errors.New("the routes belong to another cluster")

// Leaders returns the ID of the leader of each shard. The index is the number of the shard. The ID
// is "" if a shard has no leader. Leaders asks all running nodes. A node leads a shard if it claims
// to lead it. If two nodes claim a shard, because one of them does not know about the other yet,
// the leader is the one that more nodes name. If no node answers in time, because their host is
// busy, Leaders asks them again, but at most for Config.StartTimeout. Leaders returns an error if
// no node answers. For a server without a cluster the IDs are "".
func (c *Cluster) Leaders(ctx context.Context) (leaders []string, err error) {
	limited, cancel := context.WithTimeout(ctx, c.config.StartTimeout)
	defer cancel()
	for {
		leaders, err = c.askForLeaders(limited)
		if !errors.Is(err, context.DeadlineExceeded) || limited.Err() != nil {
			return leaders, err
		}
	}
}

func (c *Cluster) askForLeaders(ctx context.Context) ([]string, error) {
	leaders := make([]string, max(1, c.config.Topology.Shards))
	if !c.config.Topology.Clustered() {
		return leaders, nil
	}
	answers := make([]*routesAnswer, len(c.servers))
	errs := make([]error, len(c.servers))
	var all sync.WaitGroup
	for i, s := range c.servers {
		if n := s.Node(); n.Running() {
			all.Go(func() { answers[i], errs[i] = fetchRoutes(ctx, c.Client(n.HTTP)) })
		}
	}
	all.Wait()
	answered := false
	claims := make([]map[string]bool, len(leaders))
	named := make([]map[string]int, len(leaders))
	for i, answer := range answers {
		if answer == nil {
			continue
		}
		answered = true
		for _, r := range answer.Routes {
			if r.Shard < 0 || r.Shard >= len(leaders) {
				return nil, fmt.Errorf("leaders: %w: %s names shard %d of %d", errForeignShards, c.servers[i].ID, r.Shard, len(leaders))
			}
			if claims[r.Shard] == nil {
				claims[r.Shard], named[r.Shard] = map[string]bool{}, map[string]int{}
			}
			named[r.Shard][r.Node]++
			if r.Here {
				claims[r.Shard][c.servers[i].ID] = true
			}
		}
	}
	if !answered {
		return nil, fmt.Errorf("leaders: no node answered: %w", errors.Join(errs...))
	}
	for shard := range leaders {
		for _, s := range c.servers {
			if claims[shard][s.ID] && (leaders[shard] == "" || named[shard][s.ID] > named[shard][leaders[shard]]) {
				leaders[shard] = s.ID
			}
		}
	}
	return leaders, nil
}

func fetchRoutes(ctx context.Context, node adminhttp.Client) (*routesAnswer, error) {
	body, err := node.Get(ctx, "/v1/routes", requestTimeout, routesBytesMax)
	if err != nil {
		return nil, err
	}
	var answer routesAnswer
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("GET /v1/routes: %w: %.200q", err, body)
	}
	return &answer, nil
}

func (c *Cluster) waitForLeaders(ctx context.Context) error {
	if !c.config.Topology.Clustered() {
		return nil
	}
	return c.servers[0].Node().poll(ctx, func() (bool, error) {
		for _, s := range c.servers[1:] {
			if n := s.Node(); !n.Running() {
				return true, n.fail("the server ended before it was ready", nil)
			}
		}
		leaders, err := c.askForLeaders(ctx)
		if err != nil {
			return errors.Is(err, errForeignShards), err
		}
		for shard, leader := range leaders {
			if leader == "" {
				return false, fmt.Errorf("shard %d has no leader", shard)
			}
		}
		return true, nil
	})
}

// WaitForLeaders waits until every shard has a leader, but at most for Config.StartTimeout.
func (c *Cluster) WaitForLeaders(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, c.config.StartTimeout)
	defer cancel()
	return c.startError(ctx, limited, c.waitForLeaders(limited))
}
