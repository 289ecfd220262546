package queue

// Backoff determines how long a task waits after a failed attempt. A field that is zero selects the
// value of the next level: a task uses the value of its queue, and a queue uses the value of the
// server.
type Backoff struct {
	InitialMs uint64 // wait after the first attempt
	MaxMs     uint64
	// MultiplierPercent is the ratio, in percent, of each wait to the previous wait: 100 means that
	// the wait is constant, 200 that it doubles.
	MultiplierPercent uint32
	JitterPercent     uint32 // maximum reduction of the wait by jitter
}

func (b Backoff) or(d Backoff) Backoff {
	return Backoff{
		InitialMs:         orDefault(b.InitialMs, d.InitialMs),
		MaxMs:             orDefault(b.MaxMs, d.MaxMs),
		MultiplierPercent: orDefault(b.MultiplierPercent, d.MultiplierPercent),
		JitterPercent:     orDefault(b.JitterPercent, d.JitterPercent),
	}
}

// waitMs returns how long a task waits after the failure of the given attempt, whose number starts
// at 1. The jitter prevents tasks that failed together from returning together. It is computed from
// the task and the attempt, so that the decision is deterministic.
func (b Backoff) waitMs(ref Ref, attempt uint32) uint64 {
	wait := min(b.InitialMs, b.MaxMs)
	for i := uint32(1); i < attempt && wait < b.MaxMs && b.MultiplierPercent > 100; i++ {
		wait = min(wait*uint64(b.MultiplierPercent)/100, b.MaxMs)
	}
	off := wait * uint64(b.JitterPercent) / 100
	return wait - mix(ref.Seq^uint64(attempt)<<48^uint64(ref.Queue)<<16)%(off+1)
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Placement determines which shards store a queue's tasks. The state machine of a shard only stores
// the placement; package shard applies it.
type Placement uint8

// The placements.
const (
	Spread  Placement = iota // each batch goes to one shard, round robin
	Ordered                  // all tasks go to one shard
)

// Policy contains the default options for the tasks of a queue. A task can override them. A field
// that is zero selects the server's default, unless its comment says otherwise.
type Policy struct {
	Placement   Placement
	MaxAttempts uint32
	LeaseMs     uint64
	Backoff     Backoff
	TTLMs       uint64 // time to live of tasks; 0 means that they do not expire
	RetentionMs uint64 // how long results are stored; 0 means that they are not stored
	KeyWindowMs uint64 // how long a task holds its key
	// HistoryTasksMax is the number of finished tasks in the history that each shard keeps; 0 means
	// HistoryTasksLimit. HistoryRetentionMs is how long it keeps them; 0 means no limit.
	// If both are 0, the queue has no history.
	HistoryTasksMax    uint32
	HistoryRetentionMs uint64
	Limit              Limit // of the leases of the queue
	GroupLimit         Limit // of the leases of each group
}

// Extras contains options that few tasks have. It is immutable and shared between tasks. Nil means
// that a task has none of these options.
type Extras struct {
	Common      *Common  // nil if all of its fields are zero
	ExpiresAtMs int64    // the end of the time to live; 0 means that it never ends
	Unique      *Unique  // nil if the task has no unique key
	Group       uint64   // HashGroup of the task's group; 0 if it has none
	Depends     *Depends // nil if the task neither waited for tasks nor is in a batch
}

// Common contains those extras that most tasks of a queue have in common, because they are those of
// its policy. A task with a group or a time to live refers to them, so that its own Extras are small.
type Common struct {
	Backoff     Backoff // a field that is zero selects the server's value
	RetentionMs uint64  // how long the result is stored; 0 means that it is not stored
}

// NewExtras returns extras with their Common, in one allocation. It returns nil if all are zero.
func NewExtras(x Extras, c Common) *Extras {
	if c == (Common{}) {
		return x.orNil()
	}
	both := &struct {
		extras Extras
		common Common
	}{x, c}
	both.extras.Common = &both.common
	return &both.extras
}

// Shared returns the extras in Common.
func (x *Extras) Shared() Common {
	if x == nil || x.Common == nil {
		return Common{}
	}
	return *x.Common
}

func (x *Extras) group() uint64 {
	if x == nil {
		return 0
	}
	return x.Group
}

func (x *Extras) unique() *Unique {
	if x == nil {
		return nil
	}
	return x.Unique
}

func (x *Extras) depends() *Depends {
	if x == nil {
		return nil
	}
	return x.Depends
}

func (x *Extras) expired(now int64) bool {
	return x != nil && x.ExpiresAtMs != 0 && x.ExpiresAtMs <= now
}

func (x *Extras) immortal() *Extras {
	if x == nil || x.ExpiresAtMs == 0 {
		return x
	}
	y := *x
	y.ExpiresAtMs = 0
	return y.orNil()
}

func (x Extras) orNil() *Extras {
	if x == (Extras{}) {
		return nil
	}
	y := x
	return &y
}

// extrasBlock contains the Extras of the next tasks with a group. They are allocated together, because
// an allocation for each task costs more than counting the leases of its group. Extras in use keep
// their block in memory, so a task that waits for its group, or for its next attempt, gets a copy.
type extrasBlock struct{ unused []Extras }

const extrasBlockTasks = 16

func (b *extrasBlock) next() *Extras {
	if len(b.unused) == 0 {
		b.unused = make([]Extras, extrasBlockTasks)
	}
	x := &b.unused[0]
	b.unused = b.unused[1:]
	return x
}

// own returns a copy of extras that may be part of a block.
func (x *Extras) own() *Extras {
	if x == nil || x.Group == 0 {
		return x
	}
	y := *x
	return &y
}

func (s *State) extras(q *Queue, n *NewTask, u *Unique) *Extras {
	ttl := orDefault(n.TTLMs, q.record.Policy.TTLMs)
	if n.Backoff == (Backoff{}) && n.RetentionMs == 0 && ttl == 0 && u == nil && n.Group == 0 && n.Dependencies == nil {
		return q.shared
	}
	x := Extras{Unique: u, Group: n.Group, Depends: n.Dependencies.stored()}
	if ttl > 0 {
		x.ExpiresAtMs = s.nowMs + int64(ttl)
	}
	switch {
	case n.Backoff != (Backoff{}) || n.RetentionMs != 0:
		p := &q.record.Policy
		return NewExtras(x, Common{Backoff: n.Backoff.or(p.Backoff), RetentionMs: orDefault(n.RetentionMs, p.RetentionMs)})
	case q.shared != nil:
		x.Common = q.shared.Common
	}
	if x.Group == 0 {
		return x.orNil()
	}
	in := s.extrasBlock.next()
	*in = x
	return in
}

// setPolicy sets the policy, and computes the Extras for all tasks that set no option themselves.
func (q *Queue) setPolicy(p Policy) {
	q.record.Policy = p
	q.shared = NewExtras(Extras{}, Common{Backoff: p.Backoff, RetentionMs: p.RetentionMs})
}

// Configure sets the policy of a queue, and creates the queue if it does not exist. If version is
// not higher than that of the current policy, Configure changes nothing. If a change reached only
// some shards, the caller can therefore repeat it in all shards.
func (s *State) Configure(tenant, name string, p Policy, version uint64) error {
	q, err := s.queue(tenant, name)
	if err != nil {
		return err
	}
	if version > q.record.PolicyVersion {
		q.record.PolicyVersion = version
		q.setPolicy(p)
		s.resumeHistory(q)
		s.limiter.configure(q)
		s.touch(q)
	}
	return nil
}

// Pause stops (true) or resumes (false) the delivery of a queue's tasks. It creates the queue if it
// does not exist.
func (s *State) Pause(tenant, name string, paused bool) error {
	q, err := s.queue(tenant, name)
	if err != nil {
		return err
	}
	if q.record.Paused != paused {
		q.record.Paused = paused
		s.touch(q)
		s.heat(q)
	}
	return nil
}
