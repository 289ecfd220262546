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
	// leadersWait is how long cluster status waits by default.
	leadersWait = 10 * time.Second
	// newNodeWait is how long of that it waits for a node that has never answered the one that is asked: that node may just be starting.
	newNodeWait = 3 * time.Second
	// leadersAgain is the pause before the state is asked for again.
	leadersAgain = 200 * time.Millisecond
)

// awaitLeaders returns the state of a cluster once each shard has a leader, or else what it is after most. On a terminal it says what it
// waits for.
func (a *app) awaitLeaders(c *cobra.Command, conn *connection, most time.Duration) (out *adminpb.GetClusterResponse, err error) {
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

// awaited returns what a cluster lacks that may come by itself, and how that shows; "" if it lacks nothing of the kind.
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
