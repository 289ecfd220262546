package fsck

import (
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/record"
)

// dependencies checks that Waiting, Dependency and link records belong to tasks, or to removed tasks with
// a message that will remove the records, and that the queues count them.
func (c *checker) dependencies() error {
	pending, err := c.messages()
	if err != nil {
		return err
	}
	found := map[uint32]queue.DependencyCounts{}
	for _, of := range []struct {
		prefix byte
		what   string
		end    queue.MessageKind
		count  func(ref queue.Ref, v []byte, n *queue.DependencyCounts) (pairs uint32, err error)
	}{
		{record.PrefixWaiting, "what it waits for", queue.DroppedTask, func(ref queue.Ref, v []byte, n *queue.DependencyCounts) (uint32, error) {
			w, err := record.DecodeWaiting(v)
			n.Bytes += w.Bytes
			return w.Recorded, record.Named(err, "dependencies of task", ref)
		}},
		{record.PrefixLink, "a link", queue.EndedTask, func(ref queue.Ref, v []byte, n *queue.DependencyCounts) (uint32, error) {
			links, err := record.DecodeLinked(v)
			n.Linked++
			return links, record.Named(err, "links of task", ref)
		}},
	} {
		var ref queue.Ref
		begun, whole := false, false
		var pairs, counted uint32
		end := func() {
			if begun && whole && pairs != counted {
				c.say("%s counts %d records of %s, but has %d", nameOf(ref), counted, of.what, pairs)
			}
		}
		err := c.s.Scan([]byte{of.prefix}, func(k, v []byte) (bool, error) {
			at, _, pair, err := record.ParsePairKey(k)
			if err != nil {
				return false, err
			}
			if pair {
				if !begun || at != ref {
					c.say("%s has a record of %s, but no number of them", nameOf(at), of.what)
				}
				pairs++
				return c.goOn()
			}
			end()
			ref, begun, pairs = at, true, 0
			n := found[ref.Queue]
			if counted, err = of.count(ref, v, &n); err != nil {
				return false, err
			}
			found[ref.Queue] = n
			// If the task was removed, a message removes its records, some per turn.
			if whole, err = c.s.Exists(record.RefKey(record.PrefixTask, ref)); err != nil {
				return false, err
			}
			if !whole && !pending[of.end][ref] {
				c.say("%s does not exist, but %s does", nameOf(ref), of.what)
			}
			return c.goOn()
		})
		if err != nil {
			return err
		}
		end()
	}
	for id, n := range found {
		if c.queues[id] == nil {
			c.say("queue %d does not exist, but its tasks have dependencies: %+v", id, n)
		}
	}
	for id, q := range c.queues {
		got := found[id]
		if got.Waiting = q.waiting; got != q.Dependencies {
			c.say("queue %s of tenant %s counts dependencies %+v, but has %+v", q.Name, q.Tenant, q.Dependencies, got)
		}
	}
	return nil
}

// messages checks the messages. It returns the tasks that have messages of each kind.
func (c *checker) messages() (pending map[queue.MessageKind]map[queue.Ref]bool, err error) {
	pending = map[queue.MessageKind]map[queue.Ref]bool{queue.EndedTask: {}, queue.DroppedTask: {}}
	err = c.s.Scan([]byte{record.PrefixMessage}, func(k, v []byte) (bool, error) {
		to, seq, err := record.ParseMessageKey(k)
		if err != nil {
			return false, err
		}
		m, err := record.DecodeMessage(v)
		if err != nil {
			return false, err
		}
		if m.Seq != seq || seq >= c.meta.NextBatch {
			c.say("message %d to shard %d has the number %d, but the next number is %d", seq, to, m.Seq, c.meta.NextBatch)
		}
		if of := pending[m.Kind]; of != nil {
			of[m.Ref] = true
		}
		return c.goOn()
	})
	return pending, err
}

// waiting checks what a task waits for, and counts it if it waits.
func (c *checker) waiting(q *checkedQueue, t *checkedTask, hasDue bool) error {
	x := t.task.Extras
	waits := hasDue && t.progress.DueAtMs == queue.NeverMs
	if !waits && (x == nil || x.Depends == nil || !x.Depends.Waits) {
		return nil
	}
	v, there, err := c.s.Get(record.RefKey(record.PrefixWaiting, t.ref))
	var w queue.Waiting
	if err == nil && there {
		w, err = record.DecodeWaiting(v)
	}
	switch {
	case err != nil:
		return record.Named(err, "dependencies of task", t.ref)
	case !there:
		c.say("%s has dependencies, but what it waits for is not stored", nameOf(t.ref))
	case waits && w.Unfinished() == 0:
		c.say("%s is never due, but waits for no task", nameOf(t.ref))
	}
	if waits {
		q.waiting++
	}
	return nil
}

// readPair decodes a record about the dependencies of a task, or about its links.
func readPair(k, v []byte) error {
	_, of, pair, err := record.ParsePairKey(k)
	switch {
	case err != nil:
	case k[0] == record.PrefixWaiting && pair:
		_, err = record.DecodeDependency(of, v)
	case k[0] == record.PrefixWaiting:
		_, err = record.DecodeWaiting(v)
	case pair:
		err = record.DecodeLink(v)
	default:
		_, err = record.DecodeLinked(v)
	}
	return err
}
