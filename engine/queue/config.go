package queue

// Config contains the limits of a State and the defaults of its tasks. A field that is zero selects
// the value of DefaultConfig.
type Config struct {
	LeaseMs     uint64 // if neither the claim nor the task sets it
	MaxAttempts uint32 // if the task does not set it
	Backoff     Backoff
	KeyWindowMs uint64 // how long an idempotency key is stored
	Queues      int    // maximum number of queues in the shard
	// QueuesPerTenant is the maximum number of queues of one tenant in the shard.
	QueuesPerTenant int
	// RecurringPerTenant is the maximum number of recurring tasks of one tenant in the shard.
	RecurringPerTenant int
	RecurringBytesMax  int64 // maximum charge of all recurring tasks in the shard, which are in memory
	// IdleMs is the time after which an unused queue is deleted, if it is empty and was never
	// configured.
	IdleMs uint64
	// WindowTasks limits the number of fresh tasks that one lane keeps in memory. The same limit
	// applies separately to its returned tasks.
	WindowTasks int
	// WindowsTasks limits the number of fresh tasks that all lanes together keep in memory. The
	// same limit applies separately to returned tasks. Each lane may keep windowFloor tasks of each
	// kind even if the limit is reached.
	WindowsTasks  int
	CacheBytesMax int64 // maximum payload bytes that all windows together keep in memory
	// RefillBytesMax limits the bytes of tasks that one Refill reads. The last task may exceed it.
	RefillBytesMax int64
	// LookMax limits the number of stored tasks that one Refill visits, and the number of due tasks
	// that one turn counts.
	LookMax int
	// SweepMax limits the number of expired leases that one turn ends. It also limits the number of
	// tasks that one turn moves to the dead letters because their time to live has ended.
	SweepMax int

	// Reserve makes the state write a reservation of ids and tokens to the journal before it issues
	// them. It must be set for a store that may lose acknowledged commits.
	Reserve bool

	// historyPart is the number of attempts in a part of a History; smaller in tests.
	historyPart uint32
	// finishedWindow is the number of entries of a queue's history whose sizes are in memory; smaller
	// in tests.
	finishedWindow int
	// turnMax limits the sum of leases that one turn grants and closed waiters that it removes;
	// smaller in tests.
	turnMax int
	// cancelledMax is the number of cancelled leases that a state remembers; smaller in tests.
	cancelledMax int
	runsMax      int   // number of due times of recurring tasks that one Tick settles; smaller in tests
	trimAfterMs  int64 // idle time after which a queue frees the memory of its windows

	// Shards is the number of shards that store the tasks of a Spread queue, and Shard the number of
	// this one: each applies its part of the queue's limit. 0 shards are 1.
	Shard, Shards int

	// parkedMax limits the number of parked tasks of a queue; smaller in tests. The limit of all
	// queues is WindowsTasks.
	parkedMax int

	// Deliveries, if not nil, returns an empty list for the next Grant, unless the grant belongs to
	// a Once claim. It allows the caller of Dispatch to reuse the lists of earlier grants.
	Deliveries func() []Delivery
	// Growth, if not nil, returns an error while the disk has no space for new tasks of recurring
	// tasks.
	Growth func() error
	// Account returns a tenant's account; nil means that there are no quotas.
	Account func(tenant string) Account
	// Counting, if not nil, is called with true once the accounts include the contents of the
	// state, and with false before LeaveAccounts subtracts them.
	Counting func(bool)
}

// TurnMax approximately limits the number of items of each kind that one turn of a shard processes:
// tasks and settlements of commands, expired leases, and granted leases. Later turns process the
// rest.
const TurnMax = 512

// refillMax limits the number of records that one Refill of a window requests, since one turn
// applies all of them to the state.
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

		RecurringPerTenant: 10_000,
		RecurringBytesMax:  32 << 20,

		WindowTasks:    4_096,
		WindowsTasks:   1 << 20,
		CacheBytesMax:  64 << 20,
		RefillBytesMax: 8 << 20,
		historyPart:    AttemptsKept / 2,
		finishedWindow: 256,
		turnMax:        TurnMax,
		LookMax:        4_096,
		SweepMax:       TurnMax / 2,
		cancelledMax:   4_096,
		trimAfterMs:    10_000,
		runsMax:        TurnMax / 2,
		parkedMax:      1 << 16,
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
	c.cancelledMax = orDefault(c.cancelledMax, d.cancelledMax)
	c.RecurringPerTenant = orDefault(c.RecurringPerTenant, d.RecurringPerTenant)
	c.RecurringBytesMax = orDefault(c.RecurringBytesMax, d.RecurringBytesMax)
	c.runsMax = orDefault(c.runsMax, d.runsMax)
	c.parkedMax = orDefault(c.parkedMax, d.parkedMax)
	c.trimAfterMs = orDefault(c.trimAfterMs, d.trimAfterMs)
	c.finishedWindow = orDefault(c.finishedWindow, d.finishedWindow)
	c.historyPart = orDefault(c.historyPart, d.historyPart)
	c.turnMax = orDefault(c.turnMax, d.turnMax)
	c.LookMax = orDefault(c.LookMax, d.LookMax)
	c.SweepMax = orDefault(c.SweepMax, d.SweepMax)
	return c
}

// windowFloor is the number of tasks that a lane may keep in memory even if all windows together
// exceed WindowsTasks. Without it, a busy queue could have to read the store for every single task.
func (c *Config) windowFloor() int { return max(1, c.WindowTasks/64) }

func orDefault[T comparable](v, d T) T {
	var zero T
	if v == zero {
		return d
	}
	return v
}
