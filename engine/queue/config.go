package queue

// Config bounds a State and sets its defaults. The zero value of a field means the default that
// DefaultConfig gives.
type Config struct {
	LeaseMs     uint64 // the lease of a claim when neither it nor the task names one
	MaxAttempts uint32 // when the task names none
	Backoff     Backoff
	KeyWindowMs uint64 // how long an idempotency key is remembered
	Queues      int    // how many queues the shard may hold
	// QueuesPerTenant is how many queues one tenant may have in the shard.
	QueuesPerTenant int
	// IdleMs is for how long an empty queue that was never configured is kept after its last use.
	IdleMs        uint64
	WindowTasks   int   // bounds the fresh tasks, and the returned tasks, that a lane keeps in memory
	WindowsTasks  int   // bounds the fresh tasks, and the returned tasks, that all lanes keep in memory together, beside each lane's windowFloor
	CacheBytesMax int64 // how many bytes of payloads the windows keep in memory together
	// RefillBytesMax is how many bytes of tasks one Refill reads; the last task may exceed it.
	RefillBytesMax int64
	// LookMax bounds the stored tasks that one Refill visits, and the due tasks that one turn counts.
	LookMax int
	// SweepMax bounds the expired leases, and the tasks whose time to live is over, that one turn ends.
	SweepMax int

	// Reserve makes the state reserve numbers in the journal before it issues them. It is for a store that may lose commits
	// whose answers were released.
	Reserve bool

	historyPart uint32 // see History; smaller in tests
	turnMax     int    // how many leases one turn grants, and how many closed waiters it leaves out; smaller in tests
	trimAfterMs int64  // how long after its last use a queue gives back the memory of its windows; other values in tests

	// Deliveries, if not nil, returns an empty list for the next Grant of a waiter that may have several. The caller of Dispatch may so reuse
	// the lists of earlier grants.
	Deliveries func() []Delivery
	// Account returns a tenant's account; nil means that no quotas are kept.
	Account func(tenant string) Account
	// Counting, if not nil, is called with true once the accounts include what the state holds, and with false before LeaveAccounts
	// takes that out of the accounts.
	Counting func(bool)
}

// TurnMax is approximately how many items one turn of a shard handles of each kind of work: tasks and settlements of commands,
// expired leases, and granted leases. Later turns handle the rest.
const TurnMax = 512

// refillMax is how many records one Refill of a window asks for: one turn applies them to the state.
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
