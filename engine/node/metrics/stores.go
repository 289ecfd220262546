package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronybench/prony/engine/storage"
)

func (m *Metrics) watchStore(i int, counters func(shard int) storage.Counters) {
	counter := func(name, help string, value func(storage.Counters) uint64) {
		m.counter(name, help, shardLabel(i), func() uint64 { return value(counters(i)) })
	}
	counter("prony_storage_sets_total", "Keys set in the store.", func(c storage.Counters) uint64 { return c.Sets })
	counter("prony_storage_set_bytes_total", "Bytes of keys and values set in the store.", func(c storage.Counters) uint64 { return c.SetBytes })
	counter("prony_storage_deletes_total", "Keys deleted from the store.", func(c storage.Counters) uint64 { return c.Deletes })
	counter("prony_storage_gets_total", "Keys looked up in the store.", func(c storage.Counters) uint64 { return c.Gets })
	counter("prony_storage_scanned_keys_total", "Keys that scans of the store stepped over, including deleted ones.",
		func(c storage.Counters) uint64 { return c.Scanned })
	counter("prony_storage_task_bytes_total", "Bytes of tasks read from the store.", func(c storage.Counters) uint64 { return c.TaskBytes })
	counter("prony_storage_payload_bytes_total", "Bytes of payloads copied from the store into memory.",
		func(c storage.Counters) uint64 { return c.PayloadBytes })
	m.watchSteps(i, counters)
	counter("prony_storage_fsyncs_total", "Fsyncs of the store's files.", func(c storage.Counters) uint64 { return c.Fsyncs })
	counter("prony_storage_log_fsyncs_total", "Fsyncs of the store's write-ahead log: those of commits, and one when a log file ends.",
		func(c storage.Counters) uint64 { return c.LogFsyncs })
	m.seconds("prony_storage_fsync_seconds_total", "Time that fsyncs of the store's files took.", shardLabel(i),
		func() time.Duration { return counters(i).FsyncTime })
	counter("prony_key_filter_new_total", "Idempotency keys that the filter in memory recognized as new, without reading the store.",
		func(c storage.Counters) uint64 { return c.KeysNew })
	counter("prony_key_filter_hits_total", "Idempotency keys that were found, in memory or in the store.",
		func(c storage.Counters) uint64 { return c.KeysFound })
	counter("prony_key_filter_false_hits_total", "New idempotency keys that were looked up in the store: the filter had a false positive, was full, or had no memory for a table.",
		func(c storage.Counters) uint64 { return c.KeysInVain })
	m.gauge("prony_key_filter_bytes", "Memory of the filter of idempotency keys.", shardLabel(i), func() float64 { return float64(counters(i).KeyFilterBytes) })
	m.gauge("prony_key_filter_keys", "Idempotency keys added since the start that the filter contains.", shardLabel(i), func() float64 { return float64(counters(i).KeyFilterKeys) })
}

func (m *Metrics) watchSteps(i int, counters func(shard int) storage.Counters) {
	for _, step := range storage.Steps() {
		labels := shardLabel(i)
		labels["step"] = step.String()
		counter := func(name, help string, value func(*storage.Operations) uint64) {
			m.counter("prony_storage_step_"+name, help, labels, func() uint64 {
				c := counters(i)
				return value(&c.Steps[step])
			})
		}
		counter("sets_total", "Keys set in the store for a step of the cycle.", func(o *storage.Operations) uint64 { return o.Sets })
		counter("set_bytes_total", "Bytes of keys and values set in the store for a step of the cycle.", func(o *storage.Operations) uint64 { return o.SetBytes })
		counter("deletes_total", "Keys deleted from the store for a step of the cycle.", func(o *storage.Operations) uint64 { return o.Deletes })
		counter("gets_total", "Keys looked up in the store for a step of the cycle.", func(o *storage.Operations) uint64 { return o.Gets })
		counter("scanned_keys_total", "Keys that scans of the store stepped over for a step of the cycle, including deleted ones.",
			func(o *storage.Operations) uint64 { return o.Scanned })
		counter("encodes_total", "Records encoded for a step of the cycle.", func(o *storage.Operations) uint64 { return o.Encodes })
		counter("encoded_bytes_total", "Bytes of records encoded for a step of the cycle, without their keys.",
			func(o *storage.Operations) uint64 { return o.EncodedBytes })
		counter("decodes_total", "Records decoded for a step of the cycle.", func(o *storage.Operations) uint64 { return o.Decodes })
	}
}

type pebbleCollector struct {
	stores  func() []storage.PebbleMetrics // returns one element per shard
	figures []pebbleFigure
}

type pebbleFigure struct {
	desc  *prometheus.Desc // label: shard
	kind  prometheus.ValueType
	value func(*storage.PebbleMetrics) float64
}

func newPebbleCollector(stores func() []storage.PebbleMetrics) *pebbleCollector {
	c := &pebbleCollector{stores: stores}
	figure := func(kind prometheus.ValueType, name, help string, value func(*storage.PebbleMetrics) float64) {
		c.figures = append(c.figures, pebbleFigure{prometheus.NewDesc(name, help, []string{"shard"}, nil), kind, value})
	}
	add := func(kind prometheus.ValueType, name, help string, value func(*storage.PebbleMetrics) float64) {
		figure(kind, "prony_pebble_"+name, help, value)
	}
	young := func(kind prometheus.ValueType, name, help string, value func(*storage.Young) float64) {
		figure(kind, "prony_storage_young_"+name, help, func(m *storage.PebbleMetrics) float64 { return value(&m.Young) })
	}
	const counter, gauge = prometheus.CounterValue, prometheus.GaugeValue
	add(counter, "flushes_total", "Memtables written to tables.", func(m *storage.PebbleMetrics) float64 { return float64(m.Flushes) })
	add(counter, "flushed_bytes_total", "Bytes of tables that flushes wrote.", func(m *storage.PebbleMetrics) float64 { return float64(m.FlushedBytes) })
	add(counter, "compactions_total", "Compactions of tables.", func(m *storage.PebbleMetrics) float64 { return float64(m.Compactions) })
	add(counter, "compacted_bytes_total", "Bytes of tables that compactions wrote.", func(m *storage.PebbleMetrics) float64 { return float64(m.CompactedBytes) })
	add(counter, "compaction_seconds_total", "Time that compactions took.", func(m *storage.PebbleMetrics) float64 { return m.CompactionSeconds })
	add(gauge, "compaction_debt_bytes", "Estimated bytes that still need compaction.", func(m *storage.PebbleMetrics) float64 { return float64(m.CompactionDebt) })
	add(counter, "wal_bytes_total", "Bytes written to the write-ahead log.", func(m *storage.PebbleMetrics) float64 { return float64(m.LogBytes) })
	add(gauge, "memtable_bytes", "Memory allocated to memtables.", func(m *storage.PebbleMetrics) float64 { return float64(m.MemTableBytes) })
	add(gauge, "memtables", "Memtables, including those that wait to be flushed.", func(m *storage.PebbleMetrics) float64 { return float64(m.MemTables) })
	add(gauge, "tables", "Tables.", func(m *storage.PebbleMetrics) float64 { return float64(m.Tables) })
	add(gauge, "table_bytes", "Bytes of tables.", func(m *storage.PebbleMetrics) float64 { return float64(m.TableBytes) })
	add(gauge, "tombstones", "Estimated deletions that have not been compacted with the deleted keys.", func(m *storage.PebbleMetrics) float64 { return float64(m.Tombstones) })
	add(gauge, "read_amplification", "Tables and levels that a lookup may have to read.", func(m *storage.PebbleMetrics) float64 { return float64(m.ReadAmplification) })
	add(counter, "cache_hits_total", "Table blocks read from the cache, for all shards together.", func(m *storage.PebbleMetrics) float64 { return float64(m.CacheHits) })
	add(counter, "cache_misses_total", "Table blocks read from files, for all shards together.", func(m *storage.PebbleMetrics) float64 { return float64(m.CacheMisses) })
	add(counter, "write_stalls_total", "Times that flushes or compactions delayed commits.", func(m *storage.PebbleMetrics) float64 { return float64(m.WriteStalls) })
	add(counter, "write_stall_seconds_total", "Time that commits were delayed by flushes or compactions.", func(m *storage.PebbleMetrics) float64 { return m.StallSeconds })
	young(gauge, "records", "Tasks and leases that are only in the log.", func(y *storage.Young) float64 { return float64(y.Records) })
	young(gauge, "bytes", "Memory of tasks and leases that are only in the log.", func(y *storage.Young) float64 { return float64(y.Bytes) })
	young(gauge, "logs", "Closed logs kept for tasks and leases that are only in the log.", func(y *storage.Young) float64 { return float64(y.LogsKept) })
	young(counter, "put_total", "Tasks and leases that were written only to the log.", func(y *storage.Young) float64 { return float64(y.Put) })
	young(counter, "stored_total", "Tasks and leases that were only in the log and then written to the store: their log was due for removal, or memory was short.",
		func(y *storage.Young) float64 { return float64(y.Stored) })
	young(counter, "retirements_total", "Times that all tasks and leases of the closed logs had ended or were written to the store.",
		func(y *storage.Young) float64 { return float64(y.Retirements) })
	return c
}

// Describe implements prometheus.Collector.
func (c *pebbleCollector) Describe(out chan<- *prometheus.Desc) {
	for _, f := range c.figures {
		out <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (c *pebbleCollector) Collect(out chan<- prometheus.Metric) {
	for i, m := range c.stores() {
		for _, f := range c.figures {
			out <- prometheus.MustNewConstMetric(f.desc, f.kind, f.value(&m), strconv.Itoa(i))
		}
	}
}
