package shard

import (
	"math"
	"runtime"
	"time"

	"github.com/pronybench/prony/engine/internal/stages"
)

// run is the deciding goroutine: it drains the inbox, and decides and commits the commands in one
// or more turns. It closes the pipe when it ends, which ends the publishing goroutine.
func (d *decider) run() {
	defer close(d.shard.pipe)
	timer := time.NewTimer(math.MaxInt64)
	defer timer.Stop()
	for {
		commands, since, over := d.drain(timer)
		if over {
			return
		}
		began := d.shard.deciding.begin()
		for first := d.shard.entry(commands); first < len(commands); first = d.shard.entry(commands) {
			d.turn(append(d.shard.spare(), commands[:first]...), since, began)
			commands, began = commands[first:], stages.Now()
		}
		d.turn(commands, since, began)
		d.shard.deciding.end()
	}
}

// drain waits until there is work and takes all waiting commands. since is the arrival time of the
// oldest command, or 0 if no command waited. If the shard is closed and has finished all accepted
// work, drain sends the last answers and returns over = true.
func (d *decider) drain(timer *time.Timer) (commands []command, since time.Duration, over bool) {
	for {
		commands, since, closed := d.shard.inbox.take(d.shard.spare())
		if len(commands) > 0 || !d.idle() {
			runtime.Gosched() // callers that are about to send a command join this turn
			commands, later, _ := d.shard.inbox.take(commands)
			if since == 0 {
				since = later
			}
			return commands, since, false
		}
		if closed != nil && d.shard.examining.Load() == 0 && (d.refills.unanswered == 0 || d.failure != nil) {
			d.end(closed)
			return nil, 0, true
		}
		d.shard.keep(commands)
		d.wait(timer)
	}
}

func (d *decider) wait(timer *time.Timer) {
	if d.shard.opts.Space.Changes() != nil {
		timer.Reset(spaceWait)
	} else if next := d.state.NextDeadlineMs(); d.failure == nil && next != math.MaxInt64 {
		timer.Reset(time.Duration(next-d.shard.opts.NowMs()) * time.Millisecond)
	}
	select {
	case <-d.shard.inbox.wake:
	case <-timer.C:
	}
}

// entry returns the number of commands, from the first, that one turn decides: about as many as
// fill one commit, and at least one if there is any.
func (s *Shard) entry(commands []command) int {
	items, bytes := 0, 0
	for i, c := range commands {
		if s.opts.Alone && i == 1 || items >= s.opts.CommitTasksMax || bytes >= s.opts.CommitBytesMax {
			return i
		}
		switch c := c.(type) {
		case *enqueue:
			items += len(c.tasks)
			bytes += c.bytes
		case *settle:
			items += len(c.settlements)
		case *resolving:
			items += min(sliceMax, len(c.refs))
		case *poll:
			items += c.claim.Credit
		case *refilled:
			items += c.items
		default:
			items++
		}
	}
	return len(commands)
}

func (s *Shard) spare() []command {
	select {
	case c := <-s.recycle:
		return c
	default:
		return nil
	}
}

func (s *Shard) keep(c []command) {
	clear(c)
	select {
	case s.recycle <- c[:0]:
	default:
	}
}
