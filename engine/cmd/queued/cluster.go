package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/engine/adminpb"
)

// clusterCommands contains the subcommands of cluster.
type clusterCommands struct{ *app }

func (a clusterCommands) cluster() *cobra.Command {
	return group("cluster", "Set a cluster up, show it, change its members, move leadership", `  queued cluster init --nodes n1=10.0.0.1:7073,n2=10.0.0.2:7073,n3=10.0.0.3:7073 --out certs
  queued cluster status
  queued cluster add n4 n4.example:7073
  queued cluster transfer --shard 0 --to n2`,
		a.initialize(), a.status(), a.add(), a.remove(), a.promote(), a.demote(), a.transfer(), a.snapshot())
}

func (a clusterCommands) status() *cobra.Command {
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the state of a cluster's nodes and shards",
		Long: `Shows the state of a cluster as the asked node sees it: a line for each node, and a line for each shard
with the number of log entries by which each copy is behind its leader. CLOCK is how far the clock of a node
is ahead of the clock of the asked node, and the bound on the error of that. The command ends with 0
only if the node is a member, each node answers, has disk space and a clock that allows it to lead, and each
shard has a leader.

The command first waits for up to --wait until the server answers and each shard has a leader, as after the
start of a cluster. On a terminal it shows what it waits for. It then shows the state, whatever that is.`,
		Example: `  queued cluster status
  queued cluster status --wait 0s
  queued cluster status --output json | jq -r '.groups[] | "\(.shard) \(.leader)"'`,
		Args: noArgs,
	}
	wait := leadersWait
	durationFlag(c.Flags(), &wait, "wait", "how long to wait until the server answers and each shard has a leader; 0s: not at all")
	conn := a.connect(c, true, false)
	c.RunE = func(c *cobra.Command, _ []string) error {
		out, err := a.awaitLeaders(c, conn, wait)
		if err != nil {
			return err
		}
		return errors.Join(ailing(out), a.print(document(out), func(t *table) {
			if out.GetNode() == "" {
				t.row("this is a standalone server, started without --cluster-node")
				return
			}
			memberTable(t, out)
			t.row()
			groupTable(t, out)
		}))
	}
	return c
}

// ailing returns an error that lists the cluster's problems, or nil if there are no problems.
func ailing(s *adminpb.GetClusterResponse) error {
	var problems []string
	if asked := s.GetNode(); asked != "" && !slices.ContainsFunc(s.GetMembers(), func(m *adminpb.ClusterMember) bool { return m.GetNode() == asked }) {
		problems = append(problems, fmt.Sprintf("node %s, which was asked, is not a member", asked))
	}
	if s.GetOutage() != "" {
		problems = append(problems, "no shard has a leader: "+s.GetOutage())
	}
	for _, m := range s.GetMembers() {
		if !m.GetReachable() && s.GetOutage() == "" {
			problems = append(problems, silentNode(m))
		}
		if m.GetDiskState() > adminpb.DiskState_DISK_STATE_OK {
			problems = append(problems, fmt.Sprintf("node %s has too little disk space: %s", m.GetNode(), diskWord(m.GetDiskState())))
		}
	}
	for _, m := range s.GetMembers() {
		if why := m.GetClockProblem(); why != "" {
			problems = append(problems, fmt.Sprintf("node %s does not lead: %s", m.GetNode(), why))
		}
	}
	for _, g := range s.GetGroups() {
		if g.GetLeader() == "" && s.GetOutage() == "" {
			problems = append(problems, fmt.Sprintf("shard %d has no leader", g.GetShard()))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(problems, "; "))
}

// silentNode returns a message that a node does not answer. The message names the time of its last
// answer, if the answering node knows it.
func silentNode(m *adminpb.ClusterMember) string {
	if m.GetLastAnswerMs() == 0 {
		return fmt.Sprintf("node %s does not answer", m.GetNode())
	}
	return fmt.Sprintf("node %s does not answer, since %s", m.GetNode(), when(m.GetLastAnswerMs()))
}

func memberTable(t *table, s *adminpb.GetClusterResponse) {
	leads := map[string]int{}
	for _, g := range s.GetGroups() {
		leads[g.GetLeader()]++
	}
	t.row("NODE", "ROLE", "ANSWERS", "LEADS", "CLOCK", "DISK", "PEER", "GRPC", "HTTP", "ADMIN", "VERSION", "")
	for _, m := range s.GetMembers() {
		role, answers, asked := "nonvoter", "no", ""
		if m.GetVoter() {
			role = "voter"
		}
		if m.GetReachable() {
			answers = "yes"
		}
		if m.GetNode() == s.GetNode() {
			asked = "asked"
		}
		t.row(m.GetNode(), role, answers, count(leads[m.GetNode()], "shard"), clockSkew(s, m), diskWord(m.GetDiskState()), or(m.GetPeerAddress(), "-"),
			or(m.GetAddress(), "-"), or(m.GetHttp(), "-"), or(m.GetAdmin(), "-"), or(m.GetVersion(), "-"), asked)
	}
}

// clockSkew formats the lead of a member's clock over the answering node's clock, and the maximum
// error: "+1.2ms ±150µs".
func clockSkew(s *adminpb.GetClusterResponse, m *adminpb.ClusterMember) string {
	switch {
	case m.GetNode() == s.GetNode():
		return "0"
	case m.ClockAheadUs == nil:
		return "?"
	}
	ahead := time.Duration(m.GetClockAheadUs()) * time.Microsecond
	sign := "+"
	if ahead < 0 {
		sign = ""
	}
	return fmt.Sprintf("%s%v ±%v", sign, ahead, time.Duration(m.GetClockErrorUs())*time.Microsecond)
}

func groupTable(t *table, s *adminpb.GetClusterResponse) {
	t.row("SHARD", "LEADER", "TERM", "COMMITTED", "LAST", "BEHIND")
	for _, g := range s.GetGroups() {
		t.row(g.GetShard(), or(g.GetLeader(), "none"), g.GetTerm(), g.GetCommitIndex(), g.GetLastIndex(), or(behind(s, g), "-"))
	}
}

// behind returns, for each member except the leader, the number of entries that its copy lacks: "n2
// 0, n3 51, n4 ?".
func behind(s *adminpb.GetClusterResponse, g *adminpb.ClusterGroup) string {
	last := map[string]uint64{}
	for _, r := range g.GetReplicas() {
		last[r.GetNode()] = r.GetLastIndex()
	}
	var all []string
	for _, m := range s.GetMembers() {
		if m.GetNode() == g.GetLeader() {
			continue
		}
		lacks := "?"
		if n, answered := last[m.GetNode()]; answered {
			// The copy may have more entries than the leader had when it answered.
			lacks = fmt.Sprint(g.GetLastIndex() - min(n, g.GetLastIndex()))
		}
		all = append(all, m.GetNode()+" "+lacks)
	}
	return strings.Join(all, ", ")
}

func (a clusterCommands) add() *cobra.Command {
	var nonvoter bool
	c := &cobra.Command{
		Use:   "add NODE ADDRESS",
		Short: "Make a node a member of all shards' groups",
		Long: `Makes a node a member of all shards' groups; ADDRESS is its address for the other nodes: its --cluster-listen or
--cluster-advertise. The node catches up without further commands; 'queued cluster status' shows how far it is
behind. A node that is started with --cluster-join does not need this command.`,
		Example: `  queued cluster add n4 n4.example:7073
  queued cluster add n5 10.0.0.5:7073 --nonvoter`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return fmt.Errorf("'%s' takes two arguments, NODE and ADDRESS: got %d", c.CommandPath(), len(args))
		},
	}
	c.Flags().BoolVar(&nonvoter, "nonvoter", false, "the node replicates without a vote")
	conn := a.changesCluster(c, clusterTimeout)
	c.RunE = func(c *cobra.Command, args []string) error {
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			_, err := api.AddMember(ctx, &adminpb.AddMemberRequest{Node: args[0], Address: args[1], Nonvoter: nonvoter})
			return a.done(err, args[0], "added")
		})
	}
	return c
}

// clusterTimeout is longer than the timeout of other calls: the groups change one after another,
// and a group may have to elect a leader first.
const clusterTimeout = time.Minute

// changesCluster adds the connection flags to a command. It sets the default of --timeout to
// timeout.
func (a clusterCommands) changesCluster(c *cobra.Command, timeout time.Duration) *connection {
	conn := a.connect(c, true, false)
	conn.timeout = timeout
	c.Flags().Lookup("timeout").DefValue = durationValue{&conn.timeout}.String()
	return conn
}

// done prints that the change of a node was successful. If err is not nil, done returns it instead.
func (a clusterCommands) done(err error, node, done string) error {
	if err != nil {
		return err
	}
	return a.print(members{{"node", node}, {"done", done}}, func(t *table) { t.row(node, done) })
}

// onMember returns a command that makes one change to a member. If ask is not empty, the command
// asks for confirmation with this question.
func (a clusterCommands) onMember(c *cobra.Command, ask, done string, call func(ctx context.Context, api adminpb.AdminServiceClient, node string) error) *cobra.Command {
	var yes bool
	c.Use += " NODE"
	c.Args = oneArg("NODE")
	if ask != "" {
		yesFlag(c, &yes)
	}
	conn := a.changesCluster(c, clusterTimeout)
	c.RunE = func(c *cobra.Command, args []string) error {
		if ask != "" {
			if err := a.confirm(fmt.Sprintf(ask, args[0]), yes); err != nil {
				return err
			}
		}
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			return a.done(call(ctx, api, args[0]), args[0], done)
		})
	}
	return c
}

func (a clusterCommands) remove() *cobra.Command {
	return a.onMember(&cobra.Command{
		Use:   "remove",
		Short: "Remove a node from the cluster",
		Long: `Removes a node from all shards' groups. The shards that it leads get another leader first. Its data folder stays
and cannot be used again: stop the node, and give it a new data folder before it joins again.`,
		Example: `  queued cluster remove n3
  queued cluster remove n3 --yes`,
	}, "take node %s and its copy of all shards out of the cluster", "removed", func(ctx context.Context, api adminpb.AdminServiceClient, node string) error {
		_, err := api.RemoveMember(ctx, &adminpb.RemoveMemberRequest{Node: node})
		return err
	})
}

func (a clusterCommands) promote() *cobra.Command {
	return a.onMember(&cobra.Command{
		Use:     "promote",
		Short:   "Give a nonvoter a vote",
		Example: `  queued cluster promote n5`,
	}, "", "promoted", func(ctx context.Context, api adminpb.AdminServiceClient, node string) error {
		_, err := api.PromoteMember(ctx, &adminpb.PromoteMemberRequest{Node: node})
		return err
	})
}

func (a clusterCommands) demote() *cobra.Command {
	return a.onMember(&cobra.Command{
		Use:     "demote",
		Short:   "Remove a node's vote; the node continues to replicate",
		Example: `  queued cluster demote n3`,
	}, "", "demoted", func(ctx context.Context, api adminpb.AdminServiceClient, node string) error {
		_, err := api.DemoteMember(ctx, &adminpb.DemoteMemberRequest{Node: node})
		return err
	})
}

// shardFlag is a flag for an optional shard. Without the flag, a command applies to all shards.
type shardFlag struct {
	command *cobra.Command
	number  uint32
}

func (f *shardFlag) define(c *cobra.Command, usage string) {
	f.command = c
	numberFlag(c.Flags(), &f.number, "shard", 0, usage)
	c.Flags().Lookup("shard").DefValue = "" // do not show 0, which would mean shard 0
}

func (f *shardFlag) value() *uint32 {
	if !f.command.Flags().Changed("shard") {
		return nil
	}
	return &f.number
}

func (f *shardFlag) words() string {
	if f.value() == nil {
		return "all shards"
	}
	return fmt.Sprintf("shard %d", f.number)
}

func (a clusterCommands) transfer() *cobra.Command {
	var shard shardFlag
	var to string
	c := &cobra.Command{
		Use:   "transfer",
		Short: "Transfer leadership to another node",
		Long: `Transfers the leadership of one shard, or of all, to another node. Without --to the leader chooses any other
voter. Without --shard and --to, the asked node transfers all shards that it leads, as it does before it
is stopped.`,
		Example: `  queued cluster transfer --shard 0 --to n2
  queued cluster transfer --to n2
  queued cluster transfer --admin-server n1.example:7071`,
		Args: noArgs,
	}
	shard.define(c, "the shard; default: all shards")
	c.Flags().StringVar(&to, "to", "", "the new leader; default: any other voter")
	conn := a.changesCluster(c, clusterTimeout)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			if _, err := api.TransferLeadership(ctx, &adminpb.TransferLeadershipRequest{Shard: shard.value(), Node: to}); err != nil {
				return err
			}
			return a.print(members{{"shard", shard.value()}, {"node", to}, {"done", "transferred"}}, func(t *table) {
				t.row(shard.words(), "transferred to "+or(to, "another node"))
			})
		})
	}
	return c
}

// snapshotTimeout is long because the node flushes and copies all data of each shard.
const snapshotTimeout = 10 * time.Minute

func (a clusterCommands) snapshot() *cobra.Command {
	var shard shardFlag
	c := &cobra.Command{
		Use:   "snapshot",
		Short: "Make a node snapshot its shards and truncate their logs",
		Long: `Makes the asked node snapshot its own copy of one shard, or of all, and truncate the logs. Nodes also do so
periodically. A snapshot is not a backup: 'queued backup' makes one.`,
		Example: `  queued cluster snapshot
  queued cluster snapshot --shard 1 --admin-server n2.example:7071`,
		Args: noArgs,
	}
	shard.define(c, "the shard; default: all shards")
	conn := a.changesCluster(c, snapshotTimeout)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			if _, err := api.TakeSnapshot(ctx, &adminpb.TakeSnapshotRequest{Shard: shard.value()}); err != nil {
				return err
			}
			return a.print(members{{"shard", shard.value()}, {"done", "taken"}}, func(t *table) { t.row(shard.words(), "snapshot taken") })
		})
	}
	return c
}
