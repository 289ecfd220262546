package queue

// Config bounds a State and sets its defaults. The zero value of a field means the default that
// DefaultConfig gives.
type Config struct {
	LeaseMs       uint64 // the lease of a claim when neither it nor the task names one
	MaxAttempts   uint32 // when the task names none
	Backoff       Backoff
	KeyWindowMs   uint64 // how long an idempotency key is remembered
	Queues        int    // how many queues the shard may hold
	WindowTasks   int    // how many fresh, and how many returned, tasks a lane keeps in memory
	WindowsTasks  int    // how many fresh, and how many returned, tasks all windows keep in memory together, beside each lane's windowFloor
	CacheBytesMax int64  // how many bytes of payloads the windows keep in memory together

	// Account returns a tenant's account; nil means that no quotas are kept.
	Account func(tenant string) Account
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		LeaseMs:       30_000,
		MaxAttempts:   20,
		Backoff:       Backoff{InitialMs: 1_000, MaxMs: 600_000, MultiplierPercent: 200, JitterPercent: 25},
		KeyWindowMs:   600_000,
		Queues:        100_000,
		WindowTasks:   4_096,
		WindowsTasks:  1 << 20,
		CacheBytesMax: 64 << 20,
	}
}

func (c Config) withDefaults() Config {
	d := DefaultConfig()
	c.LeaseMs = orDefault(c.LeaseMs, d.LeaseMs)
	c.MaxAttempts = orDefault(c.MaxAttempts, d.MaxAttempts)
	c.Backoff = c.Backoff.or(d.Backoff)
	c.KeyWindowMs = orDefault(c.KeyWindowMs, d.KeyWindowMs)
	c.Queues = orDefault(c.Queues, d.Queues)
	c.WindowTasks = orDefault(c.WindowTasks, d.WindowTasks)
	c.WindowsTasks = orDefault(c.WindowsTasks, d.WindowsTasks)
	c.CacheBytesMax = orDefault(c.CacheBytesMax, d.CacheBytesMax)
	return c
}

// windowFloor is how many tasks a lane may keep though all windows together are full: a queue that
// is worked on must not read the store for every single task.
func (c *Config) windowFloor() int { return max(1, c.WindowTasks/64) }

func orDefault[T comparable](v, d T) T {
	var zero T
	if v == zero {
		return d
	}
	return v
}
