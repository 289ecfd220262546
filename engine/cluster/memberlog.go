package cluster

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"

	"github.com/pronybench/prony/engine/rpc/route"
)

// memberChange is a difference between the members before and now.
type memberChange struct {
	route.Member
	what string
}

// changesOf returns how the members changed, by id; nothing if none were known before.
func changesOf(before, now map[string]route.Member) (out []memberChange) {
	if len(before) == 0 {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(now)) {
		m := now[id]
		was, member := before[id]
		switch {
		case !member:
			out = append(out, memberChange{m, "a node is a member now"})
		case m.Voter && !was.Voter:
			out = append(out, memberChange{m, "a member has a vote now"})
		case was.Voter && !m.Voter:
			out = append(out, memberChange{m, "a member has no vote any more"})
		case m.PeerAddress != was.PeerAddress:
			out = append(out, memberChange{m, "a member has another address"})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(before)) {
		if _, still := now[id]; !still {
			out = append(out, memberChange{before[id], "a node is not a member any more"})
		}
	}
	return out
}

// logMembers logs how the members changed. Each node logs it; the node that was asked for the change also logs who asked.
func (k *Cluster) logMembers(changes []memberChange) {
	for _, c := range changes {
		k.log.Info(c.what, "peer", c.Node, "address", c.PeerAddress, "voter", c.Voter)
	}
}

// logChange logs a change of the cluster, and who asked for it.
func (k *Cluster) logChange(c route.ClusterChange, err error) {
	about := []any{"change", c.Kind.String()}
	for _, a := range []struct{ name, value string }{{"peer", c.Node}, {"address", c.Address}, {"by", c.By.Token}, {"from", c.By.Address}} {
		if a.value != "" {
			about = append(about, a.name, a.value)
		}
	}
	if c.Shard != route.AllShards {
		about = append(about, "shard", c.Shard)
	}
	level, message := slog.LevelInfo, "changed the cluster"
	if err != nil {
		level, message, about = slog.LevelWarn, "could not change the cluster", append(about, "error", err)
	}
	if errors.As(err, new(*route.ChangeError)) {
		level, message = slog.LevelInfo, "refused a change of the cluster"
	}
	k.log.Log(context.Background(), level, message, about...)
}
