package load

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestProducersCoverAllQueuesEvenly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		producers := rapid.IntRange(1, 40).Draw(t, "producers")
		tenants := rapid.IntRange(1, 6).Draw(t, "tenants")
		queues := rapid.IntRange(1, 6).Draw(t, "queues")
		conns := rapid.IntRange(1, 5).Draw(t, "conns")
		users := make(map[route]int)
		onConn := make([]int, conns)
		for i := range producers {
			conn, routes := producerPlace(i, producers, tenants, queues, conns)
			require.NotEmpty(t, routes)
			onConn[conn]++
			for _, r := range routes {
				require.True(t, r.tenant < tenants && r.queue < queues)
				users[r]++
			}
		}
		require.Len(t, users, tenants*queues)
		for _, n := range users {
			require.InDelta(t, float64(producers)/float64(tenants*queues), float64(n), 1)
			if producers < tenants*queues {
				require.Equal(t, 1, n, "a queue has one producer")
			}
		}
		for _, n := range onConn {
			require.InDelta(t, float64(producers)/float64(conns), float64(n), float64(producers)/float64(tenants*queues)+1)
			require.True(t, n > 0 || producers < conns, "a connection is idle")
		}
	})
}

func TestSlotsCoverAllTenants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tenants := rapid.IntRange(1, 8).Draw(t, "tenants")
		slots := rapid.IntRange(tenants, 100).Draw(t, "slots")
		conns := rapid.IntRange(1, 5).Draw(t, "conns")
		ofTenant := make(map[int]int)
		at := make(map[place]int)
		for i := range slots {
			conn, tenant := slotPlace(i, tenants, conns)
			require.True(t, conn < conns && tenant < tenants)
			ofTenant[tenant]++
			at[place{conn, tenant}]++
		}
		require.Len(t, ofTenant, tenants)
		used := make(map[int]bool)
		for p := range at {
			used[p.conn] = true
		}
		require.Len(t, used, min(slots, conns), "a connection is idle")
		for _, n := range ofTenant {
			require.InDelta(t, float64(slots)/float64(tenants), float64(n), 1)
		}
		if slots >= tenants*conns {
			require.Len(t, at, tenants*conns, "each tenant has workers on each connection")
		}
	})
}

func TestNames(t *testing.T) {
	assert.Equal(t, "t0", TenantName(0))
	assert.Equal(t, "q11", QueueName(11))
}
