package fsck

import (
	"github.com/pronybench/prony/engine/storage/record"
)

// recurring checks that each recurring task has a queue and a progress, and that each progress
// belongs to a recurring task.
func (c *checker) recurring() error {
	for _, kind := range []struct {
		prefix, other byte
		problem       string
	}{
		{record.PrefixRecurring, record.PrefixRuns, "has no progress"},
		{record.PrefixRuns, record.PrefixRecurring, "does not exist, but its progress does"},
	} {
		err := c.s.Scan([]byte{kind.prefix}, func(k, _ []byte) (bool, error) {
			id, name, err := record.ParseRecurringKey(k)
			if err != nil {
				return false, err
			}
			there, err := c.s.Exists(record.RecurringKey(kind.other, id, name))
			if err != nil {
				return false, err
			}
			if !there {
				c.say("recurring task %q of queue %d %s", name, id, kind.problem)
			} else if c.queues[id] == nil && kind.prefix == record.PrefixRecurring {
				c.say("recurring task %q belongs to queue %d, which does not exist", name, id)
			}
			return c.goOn()
		})
		if err != nil {
			return err
		}
	}
	return nil
}
