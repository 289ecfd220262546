package queue

// Backoff determines how long a task waits after a failed attempt. A zero field means the value of
// the next level: the task's, then its queue's, then the server's.
type Backoff struct {
	InitialMs uint64 // after the first attempt
	MaxMs     uint64
	// MultiplierPercent is the growth of the wait with each further attempt: 100 is constant, 200
	// doubles it.
	MultiplierPercent uint32
	JitterPercent     uint32 // largest random reduction of the wait
}

// or returns b with zero fields replaced by those of d.
func (b Backoff) or(d Backoff) Backoff {
	return Backoff{
		InitialMs:         orDefault(b.InitialMs, d.InitialMs),
		MaxMs:             orDefault(b.MaxMs, d.MaxMs),
		MultiplierPercent: orDefault(b.MultiplierPercent, d.MultiplierPercent),
		JitterPercent:     orDefault(b.JitterPercent, d.JitterPercent),
	}
}

// waitMs returns how long a task waits after its attempt-th attempt failed. The jitter prevents
// tasks that failed together from returning together. It is a function of the task and the attempt,
// so that the decision is deterministic.
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

// Placement determines the shards of a queue's tasks. The state machine of one shard only stores
// it.
type Placement uint8

// The placements.
const (
	Spread  Placement = iota // each batch goes to one shard, round robin
	Ordered                  // all tasks go to one shard
)

// Policy has the options of a queue's tasks that do not set these options themselves. A zero field
// means the server's default.
type Policy struct {
	Placement   Placement
	MaxAttempts uint32
	LeaseMs     uint64
	Backoff     Backoff
	TTLMs       uint64 // 0 means that tasks do not expire
	RetentionMs uint64 // of results; 0 means that they are not stored
}

// Extras are options that few tasks have. They are immutable and shared between tasks; nil means
// that a task has none of them.
type Extras struct {
	Backoff     Backoff // zero fields mean the server's values
	RetentionMs uint64  // of the result; 0 means that it is not stored
	ExpiresAtMs int64   // the end of the time to live; 0 means none
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
	return &x
}

// extras returns the options of a new task, from its fields and its queue's policy.
func (q *Queue) extras(n *NewTask, now int64) *Extras {
	ttl := orDefault(n.TTLMs, q.record.Policy.TTLMs)
	if n.Backoff == (Backoff{}) && n.RetentionMs == 0 && ttl == 0 {
		return q.shared
	}
	x := Extras{
		Backoff:     n.Backoff.or(q.record.Policy.Backoff),
		RetentionMs: orDefault(n.RetentionMs, q.record.Policy.RetentionMs),
	}
	if ttl > 0 {
		x.ExpiresAtMs = now + int64(ttl)
	}
	return x.orNil()
}

// setPolicy sets the policy, and the Extras that all tasks without options share.
func (q *Queue) setPolicy(p Policy) {
	q.record.Policy = p
	q.shared = Extras{Backoff: p.Backoff, RetentionMs: p.RetentionMs}.orNil()
}

// Configure sets the policy of a queue, and creates the queue if it does not exist. A version that
// is not above the current one has no effect, so the caller can repeat a change in all shards if it
// reached only some of them.
func (s *State) Configure(tenant, name string, p Policy, version uint64) error {
	q, err := s.queue(tenant, name)
	if err != nil {
		return err
	}
	if version > q.record.PolicyVersion {
		q.record.PolicyVersion = version
		q.setPolicy(p)
		s.touch(q)
	}
	return nil
}

// Pause stops or resumes the delivery of a queue's tasks. It creates the queue if it does not
// exist.
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
