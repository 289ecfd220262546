package load

import (
	"strconv"

	"github.com/pronybench/prony/harness/scenario"
)

// TenantName returns the name of tenant i of a scenario. Tenants are numbered from 0 over all
// workloads of the scenario.
func TenantName(i int) string { return "t" + strconv.Itoa(i) }

// QueueName returns the name of queue i of a workload's tenant. Queues are numbered from 0.
func QueueName(i int) string { return "q" + strconv.Itoa(i) }

func names(name func(int) string, first, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = name(first + i)
	}
	return all
}

func tenantsOf(w scenario.Workload) []string { return names(TenantName, w.FirstTenant, w.Tenants) }

// route identifies a queue of a tenant by their numbers.
type route struct{ tenant, queue int }

// producerPlace returns the connection and the routes of a producer. The producer's calls cycle
// through the routes. Routes are numbered such that consecutive routes belong to different tenants.
// If there are at least as many producers as routes, each producer has one route. Otherwise
// producer i uses the routes i, i+producers, i+2*producers and so on. All routes are used, the
// numbers of producers of any two routes differ by at most one, and all tasks of one producer and
// queue use one connection.
func producerPlace(producer, producers, tenants, queues, conns int) (conn int, routes []route) {
	all := tenants * queues
	for r := producer % all; r < all; r += producers {
		routes = append(routes, route{tenant: r % tenants, queue: r / tenants})
		if producers >= all {
			break
		}
	}
	return connOf(producer, all, conns), routes
}

// keyedPlace is like producerPlace for producers that choose the queue of each call at random. A
// producer can reach all queues of its tenants. The routes are grouped by tenant, and calls cycle
// through the tenants.
func keyedPlace(producer, producers, tenants, queues, conns int) (conn int, routes []route) {
	_, own := producerPlace(producer, producers, tenants, 1, conns)
	for _, r := range own {
		for q := range queues {
			routes = append(routes, route{tenant: r.tenant, queue: q})
		}
	}
	return connOf(producer, tenants, conns), routes
}

// slotPlace returns the connection and the tenant of a worker slot. Slots are assigned to tenants
// round robin.
func slotPlace(slot, tenants, conns int) (conn, tenant int) {
	return connOf(slot, tenants, conns), slot % tenants
}

// connOf returns the connection of user i. Users are assigned to groups round robin, and so are
// connections. When both cycles end at the same user, the connection is shifted by one, so that the
// users of each group use all connections.
func connOf(i, groups, conns int) int {
	return (i + i/leastCommonMultiple(groups, conns)) % conns
}

func leastCommonMultiple(a, b int) int {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}

// cyclesOfTenants returns the number of cycles of each tenant inside the window, in the order of
// the tenants. It returns nil if the tenants have unequal shares of the load.
func (r *round) cyclesOfTenants() []uint64 {
	if !r.cfg.Workload.TenantsAlike() {
		return nil
	}
	number := make(map[string]int)
	for i, tenant := range tenantsOf(r.cfg.Workload) {
		number[tenant] = i
	}
	cycles := make([]uint64, len(number))
	for _, s := range r.slots {
		cycles[number[s.tenant]] += s.record.cycles
	}
	return cycles
}
