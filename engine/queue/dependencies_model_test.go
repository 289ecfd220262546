package queue

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// chainTask is a task of a chainModel.
type chainTask struct {
	id       ID
	waitsFor []*chainTask // of After, and the members of its batch
	size     int          // of its batch
	dead     DeadDependency
	batch    *chainTask

	phase chainPhase
	was   [5]bool // the phases that it had, by chainPhase
	// freed is true if an operator made the task ready.
	freed bool
	// lost is true if the task may have died because of a dependency.
	lost bool
}

type chainPhase int

const (
	chainLives chainPhase = iota // fresh, returned or leased
	chainDone
	chainDead
	chainRemoved
)

func (c *chainTask) becomes(p chainPhase) { c.phase, c.was[p] = p, true }

// counted reports whether a dependency was ever in a state that counts as finished for c. A task that c
// names counts as missing if it is removed before its shard gets the Link.
func (c *chainTask) counted(d *chainTask) bool {
	return d.was[chainDone] || c.dead == RunAnyway && (d.was[chainDead] || d.was[chainRemoved]) || d.batch != c && d.was[chainRemoved]
}

// chainModel runs dependencies in several shards, whose messages are delivered at any time, and again.
type chainModel struct {
	shards   []*State
	journals []*mapJournal
	accounts []*fakeAccount
	cfg      []Config
	now      int64
	tasks    []*chainTask
	copies   []chainCopy // delivered messages, which an earlier leader may deliver again
}

type chainCopy struct {
	to       int
	messages []Message
}

func newChainModel(t *rapid.T) *chainModel {
	m := &chainModel{now: 1_000}
	for i := range 3 {
		a := &fakeAccount{tenant: "t", broken: t.Fatalf, tasksMax: math.MaxInt64, leasesMax: math.MaxInt64}
		m.accounts = append(m.accounts, a)
		m.cfg = append(m.cfg, Config{Shard: i, Shards: 3, MaxAttempts: 1, LeaseMs: 1 << 40, Account: func(string) Account { return a }})
		m.journals = append(m.journals, newMapJournal(t.Fatalf))
		m.shards = append(m.shards, nil)
		m.open(t, i)
	}
	return m
}

func (m *chainModel) open(t *rapid.T, i int) {
	s, err := New(m.cfg[i], m.journals[i], m.journals[i].recovered())
	if err != nil {
		t.Fatal(err)
	}
	m.shards[i] = s
	s.Tick(m.now)
}

func (m *chainModel) recover(t *rapid.T) {
	i := rapid.IntRange(0, 2).Draw(t, "shard")
	m.shards[i].LeaveAccounts()
	if a := m.accounts[i]; a.bytes != 0 || a.tasks != 0 {
		t.Fatalf("the old state leaves %+v in its account", *a)
	}
	m.open(t, i)
}

func (m *chainModel) stored(t *rapid.T, c *chainTask) (*State, *Stored) {
	s, found := m.journals[c.id.Shard].look(c.id.Ref)
	if !found {
		t.Fatalf("%+v is not stored", *c)
	}
	return m.shards[c.id.Shard], &s
}

func (m *chainModel) enqueue(t *rapid.T) {
	c := &chainTask{}
	n := NewTask{Queue: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "queue"), Payload: []byte("p")}
	var after []string
	batch := ""
	switch which := rapid.IntRange(0, 5).Draw(t, "kind"); {
	case which <= 1 && len(m.tasks) > 0:
		for range rapid.IntRange(1, 4).Draw(t, "after") {
			if d := rapid.SampledFrom(m.tasks).Draw(t, "task"); !slices.Contains(c.waitsFor, d) {
				c.waitsFor, after = append(c.waitsFor, d), append(after, d.id.String())
			}
		}
	case which == 2 || which == 3:
		var open []*chainTask
		for _, b := range m.tasks {
			if b.size > 0 {
				open = append(open, b)
			}
		}
		if len(open) > 0 {
			c.batch = rapid.SampledFrom(open).Draw(t, "batch")
			batch = c.batch.id.String()
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "last of a batch") == 0 {
		c.size = rapid.IntRange(1, 4).Draw(t, "size")
	}
	if len(after) > 0 || c.size > 0 {
		c.dead = rapid.SampledFrom([]DeadDependency{WaitForDead, RunAnyway, DieToo}).Draw(t, "policy")
	}
	if bad := n.Depend(after, uint32(c.size), batch, c.dead); bad != nil {
		t.Fatal(bad)
	}
	i := rapid.IntRange(0, 2).Draw(t, "shard")
	out := make([]Enqueued, 1)
	m.shards[i].Enqueue(m.now, "t", []NewTask{n}, out)
	if out[0].Err != nil {
		t.Fatal(out[0].Err)
	}
	c.id = ID{Shard: uint16(i), Ref: out[0].Ref}
	c.becomes(chainLives)
	if c.batch != nil {
		c.batch.waitsFor = append(c.batch.waitsFor, c)
	}
	m.tasks = append(m.tasks, c)
}

func (m *chainModel) draw(t *rapid.T, p chainPhase) *chainTask {
	var some []*chainTask
	for _, c := range m.tasks {
		if m.update(c); c.phase == p {
			some = append(some, c)
		}
	}
	if len(some) == 0 {
		return nil
	}
	return rapid.SampledFrom(some).Draw(t, "task")
}

// update notes that a task died because of a dependency.
func (m *chainModel) update(c *chainTask) {
	if d, dead := m.journals[c.id.Shard].dead[c.id.Ref]; dead && d.Reason == DependencyDied && c.phase == chainLives {
		c.lost = true
		c.becomes(chainDead)
	}
}

// settle completes or fails a ready task.
func (m *chainModel) settle(t *rapid.T) {
	i := rapid.IntRange(0, 2).Draw(t, "shard")
	s := m.shards[i]
	w, err := s.Subscribe(Claim{Tenant: "t", Queues: []string{"a", "b"}, Credit: rapid.IntRange(1, 3).Draw(t, "n"), Once: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var grants []Grant
	for {
		grants = append(grants, s.Dispatch(m.now, nil)...)
		refills := s.Refills()
		if len(refills) == 0 {
			break
		}
		for _, r := range refills {
			m.journals[i].answer(s, r)
		}
	}
	s.Unsubscribe(w)
	for _, g := range grants {
		for k := range g.Deliveries {
			d := &g.Deliveries[k]
			at := slices.IndexFunc(m.tasks, func(c *chainTask) bool { return c.id == ID{Shard: uint16(i), Ref: d.Ref} })
			c := m.tasks[at]
			m.early(t, c)
			a := Settlement{Ref: d.Ref, Token: d.Token, Action: Complete, Result: fmt.Append(nil, "result of ", at)}
			if rapid.IntRange(0, 2).Draw(t, "fail") == 0 {
				a.Action = Fail
			}
			out := make([]error, 1)
			s.Settle(m.now, "t", []Settlement{a}, out)
			if out[0] != nil {
				t.Fatal(out[0])
			}
			if a.Action == Fail {
				c.becomes(chainDead)
			} else {
				c.becomes(chainDone)
			}
		}
	}
}

// early fails if a task is claimed before the tasks that it waits for are finished.
func (m *chainModel) early(t *rapid.T, c *chainTask) {
	if c.freed || c.lost {
		return
	}
	counted, inBatch := 0, 0
	for _, d := range c.waitsFor {
		switch m.update(d); {
		case d.batch == c && c.counted(d):
			inBatch++
		case d.batch != c && !c.counted(d):
			t.Fatalf("%s is claimed, but waits for %s", c.id, d.id)
		default:
			counted++
		}
	}
	if inBatch < c.size {
		t.Fatalf("%s is claimed, but has %d of %d members", c.id, inBatch, c.size)
	}
}

func (m *chainModel) change(t *rapid.T) {
	switch rapid.SampledFrom([]string{"cancel", "purge", "redrive", "redrive", "free", "move"}).Draw(t, "change") {
	case "cancel":
		if c := m.draw(t, chainLives); c != nil && rapid.IntRange(0, 2).Draw(t, "really") == 0 {
			s, stored := m.stored(t, c)
			s.Cancel(stored)
			c.becomes(chainRemoved)
		}
	case "purge":
		if c := m.draw(t, chainDead); c != nil {
			s, stored := m.stored(t, c)
			s.PurgeDead(stored)
			c.becomes(chainRemoved)
		}
	case "redrive":
		if c := m.draw(t, chainDead); c != nil {
			s, stored := m.stored(t, c)
			if _, err := s.Redrive(stored); err != nil {
				t.Fatal(err)
			}
			c.becomes(chainLives)
		}
	case "free":
		if c := m.draw(t, chainLives); c != nil && rapid.IntRange(0, 3).Draw(t, "really") == 0 {
			s, stored := m.stored(t, c)
			s.Reschedule(stored, m.now)
			c.freed = true
		}
	case "move":
		if c := m.draw(t, chainLives); c != nil {
			s, stored := m.stored(t, c)
			s.Prioritize(stored, rapid.Uint8Range(0, MaxPriority).Draw(t, "priority"))
		}
	}
}

// deliver delivers some messages of a shard. Those to another shard may stay stored, as if the source
// failed before it removed them.
func (m *chainModel) deliver(t *rapid.T) {
	from, to := rapid.IntRange(0, 2).Draw(t, "from"), rapid.IntRange(0, 2).Draw(t, "to")
	m.pass(t, from, to, rapid.IntRange(1, 5).Draw(t, "messages"), rapid.IntRange(0, 3).Draw(t, "fails") == 0)
}

func (m *chainModel) pass(t *rapid.T, from, to, most int, fails bool) bool {
	messages := m.journals[from].messagesTo(uint16(to))
	messages = messages[:min(most, len(messages))]
	// As the shard does: all messages for one task at once, up to one that processes its records.
	var refs []Ref
	of, last := map[Ref][]Message{}, map[Ref]bool{}
	for i, msg := range messages {
		if last[msg.Ref] {
			messages = messages[:i]
			break
		}
		if len(of[msg.Ref]) == 0 {
			refs = append(refs, msg.Ref)
		}
		of[msg.Ref] = append(of[msg.Ref], msg)
		last[msg.Ref] = msg.Kind == EndedTask || msg.Kind == DroppedTask
	}
	for _, ref := range refs {
		m.receive(t, to, of[ref], from == to)
	}
	for i := range messages {
		if from != to {
			m.copies = append(m.copies, chainCopy{to, messages[i : i+1]})
		}
	}
	if from != to && !fails {
		m.shards[from].Delivered(uint16(to), messages)
	}
	return len(messages) > 0
}

// again delivers a message that was delivered before.
func (m *chainModel) again(t *rapid.T) {
	if len(m.copies) > 0 {
		c := rapid.SampledFrom(m.copies).Draw(t, "copy")
		m.receive(t, c.to, c.messages, false)
	}
}

// receive applies messages for one task.
func (m *chainModel) receive(t *rapid.T, to int, messages []Message, own bool) {
	j, s := m.journals[to], m.shards[to]
	last := messages[len(messages)-1]
	k := j.known(&last, rapid.IntRange(1, 3).Draw(t, "records"))
	stored, found := j.look(last.Ref)
	var of *Stored
	if found {
		of = &stored
	}
	s.Receive(last.Ref, of, &k, messages, own)
}

// check compares the counts and charges of each shard with its records.
func (m *chainModel) check(t *rapid.T) {
	for i, s := range m.shards {
		s.Flush()
		j := m.journals[i]
		found := map[uint32]DependencyCounts{}
		for at := range j.due {
			if at.dueAtMs == NeverMs {
				n := found[at.ref.Queue]
				n.Waiting++
				found[at.ref.Queue] = n
				if w := j.waiting[at.ref]; w.Unfinished() == 0 {
					t.Fatalf("%v waits for no task", at.ref)
				}
			}
		}
		for ref := range j.linked {
			n := found[ref.Queue]
			n.Linked++
			found[ref.Queue] = n
		}
		for ref, w := range j.waiting {
			n := found[ref.Queue]
			n.Bytes += w.Bytes
			found[ref.Queue] = n
		}
		bytes := int64(0)
		for id, r := range j.queues {
			if r.Dependencies != found[id] {
				t.Fatalf("queue %d of shard %d counts %+v, but has %+v", id, i, r.Dependencies, found[id])
			}
			bytes += r.chargedBytes()
		}
		for at, sum := range j.sums {
			_ = at
			bytes += sum
		}
		if a := m.accounts[i]; a.bytes != bytes {
			t.Fatalf("shard %d charges %d bytes, but has %d", i, a.bytes, bytes)
		}
	}
}

// finish delivers all messages, and checks that no task waits in vain.
func (m *chainModel) finish(t *rapid.T) {
	for more := true; more; {
		more = false
		for from := range m.shards {
			for to := range m.shards {
				more = m.pass(t, from, to, 1_000, false) || more
			}
		}
	}
	m.check(t)
	for _, c := range m.tasks {
		m.update(c)
	}
	for _, c := range m.tasks {
		_, stored := m.journals[c.id.Shard].tasks[c.id.Ref]
		if !stored {
			if w, has := m.journals[c.id.Shard].waiting[c.id.Ref]; has {
				t.Fatalf("%s is gone, but %+v is left", c.id, w)
			}
			continue
		}
		s, _ := m.journals[c.id.Shard].look(c.id.Ref)
		finished, members := true, 0
		dies := false
		// A task with more members than it waits for ignores those that end after the last that it counts.
		more := 0
		for _, d := range c.waitsFor {
			if d.batch == c {
				more++
			}
		}
		for _, d := range c.waitsFor {
			// A removed task that c names either counts as missing, or c died.
			now := d.phase == chainDone || c.dead == RunAnyway && d.phase != chainLives || c.dead == DieToo && d.phase == chainRemoved && d.batch != c
			dies = dies || c.dead == DieToo && (d.phase == chainDead && d.batch != c || d.phase != chainLives && d.phase != chainDone && d.batch == c && more <= c.size)
			if d.batch == c && now {
				members++
			}
			finished = finished && (d.batch == c || now)
		}
		if s.Waits() && (dies || finished && members >= c.size) {
			t.Fatalf("%s waits, although all its tasks are finished: %+v", c.id, m.journals[c.id.Shard].waiting[c.id.Ref])
		}
	}
}

// Waiting tasks become ready after the tasks that they wait for, and no later, whenever the messages
// are delivered, and although some are delivered again.
func TestDependenciesBehaveAsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newChainModel(t)
		t.Repeat(map[string]func(*rapid.T){
			"":          m.check,
			"enqueue":   m.enqueue,
			"enqueue 2": m.enqueue,
			"settle":    m.settle,
			"change":    m.change,
			"deliver":   m.deliver,
			"deliver 2": m.deliver,
			"again":     m.again,
			"recover":   m.recover,
		})
		m.finish(t)
	})
}
