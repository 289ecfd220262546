package queue

// Backoff says how long a task waits after a failed attempt. A zero field means the next policy's
// value: the task's, then its queue's, then the server's.
type Backoff struct {
	InitialMs         uint64 // after the first attempt
	MaxMs             uint64
	MultiplierPercent uint32 // of the wait, with each further attempt: 100 keeps it, 200 doubles it
	JitterPercent     uint32 // up to how much of the wait is taken off it, at random
}

// or fills in the zero fields.
func (b Backoff) or(d Backoff) Backoff {
	return Backoff{
		InitialMs:         orDefault(b.InitialMs, d.InitialMs),
		MaxMs:             orDefault(b.MaxMs, d.MaxMs),
		MultiplierPercent: orDefault(b.MultiplierPercent, d.MultiplierPercent),
		JitterPercent:     orDefault(b.JitterPercent, d.JitterPercent),
	}
}

// waitMs returns how long a task waits after its attempt-th attempt failed. The jitter keeps tasks that
// failed together from returning together; it is a function of the task and the attempt, so that the
// decision stays a pure one.
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

// Placement says which shards a queue's tasks go to. The state machine of one shard only stores it.
type Placement uint8

// The placements.
const (
	Spread  Placement = iota // each batch goes to one shard, round robin
	Ordered                  // all tasks go to one shard
)

// Policy is what holds for a queue's tasks unless they set options of their own. A zero field means the server's default.
type Policy struct {
	Placement   Placement
	MaxAttempts uint32
	LeaseMs     uint64
	Backoff     Backoff
	TTLMs       uint64 // 0: tasks do not expire
	RetentionMs uint64 // of results; 0: they are not kept
}

// Extras are options that few tasks have. They are immutable, and tasks share them; nil means that the task has no such option.
type Extras struct {
	Backoff     Backoff // over the server's
	RetentionMs uint64  // how long the result is kept; 0: not
	ExpiresAtMs int64   // when the task goes to the dead letters if it is not done; 0: never
}

// expired reports whether a task's time to live is over.
func (x *Extras) expired(now int64) bool {
	return x != nil && x.ExpiresAtMs != 0 && x.ExpiresAtMs <= now
}

// immortal returns the extras without a time to live.
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

// extras returns the options of a new task, from its own fields and its queue's policy.
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

// setPolicy also makes the Extras that all tasks without options of their own share.
func (q *Queue) setPolicy(p Policy) {
	q.record.Policy = p
	q.shared = Extras{Backoff: p.Backoff, RetentionMs: p.RetentionMs}.orNil()
}

// Configure sets the policy of a queue, and makes the queue if it does not exist. A version that is not above the current one changes
// nothing: if a change reached only some shards, the caller repeats it in all.
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

// Pause stops or resumes handing out the tasks of a queue. It makes the queue if it does not exist.
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
