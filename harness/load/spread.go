package load

import (
	"strconv"

	"github.com/pronybench/prony/harness/scenario"
)

// TenantName returns the name of tenant i of a scenario, counted from 0 over all of its workloads.
func TenantName(i int) string { return "t" + strconv.Itoa(i) }

// QueueName returns the name of queue i of any tenant of a workload, counted from 0.
func QueueName(i int) string { return "q" + strconv.Itoa(i) }

// names returns the n names from the first number on.
func names(name func(int) string, first, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = name(first + i)
	}
	return all
}

// tenantsOf returns the names of a workload's tenants.
func tenantsOf(w scenario.Workload) []string { return names(TenantName, w.FirstTenant, w.Tenants) }

// route is a queue of a tenant, by number.
type route struct{ tenant, queue int }

// producerPlace returns the connection of a producer and its routes, through which its calls cycle. Routes are numbered with the
// tenant changing fastest. With at least as many producers as routes each producer has one route; otherwise it has every
// producers-th route. So all routes are covered, the numbers of producers of two routes differ by one at most, and the tasks of
// one producer and queue use one connection.
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

// keyedPlace is producerPlace for calls whose queue is chosen at random: a producer has all queues of its tenants, one tenant
// after the other, and cycles through the tenants.
func keyedPlace(producer, producers, tenants, queues, conns int) (conn int, routes []route) {
	_, own := producerPlace(producer, producers, tenants, 1, conns)
	for _, r := range own {
		for q := range queues {
			routes = append(routes, route{tenant: r.tenant, queue: q})
		}
	}
	return connOf(producer, tenants, conns), routes
}

// slotPlace returns the connection and the tenant of a worker slot. Tenants go round.
func slotPlace(slot, tenants, conns int) (conn, tenant int) {
	return connOf(slot, tenants, conns), slot % tenants
}

// connOf returns the connection of user i, where users go round a number of groups. Connections go
// round too, moved on by one each time that both rounds end together: the users of each group then
// take all connections.
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
