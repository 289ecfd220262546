package cluster

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"

	"github.com/pronybench/prony/engine/rpc/route"
)

// memberChange is a change of a member, with the message to log.
type memberChange struct {
	route.Member
	what string
}

// changesOf returns the differences between two lists of members, sorted by ID. It returns nil if
// before is empty.
func changesOf(before, now map[string]route.Member) (out []memberChange) {
	if len(before) == 0 {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(now)) {
		m := now[id]
		was, member := before[id]
		switch {
		case !member:
			out = append(out, memberChange{m, "a node became a member"})
		case m.Voter && !was.Voter:
			out = append(out, memberChange{m, "a member received a vote"})
		case was.Voter && !m.Voter:
			out = append(out, memberChange{m, "a member lost its vote"})
		case m.PeerAddress != was.PeerAddress:
			out = append(out, memberChange{m, "a member changed its address"})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(before)) {
		if _, still := now[id]; !still {
			out = append(out, memberChange{before[id], "a node is no longer a member"})
		}
	}
	return out
}

// logMembers logs changes of members. Every node logs them. The node that received the request for
// a change also logs who requested it (logChange).
func (p *peers) logMembers(changes []memberChange) {
	for _, c := range changes {
		p.log.Info(c.what, "peer", c.Node, "address", c.PeerAddress, "voter", c.Voter)
	}
}

func (m *membership) logChange(c route.ClusterChange, err error) {
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
	m.log.Log(context.Background(), level, message, about...)
}
