package admin

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// operator returns a context of a caller who may make all calls.
func operator(t *testing.T) context.Context {
	t.Helper()
	ctx, err := call.NoAuth().Arrives(t.Context(), &tap.Info{FullMethodName: adminpb.AdminService_ListTenants_FullMethodName})
	require.NoError(t, err)
	return ctx
}

// serveTenants returns the admin service of a store, and a function that closes it.
func serveTenants(t *testing.T, fs vfs.FS) (_ *Service, _ *storage.Store, stop func()) {
	t.Helper()
	store, err := storage.Open("store", storage.Options{FS: fs, Durability: storage.None})
	require.NoError(t, err)
	registry := access.New(access.Options{})
	g, err := shard.NewGroup([]*storage.Store{store}, func(int) shard.Options {
		return shard.Options{Queue: queue.Config{Queues: 20_000, Account: registry.Account}}
	})
	require.NoError(t, err)
	return New(g, queue.DefaultLimits(), registry, nil), store, func() {
		g.Close()
		registry.Close()
		require.NoError(t, store.Close())
	}
}

func TestAPageOfTenantsReadsOnlyItsTenants(t *testing.T) {
	const tenants, size = 10_000, 50
	fs := vfs.NewMem()
	s, _, stop := serveTenants(t, fs)
	answers := make(chan error, 2*tenants)
	for i := range 2 * tenants {
		tasks := []queue.NewTask{{Queue: fmt.Sprint("q", i%2)}}
		require.NoError(t, s.shards.Enqueue(fmt.Sprintf("t%04d", i/2), tasks, func(_ []queue.Enqueued, err error) { answers <- err }))
	}
	for range 2 * tenants {
		require.NoError(t, <-answers)
	}
	stop()
	s, store, stop := serveTenants(t, fs) // the figures of no queue are known
	defer stop()
	ctx := operator(t)
	in := &adminpb.ListTenantsRequest{PageSize: size}
	for page := range tenants / size {
		before := store.Counters()
		out, err := s.ListTenants(ctx, in)
		require.NoError(t, err)
		after := store.Counters()
		require.LessOrEqual(t, after.Gets+after.Scanned-before.Gets-before.Scanned, uint64(4*3*size), "two queues for each tenant, and as many queues of others")
		require.Len(t, out.GetTenants(), size)
		for i, tenant := range out.GetTenants() {
			require.Equal(t, fmt.Sprintf("t%04d", page*size+i), tenant.GetTenant())
			require.EqualValues(t, 2, tenant.GetTasks())
			require.EqualValues(t, 2, tenant.GetQueues())
		}
		in.PageToken = out.GetNextPageToken()
		require.Equal(t, page == tenants/size-1, in.PageToken == "")
	}

	out, err := s.ListTenants(ctx, &adminpb.ListTenantsRequest{Tenant: "t0007"})
	require.NoError(t, err)
	require.Len(t, out.GetTenants(), 1)
	assert.EqualValues(t, 2, out.GetTenants()[0].GetQueues())
	out, err = s.ListTenants(ctx, &adminpb.ListTenantsRequest{Tenant: "none"})
	require.NoError(t, err)
	assert.Empty(t, out.GetTenants())
	for field, in := range map[string]*adminpb.ListTenantsRequest{
		"page_size": {PageSize: call.PageMax + 1}, "page_token": {PageToken: call.PageToken(call.ListName("other"), []byte("t0001"))}, "tenant": {Tenant: "no name"},
	} {
		_, err := s.ListTenants(ctx, in)
		assert.Equal(t, codes.InvalidArgument, status.Code(err))
		assert.ErrorContains(t, err, field)
	}
}

// The pages of a cluster have the sums over its nodes, although the nodes know different tenants.
func TestPagesOfTenantsAreMerged(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		nodes := make([][]*adminpb.Tenant, 3)
		sums := map[string]uint64{}
		for i := range 30 {
			name := fmt.Sprintf("t%02d", i)
			for n := range nodes {
				if rng.IntN(3) == 0 {
					tasks := rng.Uint64N(100)
					nodes[n] = append(nodes[n], &adminpb.Tenant{Tenant: name, Tasks: tasks, Bytes: tasks, Leases: tasks})
					sums[name] += tasks
				}
			}
		}
		l := tenantList{limit: 1 + rng.IntN(12)}
		got := map[string]uint64{}
		var names []string
		for more := true; more; {
			parts := make([]*adminpb.ListTenantsResponse, len(nodes))
			for n, all := range nodes {
				from, found := slices.BinarySearchFunc(all, l.after, func(t *adminpb.Tenant, after string) int { return cmp.Compare(t.GetTenant(), after) })
				if found {
					from++
				}
				var page []*adminpb.Tenant
				for _, t := range all[from:min(len(all), from+l.limit)] {
					page = append(page, &adminpb.Tenant{Tenant: t.GetTenant(), Tasks: t.GetTasks(), Bytes: t.GetBytes(), Leases: t.GetLeases()})
				}
				parts[n] = l.message(page, from+l.limit < len(all))
			}
			out := l.merge(parts)
			require.LessOrEqual(t, len(out.GetTenants()), l.limit)
			for _, tenant := range out.GetTenants() {
				names = append(names, tenant.GetTenant())
				got[tenant.GetTenant()] = tenant.GetTasks()
				require.Equal(t, tenant.GetTasks(), tenant.GetBytes())
				require.Equal(t, tenant.GetTasks(), tenant.GetLeases())
			}
			if more = out.GetNextPageToken() != ""; more {
				at, err := call.ParsePageToken(tenantsName, out.GetNextPageToken())
				require.NoError(t, err)
				l.after = string(at)
			}
		}
		require.True(t, slices.IsSorted(names))
		require.Equal(t, sums, got)
	}
}
