package cluster

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/internal/nodeid"
	"github.com/pronybench/prony/engine/peerpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/shard"
)

const (
	// shareEvery is how often a node reports its usage of quotas. It reports sooner if
	// its share of a quota is used up.
	shareEvery = time.Second
	// shareGap is the minimum pause between two reports.
	shareGap = 20 * time.Millisecond
	// shareTimeout limits the time of one report.
	shareTimeout = 500 * time.Millisecond
)

// quotaShares is a node's part in dividing quotas among the nodes; see access.Coordinator.
type quotaShares struct {
	groups   *groups
	peers    *peers
	registry *access.Registry
	started  time.Time

	mu          sync.Mutex
	covered     map[int]bool
	version     uint64
	coordinator *access.Coordinator // nil unless this node leads shard 0
}

func newQuotaShares(k *Cluster) *quotaShares {
	return &quotaShares{groups: k.groups, peers: k.peers, registry: k.config.Registry, started: time.Now(), covered: map[int]bool{}}
}

func (q *quotaShares) nowMs() int64 { return time.Since(q.started).Milliseconds() }

// counting records whether this node's accounts include the usage of a shard. counts is true if
// they include it, and false if it is about to be removed from them.
func (q *quotaShares) counting(shard int, counts bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.version++
	if counts {
		q.covered[shard] = true
	} else {
		delete(q.covered, shard)
	}
}

func (q *quotaShares) shards() ([]int, uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Sorted(maps.Keys(q.covered)), q.version
}

func (q *quotaShares) coordinate(c *access.Coordinator) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.coordinator = c
}

// report answers a node's report. It fails unless this node leads shard 0.
func (q *quotaShares) report(r access.Report) (access.Answer, error) {
	members, quotas := q.peers.ids(), q.registry.Quotas()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.coordinator == nil {
		return access.Answer{}, &shard.NotLeaderError{Shard: 0}
	}
	return q.coordinator.Report(q.nowMs(), members, quotas, r)
}

// share reports this node's usage, and applies the answers, until ctx ends.
func (q *quotaShares) share(ctx context.Context) {
	tick := time.NewTicker(shareEvery)
	defer tick.Stop()
	seq := uint64(time.Now().UnixNano()) // exceeds all numbers that were used before a restart
	heard := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-q.registry.Lacking():
		case <-tick.C:
		}
		seq++
		began := time.Now()
		report := q.registry.Report(q.groups.node, seq, q.shards)
		answer, err := q.send(ctx, report)
		if err == nil {
			q.registry.Apply(answer)
			heard = began
		} else if time.Since(heard) > access.ShareExpiry {
			q.registry.Expire()
		}
		select { // make a pause even if the node still lacks room
		case <-ctx.Done():
			return
		case <-time.After(shareGap):
		}
	}
}

// send sends a report to the leader of shard 0, which may be this node.
func (q *quotaShares) send(ctx context.Context, r access.Report) (access.Answer, error) {
	leader := q.groups.Leader(0)
	if leader == q.groups.node {
		return q.report(r)
	}
	if leader == "" {
		return access.Answer{}, &shard.NotLeaderError{Shard: 0}
	}
	c, err := q.peers.conn(leader)
	if err != nil {
		return access.Answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, shareTimeout)
	defer cancel()
	out, err := peerpb.NewPeerServiceClient(c).ShareQuotas(ctx, reportMessage(r))
	if err != nil {
		return access.Answer{}, err
	}
	return answerOf(out)
}

// ShareQuotas implements peerpb.PeerServiceServer.
func (s *peerService) ShareQuotas(_ context.Context, in *peerpb.ShareQuotasRequest) (*peerpb.ShareQuotasResponse, error) {
	r, err := reportOf(in)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	answer, err := s.cluster.quotas.report(r)
	if err != nil {
		return nil, peerError(err)
	}
	return answerMessage(answer), nil
}

func reportMessage(r access.Report) *peerpb.ShareQuotasRequest {
	out := &peerpb.ShareQuotasRequest{Node: r.Node, Seq: r.Seq, Epoch: r.Epoch}
	for _, i := range r.Shards {
		out.Shards = append(out.Shards, uint32(i))
	}
	for tenant, shares := range r.Tenants {
		m := &peerpb.TenantShares{Tenant: tenant}
		for _, s := range shares {
			m.Shares = append(m.Shares, &peerpb.QuotaShare{Limit: uint64(s.Limit), Used: uint64(s.Used), Want: uint64(max(0, s.Want))})
		}
		out.Tenants = append(out.Tenants, m)
	}
	return out
}

func reportOf(in *peerpb.ShareQuotasRequest) (access.Report, error) {
	if err := nodeid.Check(in.GetNode()); err != nil {
		return access.Report{}, fmt.Errorf("node: %w", err)
	}
	if n := len(in.GetTenants()); n > access.TenantsMax {
		return access.Report{}, fmt.Errorf("tenants: has %d elements: expected at most %d", n, access.TenantsMax)
	}
	r := access.Report{Node: in.GetNode(), Seq: in.GetSeq(), Epoch: in.GetEpoch(), Tenants: make(map[string]access.Shares, len(in.GetTenants()))}
	for _, i := range in.GetShards() {
		if i >= shard.ShardsMax {
			return access.Report{}, fmt.Errorf("shards: %d is out of range: expected less than %d", i, shard.ShardsMax)
		}
		r.Shards = append(r.Shards, int(i))
	}
	for _, m := range in.GetTenants() {
		if err := queue.CheckName("tenants.tenant", m.GetTenant()); err != nil {
			return access.Report{}, err
		}
		var shares access.Shares
		// Ignore additional shares: a newer node may report more of them.
		for kind, s := range m.GetShares()[:min(len(shares), len(m.GetShares()))] {
			if s.GetLimit() > math.MaxInt64 || s.GetUsed() > math.MaxInt64 || s.GetWant() > math.MaxInt64 {
				return access.Report{}, fmt.Errorf("tenants.shares: %d, %d or %d is out of range", s.GetLimit(), s.GetUsed(), s.GetWant())
			}
			shares[kind] = access.Share{Limit: int64(s.GetLimit()), Used: int64(s.GetUsed()), Want: int64(s.GetWant())}
		}
		r.Tenants[m.GetTenant()] = shares
	}
	return r, nil
}

func answerMessage(a access.Answer) *peerpb.ShareQuotasResponse {
	out := &peerpb.ShareQuotasResponse{Epoch: a.Epoch}
	for tenant, grants := range a.Tenants {
		m := &peerpb.TenantGrants{Tenant: tenant}
		for _, g := range grants {
			grant := &peerpb.QuotaGrant{More: uint64(g.More)}
			if g.Spare >= 0 {
				spare := uint64(g.Spare)
				grant.Spare = &spare
			}
			m.Grants = append(m.Grants, grant)
		}
		out.Tenants = append(out.Tenants, m)
	}
	return out
}

func answerOf(in *peerpb.ShareQuotasResponse) (access.Answer, error) {
	out := access.Answer{Epoch: in.GetEpoch(), Tenants: make(map[string]access.Grants, len(in.GetTenants()))}
	for _, m := range in.GetTenants() {
		grants := access.NoGrants()
		for kind, g := range m.GetGrants()[:min(len(grants), len(m.GetGrants()))] {
			if g.GetMore() > math.MaxInt64 || g.GetSpare() > math.MaxInt64 {
				return out, fmt.Errorf("a grant of %d, or spare room of %d, is out of range", g.GetMore(), g.GetSpare())
			}
			grants[kind].More = int64(g.GetMore())
			if g.Spare != nil {
				grants[kind].Spare = int64(g.GetSpare())
			}
		}
		out.Tenants[m.GetTenant()] = grants
	}
	return out, nil
}
