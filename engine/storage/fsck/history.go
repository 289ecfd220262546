package fsck

import (
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/record"
)

// histories checks that the entries of each queue's history are those that its record counts.
func (c *checker) histories() error {
	found := map[uint32]queue.FinishedCounts{}
	err := c.s.Scan([]byte{record.PrefixFinished}, func(k, v []byte) (bool, error) {
		id, at, err := record.ParseFinishedKey(k)
		if err != nil {
			return false, err
		}
		f, err := record.DecodeFinished(id, v)
		if err != nil {
			return false, err
		}
		q := c.queues[id]
		switch {
		case q == nil:
			c.say("entry %d of the history of queue %d is stored, but the queue does not exist", at, id)
			return c.goOn()
		case f.Ref.Seq >= q.NextSeq:
			c.say("%s is in the history, but the next seq is %d", nameOf(f.Ref), q.NextSeq)
		}
		n, begun := found[id]
		if !begun {
			n.First, n.Next = at, at
		}
		if at != n.Next {
			c.say("entries %d to %d of the history of queue %d are missing", n.Next, at-1, id)
		}
		n.Next = at + 1
		n.Bytes += uint64(f.Size().Bytes)
		found[id] = n
		return c.goOn()
	})
	if err != nil {
		return err
	}
	for id, q := range c.queues {
		want := q.Finished
		if want.First == want.Next && want.Bytes == 0 {
			want = queue.FinishedCounts{}
		}
		if got := found[id]; got != want {
			c.say("queue %s of tenant %s has a history from %d to %d of %d bytes, but its record says from %d to %d of %d bytes",
				q.Name, q.Tenant, got.First, got.Next, got.Bytes, want.First, want.Next, want.Bytes)
		}
	}
	return nil
}
