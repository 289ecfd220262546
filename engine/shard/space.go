package shard

import (
	"time"
	"unicode/utf8"

	"github.com/pronybench/prony/engine/queue"
)

// While the disk's free space is low, the shard refuses commands that would grow the store. When
// the free space is below the critical mark, the shard refuses every change and stops the time of
// the state machine: no lease expires and no task is leased. It still serves reads.

const (
	// resultLowMax is the largest result, in bytes, that is stored while space is low. Completing a
	// task frees about as many bytes.
	resultLowMax = 4 << 10
	// errorLowMax is the maximum length, in bytes, of a failure's stored text while space is low.
	errorLowMax = 256
	// spaceWait is the interval between checks of the free space by a shard that refuses all
	// changes.
	spaceWait = 50 * time.Millisecond
)

// changing is a command that may change the store.
type changing interface {
	// refuse is called instead of decide, and makes err the command's answer. If it returns false,
	// decide is called nevertheless, and must change nothing.
	refuse(err error) bool
}

// decideOrRefuse decides a command, or refuses it with the error full if full is not nil and the
// command may change the store.
func (d *decider) decideOrRefuse(c command, nowMs int64, full error) {
	plantedDecide(d, c)
	if full != nil {
		if change, ok := c.(changing); ok && change.refuse(full) {
			d.shard.opts.Space.CountRefusals(full, 1)
			return
		}
	}
	c.decide(d, nowMs)
}

// admit returns an error while the disk's free space is too low for commands that grow the store.
func (s *Shard) admit() error {
	err := s.opts.Space.Growth()
	if err != nil {
		s.opts.Space.CountRefusals(err, 1)
	}
	return err
}

func (d *decider) idle() bool {
	switch {
	case d.failure != nil:
		return true
	case len(d.figures.asking) > 0 && d.refills.unanswered == 0:
		return false
	}
	return d.shard.opts.Space.Changes() != nil || !d.state.Unfinished() && d.state.NextDeadlineMs() > d.shard.opts.NowMs()
}

// pass advances the time of the state machine and returns it. If the disk's space allows no
// changes, full is the reason, and pass does not advance the time. The first call sets the time in
// any case, since the state machine needs a time.
func (d *decider) pass() (nowMs int64, full error) {
	full = d.shard.opts.Space.Changes()
	if full == nil || d.tickedMs == 0 {
		d.tickedMs = d.shard.opts.NowMs()
		d.state.Tick(d.tickedMs)
	}
	return d.tickedMs, full
}

func (c *enqueue) refuse(err error) bool {
	c.out = make([]queue.Enqueued, len(c.tasks))
	for i := range c.out {
		c.out[i].Err = err
	}
	return true
}

func (c *settle) refuse(err error) bool {
	c.out = sameError(err, len(c.settlements))
	return true
}

func (c *subscribe) refuse(err error) bool {
	c.err = err
	return true
}

func (p *poll) refuse(err error) bool {
	p.err = err
	return true
}

func (c *query[T]) refuse(err error) bool {
	if c.refused == nil {
		return false
	}
	c.out, c.err = c.refused(err)
	return true
}

// refuseAll is used as query.refused by changes that have one error for the whole call.
func refuseAll[T any](err error) (none T, _ error) { return none, err }

func sameError(err error, n int) []error {
	out := make([]error, n)
	for i := range out {
		out[i] = err
	}
	return out
}

// settleLow settles tasks while space is low. It refuses completions with large results and
// truncates the texts of failures.
func (d *decider) settleLow(c *settle, nowMs int64, low error) {
	left, places := make([]queue.Settlement, 0, len(c.settlements)), make([]int, 0, len(c.settlements))
	for i := range c.settlements {
		t := c.settlements[i]
		if t.Action == queue.Complete && len(t.Result) > resultLowMax && d.state.KeepsResult(t.Ref, t.Token) {
			c.out[i] = low
			d.shard.opts.Space.CountRefusals(low, 1)
			continue
		}
		t.Error = cut(t.Error, errorLowMax)
		left, places = append(left, t), append(places, i)
	}
	out := make([]error, len(left))
	d.state.Settle(nowMs, c.tenant, left, out)
	for k, i := range places {
		c.out[i] = out[k]
	}
}

const cutMark = " [cut: too little disk space]"

// cut truncates a text to at most most bytes. A truncated text ends at a rune boundary, followed by
// cutMark.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most - len(cutMark)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + cutMark
}
