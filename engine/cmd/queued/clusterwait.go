package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"

	"github.com/pronybench/prony/engine/adminpb"
)

const (
	// leadersWait is the default of --wait of 'cluster status'.
	leadersWait = 10 * time.Second
	// newNodeWait limits the wait for a node that has never answered the asked node. That node may
	// still be starting.
	newNodeWait = 3 * time.Second
	// leadersAgain is the pause between two requests for the cluster's state.
	leadersAgain = 200 * time.Millisecond
)

// awaitLeaders returns the state of a cluster once each shard has a leader, or the latest state
// after most. On a terminal it shows what it is waiting for.
func (a clusterCommands) awaitLeaders(c *cobra.Command, conn *connection, most time.Duration) (out *adminpb.GetClusterResponse, err error) {
	began, said := a.clock.Now(), ""
	for {
		err = conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) (err error) {
			out, err = api.GetCluster(ctx, &adminpb.GetClusterRequest{})
			return err
		})
		passed := a.clock.Now().Sub(began)
		what, why := awaited(out, err, passed)
		if what == "" || passed >= most {
			return out, err
		}
		if a.progress && a.output == formatTable && what != said {
			a.note("waiting for up to %v for %s: %s\n", (most - passed).Round(time.Second), what, why)
			said = what
		}
		if err := a.clock.Pause(c.Context(), min(leadersAgain, most-passed)); err != nil {
			return nil, err
		}
	}
}

// awaited returns what is missing in a cluster but may still arrive, and why it is considered
// missing. It returns "" if waiting cannot help.
func awaited(s *adminpb.GetClusterResponse, err error, passed time.Duration) (what, why string) {
	var unreachable unreachableError
	var noToken noTokenFileError
	switch refused := statusOf(err); {
	case errors.As(err, &unreachable):
		return "a server that answers", unreachable.Error()
	case errors.As(err, &noToken):
		return "the access token", noToken.Error()
	case refused != nil && refused.Code() == codes.Unavailable:
		return "a server that knows the access token", refused.Message()
	case err != nil:
		return "", ""
	}
	var silent []string
	for _, m := range s.GetMembers() {
		if !m.GetReachable() {
			silent = append(silent, m.GetNode())
		}
	}
	for _, g := range s.GetGroups() {
		if g.GetLeader() == "" {
			return "a leader of each shard", fmt.Sprintf("shard %d has none; nodes that do not answer: %s", g.GetShard(), or(strings.Join(silent, ", "), "none"))
		}
	}
	for _, m := range s.GetMembers() {
		if !m.GetReachable() && m.GetLastAnswerMs() == 0 && passed < newNodeWait {
			return "all nodes", fmt.Sprintf("node %s has not answered yet", m.GetNode())
		}
	}
	return "", ""
}
