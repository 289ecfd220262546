package shard

import (
	"context"
	"errors"
	"fmt"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// Receive applies messages of another shard about tasks that wait for others. reply is called as for
// Lookup, with nil once all effects are durable. After an error, some messages may have taken effect;
// receiving them again is harmless.
func (s *Shard) Receive(messages []queue.Message, reply func(struct{}, error)) error {
	for i := range messages {
		m := &messages[i]
		if m.Kind != queue.Link && m.Kind != queue.DependencyFinished && m.Kind != queue.MemberFinished || int(m.Of.Shard) >= max(1, s.opts.Queue.Shards) {
			return fmt.Errorf("message %d is of kind %d about task %s, which no other shard sends", m.Seq, m.Kind, m.Of)
		}
	}
	return s.receive(messages, false, reply)
}

// receiving applies messages: all messages for one task at once, because a further message for the
// task could only be applied after the task was read again.
type receiving struct {
	own      bool // the messages are of the shard itself
	messages [][]queue.Message
	refs     []queue.Ref // the tasks that messages are for
	known    []queue.Known
	err      error // the last error
}

func (s *Shard) receive(messages []queue.Message, own bool, reply func(struct{}, error)) error {
	c := &receiving{own: own}
	at := map[queue.Ref]int{}
	for _, m := range messages {
		i, has := at[m.Ref]
		if !has {
			i = len(c.refs)
			at[m.Ref] = i
			c.refs, c.messages = append(c.refs, m.Ref), append(c.messages, nil)
		}
		c.messages[i] = append(c.messages[i], m)
	}
	c.known = make([]queue.Known, len(c.refs))
	// The command has no load: each shard sends its messages one command after the other.
	return s.inbox.put(&begin{examine: &examine{
		refs: c.refs, anyTenant: true, changes: true, more: c.read, resolve: c.resolve,
		reply: func(_ *Shard, err error) { reply(struct{}{}, errors.Join(c.err, err)) },
	}}, load{})
}

func (c *receiving) read(store *storage.Store, indexes []int) (err error) {
	left := queue.MessageRecordsMax
	for _, i := range indexes {
		if c.known[i], err = store.Known(c.refs[i], c.messages[i], &left); err != nil {
			return fmt.Errorf("read the dependencies of a task: %w", err)
		}
	}
	return nil
}

func (c *receiving) resolve(d *decider, i int, f *Found, err error) {
	var t *queue.Stored
	switch {
	case err == nil:
		t = &f.Stored
	case !errors.Is(err, ErrNotFound):
		c.err = err
		return
	}
	d.state.Receive(c.refs[i], t, &c.known[i], c.messages[i], c.own)
}

// delivered removes messages to another shard that the other shard has received.
func (s *Shard) delivered(to uint16, messages []queue.Message, reply func(struct{}, error)) error {
	return put(s, &query[struct{}]{
		decided: func(d *decider, _ int64) (none struct{}, err error) {
			d.state.Delivered(to, messages)
			return none, nil
		},
		refused: refuseAll[struct{}],
		reply:   reply,
	})
}

// Deliver passes messages to a shard that this node leads, and returns once their effects are
// durable.
func (g *Group) Deliver(ctx context.Context, to uint16, messages []queue.Message) error {
	v := g.here.Load()
	if v == nil || int(to) >= g.size {
		return &NotLeaderError{int(to)} // the group is starting
	}
	s, err := v.at(int(to))
	if err != nil {
		return err
	}
	_, err = AwaitReply(ctx, func(reply func(struct{}, error)) error { return s.Receive(messages, reply) })
	return err
}
