package cluster

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/peerpb"
	"github.com/pronybench/prony/engine/shard"
)

// sent returns what arrives of a message.
func sent[M proto.Message](t require.TestingT, m, arrived M) M {
	text, err := proto.Marshal(m)
	require.NoError(t, err)
	require.NoError(t, proto.Unmarshal(text, arrived))
	return arrived
}

// amount generates any amount that a message can contain.
func amount(r *rapid.T) int64 { return rapid.Int64Range(0, math.MaxInt64).Draw(r, "amount") }

func TestReportsOfQuotasArriveUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := access.Report{Node: "n1", Seq: rapid.Uint64().Draw(t, "seq"), Epoch: rapid.Uint64().Draw(t, "epoch"), Tenants: map[string]access.Shares{}}
		r.Shards = rapid.SliceOfN(rapid.IntRange(0, shard.ShardsMax-1), 1, 5).Draw(t, "shards")
		for i := range rapid.IntRange(0, 3).Draw(t, "tenants") {
			var shares access.Shares
			for kind := range shares {
				shares[kind] = access.Share{Limit: amount(t), Used: amount(t), Want: amount(t)}
			}
			r.Tenants[fmt.Sprint("t", i)] = shares
		}
		got, err := reportOf(sent(t, reportMessage(r), &peerpb.ShareQuotasRequest{}))
		require.NoError(t, err)
		assert.Equal(t, r, got)
	})
}

func TestAnswersToReportsArriveUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := access.Answer{Epoch: rapid.Uint64().Draw(t, "epoch"), Tenants: map[string]access.Grants{}}
		for i := range rapid.IntRange(0, 3).Draw(t, "tenants") {
			grants := access.NoGrants()
			for kind := range grants {
				grants[kind].More = amount(t)
				if rapid.Bool().Draw(t, "lowered") { // to the usage alone if it is 0
					grants[kind].Spare = amount(t)
				}
			}
			a.Tenants[fmt.Sprint("t", i)] = grants
		}
		got, err := answerOf(sent(t, answerMessage(a), &peerpb.ShareQuotasResponse{}))
		require.NoError(t, err)
		assert.Equal(t, a, got)
	})
}

// A negative want means that the node lacked nothing.
func TestANegativeWantIsSentAsNone(t *testing.T) {
	r := access.Report{Node: "n1", Tenants: map[string]access.Shares{"t": {{Want: -5}}}}
	assert.Zero(t, reportMessage(r).GetTenants()[0].GetShares()[0].GetWant())
}

func TestBadReportsOfQuotasAreRefused(t *testing.T) {
	share := func(s *peerpb.QuotaShare) *peerpb.ShareQuotasRequest {
		return &peerpb.ShareQuotasRequest{Node: "n1", Tenants: []*peerpb.TenantShares{{Tenant: "t", Shares: []*peerpb.QuotaShare{s}}}}
	}
	service := &peerService{cluster: &Cluster{}}
	for says, in := range map[string]*peerpb.ShareQuotasRequest{
		"node: ":                                {Node: "n 1"},
		"tenants: has 10001 elements":           {Node: "n1", Tenants: make([]*peerpb.TenantShares, access.TenantsMax+1)},
		"shards: 32 is out of range":            {Node: "n1", Shards: []uint32{0, shard.ShardsMax}},
		"tenants.tenant":                        {Node: "n1", Tenants: []*peerpb.TenantShares{{Tenant: ""}}},
		"9223372036854775808, 0 or 0 is out of": share(&peerpb.QuotaShare{Limit: math.MaxInt64 + 1}),
		"0, 9223372036854775808 or 0 is out of": share(&peerpb.QuotaShare{Used: math.MaxInt64 + 1}),
		"0, 0 or 9223372036854775808 is out of": share(&peerpb.QuotaShare{Want: math.MaxInt64 + 1}),
	} {
		_, err := service.ShareQuotas(t.Context(), in)
		assert.Equal(t, codes.InvalidArgument, status.Code(err), says)
		assert.ErrorContains(t, err, says)
	}
	tooMuch := uint64(math.MaxInt64 + 1)
	for _, g := range []*peerpb.QuotaGrant{{More: tooMuch}, {Spare: &tooMuch}} {
		_, err := answerOf(&peerpb.ShareQuotasResponse{Tenants: []*peerpb.TenantGrants{{Tenant: "t", Grants: []*peerpb.QuotaGrant{g}}}})
		assert.ErrorContains(t, err, "is out of range")
	}
}

// Nodes of newer versions may have more kinds of quotas, and those of older versions fewer.
func TestOtherKindsOfQuotasAreIgnored(t *testing.T) {
	of := func(n int) (shares []*peerpb.QuotaShare, grants []*peerpb.QuotaGrant) {
		for i := range n {
			shares = append(shares, &peerpb.QuotaShare{Limit: uint64(i + 1)})
			grants = append(grants, &peerpb.QuotaGrant{More: uint64(i + 1)})
		}
		return shares, grants
	}
	kinds := len(access.Shares{})
	for _, n := range []int{kinds - 1, kinds + 1} {
		shares, grants := of(n)
		r, err := reportOf(&peerpb.ShareQuotasRequest{Node: "n1", Tenants: []*peerpb.TenantShares{{Tenant: "t", Shares: shares}}})
		require.NoError(t, err)
		a, err := answerOf(&peerpb.ShareQuotasResponse{Tenants: []*peerpb.TenantGrants{{Tenant: "t", Grants: grants}}})
		require.NoError(t, err)
		for kind := range kinds {
			want := int64(kind + 1)
			if kind >= n {
				want = 0
			}
			assert.Equal(t, want, r.Tenants["t"][kind].Limit)
			assert.Equal(t, access.Grant{More: want, Spare: -1}, a.Tenants["t"][kind])
		}
	}
}

// The version changes with the shards, so that a report never combines the usage of one set of
// shards with the names of another.
func TestTheVersionOfTheCountedShardsChanges(t *testing.T) {
	q := &quotaShares{covered: map[int]bool{}}
	_, first := q.shards()
	q.counting(7, true)
	q.counting(2, true)
	counted, second := q.shards()
	assert.Equal(t, []int{2, 7}, counted)
	assert.Greater(t, second, first)
	q.counting(7, false)
	counted, third := q.shards()
	assert.Equal(t, []int{2}, counted)
	assert.Greater(t, third, second)
}

// Only the node that leads shard 0 answers reports, from the begin of its tenure to the end.
func TestOnlyTheLeaderOfShard0AnswersReports(t *testing.T) {
	registry := access.New(access.Options{Shared: true})
	defer registry.Close()
	p := &peers{directory: newDirectory()}
	p.update(map[string]string{"n1": "a:1", "n2": "b:1"}, nil, began)
	q := &quotaShares{groups: &groups{node: "n1"}, peers: p, registry: registry}
	service := &peerService{cluster: &Cluster{quotas: q}}
	ask := func(seq uint64) (uint64, error) {
		out, err := service.ShareQuotas(t.Context(), &peerpb.ShareQuotasRequest{Node: "n2", Seq: seq})
		return out.GetEpoch(), err
	}
	_, err := ask(1)
	assert.Equal(t, codes.Unavailable, status.Code(err))
	q.coordinate(access.NewCoordinator(9, 1, 0))
	epoch, err := ask(2)
	require.NoError(t, err)
	assert.EqualValues(t, 9, epoch)
	q.coordinate(nil)
	_, err = ask(3)
	assert.Equal(t, codes.Unavailable, status.Code(err))

	_, err = q.send(t.Context(), access.Report{Node: "n1"})
	assert.ErrorIs(t, err, shard.ErrNotLeader, "the leader is unknown")
}
