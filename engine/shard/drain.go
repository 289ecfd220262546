package shard

import (
	"math"
	"runtime"
	"time"

	"github.com/pronybench/prony/engine/internal/stages"
)

// run is the deciding goroutine: it drains the inbox, and decides and commits the commands in one
// or more turns. It closes the pipe when it ends, which ends the publishing goroutine.
func (s *Shard) run() {
	defer close(s.pipe)
	timer := time.NewTimer(math.MaxInt64)
	defer timer.Stop()
	for {
		commands, since, over := s.drain(timer)
		if over {
			return
		}
		began := s.deciding.begin()
		for first := s.entry(commands); first < len(commands); first = s.entry(commands) {
			s.turn(append(s.spare(), commands[:first]...), since, began)
			commands, began = commands[first:], stages.Now()
		}
		s.turn(commands, since, began)
		s.deciding.end()
	}
}

// drain waits until there is work and takes all waiting commands. since is the arrival time of the
// oldest command, or 0 if no command waited. If the shard is closed and has finished all accepted
// work, drain sends the last answers and returns over = true.
func (s *Shard) drain(timer *time.Timer) (commands []command, since time.Duration, over bool) {
	for {
		commands, since, closed := s.inbox.take(s.spare())
		if len(commands) > 0 || !s.idle() {
			runtime.Gosched() // callers that are about to send a command join this turn
			commands, later, _ := s.inbox.take(commands)
			if since == 0 {
				since = later
			}
			return commands, since, false
		}
		if closed != nil && s.examining.Load() == 0 && (s.refilling == 0 || s.failure != nil) {
			s.end(closed)
			return nil, 0, true
		}
		s.keep(commands)
		s.wait(timer)
	}
}

func (s *Shard) due() bool { return s.state.NextDeadlineMs() <= s.opts.NowMs() }

func (s *Shard) wait(timer *time.Timer) {
	if s.opts.Space.Changes() != nil {
		timer.Reset(spaceWait)
	} else if next := s.state.NextDeadlineMs(); s.failure == nil && next != math.MaxInt64 {
		timer.Reset(time.Duration(next-s.opts.NowMs()) * time.Millisecond)
	}
	select {
	case <-s.inbox.wake:
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
