package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/engine/netproxy"
)

// mixtureSeed returns the seed of the faults: PRONY_MIXTURE_SEED, or a random one.
func mixtureSeed(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("PRONY_MIXTURE_SEED")
	if text == "" {
		return uint64(rand.IntN(1 << 31))
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err)
	return seed
}

// mixedFault is a fault of one node that a mixture may contain.
type mixedFault struct {
	name  string
	begin func(c *cluster, node string)
	end   func(c *cluster, node string)
}

// mixedFaults are the faults from which mixtures are drawn. A fault may begin while another one is
// active at another node.
var mixedFaults = []mixedFault{
	{"kill", func(c *cluster, node string) { c.kill(node) }, func(c *cluster, node string) { c.start(node) }},
	{
		"pause", func(c *cluster, node string) { c.signal(node, syscall.SIGSTOP) },
		func(c *cluster, node string) { c.signal(node, syscall.SIGCONT) },
	},
	{"partition", func(c *cluster, node string) { c.net.Isolate(node, clusterNodes...) }, openLinks},
	{"mute", func(c *cluster, node string) { // the node's packets to the others are lost
		for _, other := range clusterNodes {
			if other != node {
				c.net.Drop(node, other)
			}
		}
	}, openLinks},
	{"deafen", func(c *cluster, node string) { // the others' packets to the node are lost
		for _, other := range clusterNodes {
			if other != node {
				c.net.Drop(other, node)
			}
		}
	}, openLinks},
}

// openLinks opens all links of a node in both directions.
func openLinks(c *cluster, node string) {
	for _, other := range clusterNodes {
		if other != node {
			c.net.Set(node, other, netproxy.Conditions{})
			c.net.Set(other, node, netproxy.Conditions{})
		}
	}
}

// allLed waits until each shard has a leader.
func (c *cluster) allLed() {
	c.Helper()
	var missing []string
	require.Eventually(c, func() bool {
		led, shards := map[uint32]bool{}, 0
		for _, id := range c.up() {
			routes := c.routes(id)
			shards = max(shards, len(routes))
			for _, route := range routes {
				if route.GetHere() {
					led[route.GetShard()] = true
				}
			}
		}
		missing = missing[:0]
		for n := range shards {
			if !led[uint32(n)] {
				missing = append(missing, fmt.Sprint(n))
			}
		}
		return shards > 0 && len(missing) == 0
	}, patience, 20*time.Millisecond, "shards without a leader: %v", missing)
}

// TestRandomMixturesOfFaultsLoseNothing draws faults of one or two nodes at a time from a seed, and
// checks the clients' history against the guarantees. The seed determines the faults, their nodes
// and their lengths, but not the scheduling of the processes.
func TestRandomMixturesOfFaultsLoseNothing(t *testing.T) {
	const roundsMax = 5 // bound per cluster: the history of its clients stays in memory
	longtest.Only(t)
	seed, rounds := mixtureSeed(t), longtest.Count(t, 1, 200)
	t.Logf("PRONY_MIXTURE_SEED=%d, %d mixtures", seed, rounds)
	had := map[string]int{}
	for number := 0; rounds > 0; number++ {
		some := min(rounds, roundsMax)
		rounds -= some
		random := rand.New(rand.NewPCG(seed, uint64(number)))
		shards := []string{"1", "3"}[random.IntN(2)]
		durability := []string{"none", "interval", "sync"}[random.IntN(3)]
		t.Run(fmt.Sprintf("%d: %s shards, %s", number, shards, durability), func(t *testing.T) {
			c := newCluster(t, "--durability", durability, "--shards", shards)
			l := c.load()
			for range some {
				l.goOn(30)
				for _, name := range c.mixture(l, random) {
					had[name]++
				}
			}
			l.goOn(30)
			l.end()
		})
	}
	counts := make([]string, 0, len(had))
	for _, name := range slices.Sorted(maps.Keys(had)) {
		counts = append(counts, fmt.Sprintf("%d %s", had[name], name))
	}
	t.Logf("in all: %s", strings.Join(counts, ", "))
}

// mixture makes one or two nodes each suffer a fault, for overlapping random times, and returns the
// faults' names. With one faulty node, the load must continue during the fault.
func (c *cluster) mixture(l *load, random *rand.Rand) (names []string) {
	c.Helper()
	nodes := random.Perm(len(clusterNodes))[:1+random.IntN(2)]
	var ends []func()
	for _, n := range nodes {
		node, fault := clusterNodes[n], mixedFaults[random.IntN(len(mixedFaults))]
		names = append(names, fault.name)
		c.Logf("%s of %s", fault.name, node)
		// A random moment is intended.
		<-time.After(time.Duration(random.IntN(100)) * time.Millisecond)
		fault.begin(c, node)
		ends = append(ends, func() { fault.end(c, node) })
	}
	length := time.Duration(random.IntN(2*int(clusterLease.Milliseconds()))) * time.Millisecond
	goesOn := len(nodes) == 1 && random.IntN(2) == 0
	random.Shuffle(len(ends), func(i, j int) { ends[i], ends[j] = ends[j], ends[i] })
	if goesOn {
		l.goOn(30)
	} else {
		<-time.After(length) // shorter or longer than leases and election timeouts
	}
	for _, end := range ends {
		end()
	}
	c.allLed()
	return names
}
