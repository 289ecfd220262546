package node

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronybench/prony/engine/storage"
)

// pebbleCollector asks the shards' stores at each scrape. A store that is being closed or replaced is left out.
type pebbleCollector struct {
	node    *Node
	figures []pebbleFigure
}

// pebbleFigure is one of a store's figures.
type pebbleFigure struct {
	desc  *prometheus.Desc // shard
	kind  prometheus.ValueType
	value func(*storage.PebbleMetrics) float64
}

func newPebbleCollector(n *Node) *pebbleCollector {
	c := &pebbleCollector{node: n}
	add := func(kind prometheus.ValueType, name, help string, value func(*storage.PebbleMetrics) float64) {
		c.figures = append(c.figures, pebbleFigure{prometheus.NewDesc("prony_pebble_"+name, help, []string{"shard"}, nil), kind, value})
	}
	const counter, gauge = prometheus.CounterValue, prometheus.GaugeValue
	add(counter, "flushes_total", "Memtables written to tables.", func(m *storage.PebbleMetrics) float64 { return float64(m.Flushes) })
	add(counter, "flushed_bytes_total", "Bytes of tables that flushes wrote.", func(m *storage.PebbleMetrics) float64 { return float64(m.FlushedBytes) })
	add(counter, "compactions_total", "Compactions of tables.", func(m *storage.PebbleMetrics) float64 { return float64(m.Compactions) })
	add(counter, "compacted_bytes_total", "Bytes of tables that compactions wrote.", func(m *storage.PebbleMetrics) float64 { return float64(m.CompactedBytes) })
	add(counter, "compaction_seconds_total", "Time that compactions took.", func(m *storage.PebbleMetrics) float64 { return m.CompactionSeconds })
	add(gauge, "compaction_debt_bytes", "Bytes to compact until nothing is left to do, estimated.", func(m *storage.PebbleMetrics) float64 { return float64(m.CompactionDebt) })
	add(counter, "wal_bytes_total", "Bytes written to the write-ahead log.", func(m *storage.PebbleMetrics) float64 { return float64(m.LogBytes) })
	add(gauge, "memtable_bytes", "Memory allocated to memtables.", func(m *storage.PebbleMetrics) float64 { return float64(m.MemTableBytes) })
	add(gauge, "memtables", "Memtables, those that wait to be flushed included.", func(m *storage.PebbleMetrics) float64 { return float64(m.MemTables) })
	add(gauge, "tables", "Tables.", func(m *storage.PebbleMetrics) float64 { return float64(m.Tables) })
	add(gauge, "table_bytes", "Bytes of tables.", func(m *storage.PebbleMetrics) float64 { return float64(m.TableBytes) })
	add(gauge, "tombstones", "Deletions that have not met what they delete, estimated.", func(m *storage.PebbleMetrics) float64 { return float64(m.Tombstones) })
	add(gauge, "read_amplification", "Tables and levels that a lookup may have to ask.", func(m *storage.PebbleMetrics) float64 { return float64(m.ReadAmplification) })
	add(counter, "write_stalls_total", "Times that commits were held up by flushes or compactions.", func(m *storage.PebbleMetrics) float64 { return float64(m.WriteStalls) })
	add(counter, "write_stall_seconds_total", "Time that commits were held up.", func(m *storage.PebbleMetrics) float64 { return m.StallSeconds })
	return c
}

// Describe implements prometheus.Collector.
func (c *pebbleCollector) Describe(out chan<- *prometheus.Desc) {
	for _, f := range c.figures {
		out <- f.desc
	}
}

// Collect implements prometheus.Collector. It does not wait for a store that is being replaced: a scrape must not either.
func (c *pebbleCollector) Collect(out chan<- prometheus.Metric) {
	n := c.node
	if !n.storesInUse.TryRLock() {
		return
	}
	defer n.storesInUse.RUnlock()
	if n.storesClosed {
		return
	}
	for i := range n.shards.Len() {
		m := n.store(i).PebbleMetrics()
		for _, f := range c.figures {
			out <- prometheus.MustNewConstMetric(f.desc, f.kind, f.value(&m), strconv.Itoa(i))
		}
	}
}

// watchStores adds what is asked of the stores at each scrape.
func (m *metrics) watchStores(n *Node) {
	m.registry.MustRegister(newPebbleCollector(n))
	if n.cluster != nil {
		logs := n.cluster.logs
		m.registry.MustRegister(prometheus.NewCounterFunc(
			prometheus.CounterOpts{Name: "prony_raft_log_fsyncs_total", Help: "Fsyncs of the log that all groups of this node share."},
			func() float64 { return float64(logs.Counters().Syncs) }))
	}
}
