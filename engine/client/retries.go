package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pronybench/prony/engine/queuepb"
)

// retries is the state of a call while some of its items have no outcome yet. A call that succeeds
// at the first try does not need it.
type retries struct {
	errs       []error // by item: the outcome, nil if the item was accepted or is in open
	open       []int   // indexes of the items without an outcome
	unsure     []bool  // by item: an earlier try may have taken effect
	leaderHint string  // address of the leader, if the last refusal named another node
	cause      error   // error of the last failure
}

func newRetries(n int) retries {
	r := retries{errs: make([]error, n), open: make([]int, n), unsure: make([]bool, n)}
	for i := range r.open {
		r.open[i] = i
	}
	return r
}

// outcome is what one try means for an item.
type outcome int

const (
	settled outcome = iota // the item has its result
	notDone                // the try had no effect
	unclear                // the try may have taken effect
)

func outcomeOf(err error) outcome {
	var refused *Error
	var doubt *ambiguousError
	switch {
	case err == nil || errors.As(err, &doubt):
		return settled
	case isUndone(err):
		return notDone
	case errors.Is(err, ErrUnknownOutcome):
		return unclear
	case errors.Is(err, ErrClosed):
		return notDone
	case errors.As(err, &refused):
		switch refused.Code {
		case queuepb.ErrorCode_ERROR_CODE_NOT_LEADER, queuepb.ErrorCode_ERROR_CODE_UNAVAILABLE:
			return notDone
		case queuepb.ErrorCode_ERROR_CODE_UNKNOWN_OUTCOME:
			return unclear
		}
	}
	return settled
}

// callOutcome converts the error of a unary call to the error that a session would return for the
// same failure.
func callOutcome(ctx context.Context, err error) error {
	switch {
	case err == nil || isFinal(err) || isUndone(err):
		return err
	case ctx.Err() != nil:
		return unknownOutcome(ctx.Err())
	}
	return unknownOutcome(err)
}

// note records the outcome of one try for an item. If again is true, the item may be repeated even
// if a try may have taken effect.
func (r *retries) note(place int, err error, again bool) {
	switch outcomeOf(err) {
	case settled:
		if r.unsure[place] && errors.Is(err, ErrOverloaded) { // an earlier try may have succeeded
			r.keep(place, err)
			return
		}
		r.errs[place] = err
	case notDone:
		r.keep(place, err)
		var refused *Error
		if errors.As(err, &refused) {
			r.leaderHint = refused.Leader
		}
	case unclear:
		r.unsure[place] = true
		if !again {
			r.errs[place] = err
			return
		}
		r.keep(place, err)
	}
}

func (r *retries) keep(place int, cause error) {
	r.open = append(r.open, place)
	r.cause = cause
}

// trying returns the indexes of the items without an outcome, and clears the list. The caller must
// make a try with them, and call note for each.
func (r *retries) trying() []int {
	places := r.open
	r.open, r.leaderHint = nil, ""
	return places
}

// giveUp sets the outcome of each open item. The outcome is ErrUnknownOutcome if a try may have
// taken effect, and ErrUnavailable otherwise; it is never both. why must be neither of them.
func (r *retries) giveUp(why error) {
	refused, doubtful := why, why
	if r.cause != nil {
		// Do not wrap the cause with %w: the last try may have had only one item, and its error
		// does not apply to the others.
		doubtful = fmt.Errorf("%w, last: %s", why, r.cause.Error())
		refused = doubtful
		if !errors.Is(r.cause, ErrUnknownOutcome) {
			refused = fmt.Errorf("%w, last: %w", why, r.cause)
		}
	}
	for _, i := range r.open {
		if r.unsure[i] {
			r.errs[i] = unknownOutcome(doubtful)
		} else {
			r.errs[i] = fmt.Errorf("the call had no effect: %w: %w", ErrUnavailable, refused)
		}
	}
	r.open = nil
}

// result returns the result of a batch: either an error of the whole call, or an error for each
// failed item, or nil. An error of the whole call applies to each item: either all outcomes are
// unknown, or no item had an effect.
func (r *retries) result() (errs []error, err error) {
	failed, unknown := 0, 0
	for _, e := range r.errs {
		var refused *Error
		if e == nil || errors.As(e, &refused) {
			continue
		}
		err = e
		failed++
		if errors.Is(e, ErrUnknownOutcome) {
			unknown++
		}
	}
	if failed == len(r.errs) && (unknown == 0 || unknown == failed) {
		return nil, err
	}
	if slices.ContainsFunc(r.errs, func(e error) bool { return e != nil }) {
		errs = r.errs
	}
	return errs, nil
}

type tries[L linked] struct {
	links    *follower[L]
	deadline time.Time
	pace     pace
	seen     <-chan struct{} // closed if the links have changed since the last try
}

func (f *follower[L]) tries() tries[L] {
	_, changed := f.current()
	return tries[L]{links: f, deadline: time.Now().Add(f.client.retryMax), pace: pace{of: &f.client.timing}, seen: changed}
}

// wait waits until another try makes sense. With a link, it waits until the links change or some
// time has passed. Without a link, it waits until a link opens. In a closing session no link will
// open, so it only waits for some time. If wait returns an error, the caller must make no more
// tries.
func (p *tries[L]) wait(ctx context.Context) error {
	for {
		links, changed := p.links.current()
		left := time.Until(p.deadline)
		if left <= 0 {
			return fmt.Errorf("tried for %v: %s", p.links.client.retryMax, p.links.problem().Error())
		}
		d, canTry := left, len(links) > 0 || p.links.closing()
		if canTry {
			d = min(left, p.pace.next())
		}
		t := time.NewTimer(d)
		select {
		case <-p.seen:
			t.Stop()
			p.seen = changed
			if now := *p.links.links.Load(); len(now) > 0 {
				return nil
			}
		case <-t.C:
			if canTry {
				return nil
			}
		case <-p.links.failed:
			t.Stop()
			return p.links.why()
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
	}
}
