package load

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/scenario"
)

// Cycles are counted by tenant: a tenant with slow completions has fewer.
func TestCyclesOfTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.ackDelay = time.Millisecond
		cfg := config(b, workload(nil))
		for i, c := range cfg.Conns {
			cfg.Conns[i] = unfairConn{c, map[string]time.Duration{"t0": time.Millisecond, "t1": 3 * time.Millisecond}}
		}
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		require.Len(t, o.TenantCycles, 2)
		assert.Equal(t, o.Cycles, o.TenantCycles[0]+o.TenantCycles[1])
		assert.Greater(t, o.TenantCycles[0], o.TenantCycles[1])
		assert.Positive(t, o.TenantCycles[1])
	})
}

// Tenants with different numbers of producers or workers have different numbers of cycles by
// design.
func TestNoCyclesOfTenantsWithDifferentShares(t *testing.T) {
	for name, change := range map[string]func(*scenario.Workload){
		"one tenant":              func(w *scenario.Workload) { w.Tenants = 1 },
		"producers do not divide": func(w *scenario.Workload) { w.Producers = 5 },
		"workers do not divide":   func(w *scenario.Workload) { w.Workers = 7 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				b.completeDelay = time.Millisecond
				o, err := Run(t.Context(), config(b, workload(change)))
				require.NoError(t, err)
				assert.Positive(t, o.Cycles)
				assert.Nil(t, o.TenantCycles)
			})
		})
	}
}

// unfairConn delays the completions of each tenant by a different time.
type unfairConn struct {
	driver.Conn
	delays map[string]time.Duration
}

func (c unfairConn) Worker(ctx context.Context, tenant string, queues []string, slots int) (driver.Worker, error) {
	worker, err := c.Conn.Worker(ctx, tenant, queues, slots)
	return unfairWorker{worker, c.delays[tenant]}, err
}

type unfairWorker struct {
	driver.Worker
	delay time.Duration
}

func (w unfairWorker) Complete(ctx context.Context, deliveries []driver.Delivery, outcomes []error) error {
	time.Sleep(w.delay) // virtual time
	return w.Worker.Complete(ctx, deliveries, outcomes)
}
