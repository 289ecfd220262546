package queue

// Config bounds a State and sets its defaults. The zero value of a field means the default that
// DefaultConfig gives.
type Config struct {
	LeaseMs       uint64 // the lease of a claim when neither it nor the task names one
	MaxAttempts   uint32 // when the task names none
	BackoffMs     uint64 // before the second attempt; it doubles with each further one
	BackoffMsMax  uint64
	Queues        int   // how many queues the shard may hold
	WindowTasks   int   // how many fresh, and how many returned, tasks a lane keeps in memory
	WindowsTasks  int   // how many fresh, and how many returned, tasks all windows keep in memory together, beside each lane's windowFloor
	CacheBytesMax int64 // how many bytes of payloads the windows keep in memory together
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		LeaseMs:       30_000,
		MaxAttempts:   20,
		BackoffMs:     1_000,
		BackoffMsMax:  600_000,
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
	c.BackoffMs = orDefault(c.BackoffMs, d.BackoffMs)
	c.BackoffMsMax = orDefault(c.BackoffMsMax, d.BackoffMsMax)
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

// backoffMs returns how long a task waits after its attempt-th attempt failed: exponential, with a
// jitter of up to a quarter so that tasks that failed together do not return together. The jitter
// is a function of the task and the attempt, so that the decision stays a pure one.
func (c *Config) backoffMs(ref Ref, attempt uint32) uint64 {
	wait := c.BackoffMs
	for i := uint32(1); i < attempt && wait < c.BackoffMsMax; i++ {
		wait *= 2
	}
	wait = min(wait, c.BackoffMsMax)
	return wait - mix(ref.Seq^uint64(attempt)<<48^uint64(ref.Queue)<<16)%(wait/4+1)
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
