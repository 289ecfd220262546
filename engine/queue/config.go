package queue

// Config bounds a State and sets its defaults. A zero field means the value of DefaultConfig.
type Config struct {
	LeaseMs     uint64 // if neither the claim nor the task sets it
	MaxAttempts uint32 // if the task does not set it
	Backoff     Backoff
	KeyWindowMs uint64 // how long an idempotency key is stored
	Queues      int    // bounds the queues of the shard
	// QueuesPerTenant bounds the queues of one tenant in the shard.
	QueuesPerTenant int
	// IdleMs is the time from its last use until an empty, never configured queue is deleted.
	IdleMs uint64
	// WindowTasks bounds the fresh, and also the returned, tasks that a lane keeps in memory.
	WindowTasks int
	// WindowsTasks bounds the fresh, and also the returned, tasks that all lanes keep in memory,
	// apart from each lane's windowFloor.
	WindowsTasks  int
	CacheBytesMax int64 // bounds the payload bytes that all windows keep in memory
	// RefillBytesMax bounds the bytes of tasks that one Refill reads. The last task may exceed it.
	RefillBytesMax int64
	// LookMax bounds the stored tasks that one Refill visits, and the due tasks that one turn
	// counts.
	LookMax int
	// SweepMax bounds the expired leases, and also the tasks with an ended time to live, that one
	// turn handles.
	SweepMax int

	// Reserve makes the state reserve numbers in the journal before it issues them. It is for a
	// store that may lose acknowledged commits.
	Reserve bool

	// historyPart is the size of a part of a History; smaller in tests.
	historyPart uint32
	// turnMax bounds the leases that one turn grants plus the closed waiters that it removes;
	// smaller in tests.
	turnMax     int
	trimAfterMs int64 // idle time after which a queue frees the memory of its windows

	// Deliveries, if not nil, returns an empty list for the next Grant of a waiter that may get
	// several grants. It allows the caller of Dispatch to reuse the lists of earlier grants.
	Deliveries func() []Delivery
	// Account returns a tenant's account; nil means that there are no quotas.
	Account func(tenant string) Account
	// Counting, if not nil, is called with true once the accounts include the contents of the
	// state, and with false before LeaveAccounts subtracts them.
	Counting func(bool)
}

// TurnMax is the approximate bound of items that one turn of a shard handles for each kind of work:
// tasks and settlements of commands, expired leases, and granted leases. Later turns handle the
// rest.
const TurnMax = 512

// refillMax bounds the records that one Refill of a window requests. One turn applies them to the
// state.
const refillMax = 2 * TurnMax

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		LeaseMs:     30_000,
		MaxAttempts: 20,
		Backoff:     Backoff{InitialMs: 1_000, MaxMs: 600_000, MultiplierPercent: 200, JitterPercent: 25},
		KeyWindowMs: 600_000,
		Queues:      100_000,

		QueuesPerTenant: 10_000,
		IdleMs:          24 * 3600_000,

		WindowTasks:    4_096,
		WindowsTasks:   1 << 20,
		CacheBytesMax:  64 << 20,
		RefillBytesMax: 8 << 20,
		historyPart:    AttemptsKept / 2,
		turnMax:        TurnMax,
		LookMax:        4_096,
		SweepMax:       TurnMax / 2,
		trimAfterMs:    10_000,
	}
}

func (c Config) withDefaults() Config {
	d := DefaultConfig()
	c.LeaseMs = orDefault(c.LeaseMs, d.LeaseMs)
	c.MaxAttempts = orDefault(c.MaxAttempts, d.MaxAttempts)
	c.Backoff = c.Backoff.or(d.Backoff)
	c.KeyWindowMs = orDefault(c.KeyWindowMs, d.KeyWindowMs)
	c.Queues = orDefault(c.Queues, d.Queues)
	c.QueuesPerTenant = orDefault(c.QueuesPerTenant, d.QueuesPerTenant)
	c.IdleMs = orDefault(c.IdleMs, d.IdleMs)
	c.WindowTasks = orDefault(c.WindowTasks, d.WindowTasks)
	c.WindowsTasks = orDefault(c.WindowsTasks, d.WindowsTasks)
	c.CacheBytesMax = orDefault(c.CacheBytesMax, d.CacheBytesMax)
	c.RefillBytesMax = orDefault(c.RefillBytesMax, d.RefillBytesMax)
	c.trimAfterMs = orDefault(c.trimAfterMs, d.trimAfterMs)
	c.historyPart = orDefault(c.historyPart, d.historyPart)
	c.turnMax = orDefault(c.turnMax, d.turnMax)
	c.LookMax = orDefault(c.LookMax, d.LookMax)
	c.SweepMax = orDefault(c.SweepMax, d.SweepMax)
	return c
}

// windowFloor is the number of tasks that a lane may keep even if all windows together are full. A
// busy queue must not read the store for every single task.
func (c *Config) windowFloor() int { return max(1, c.WindowTasks/64) }

func orDefault[T comparable](v, d T) T {
	var zero T
	if v == zero {
		return d
	}
	return v
}
