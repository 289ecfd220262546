package program

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/pronybench/prony/harness/driver"
)

type outcome uint8

const (
	acknowledged outcome = 0
	refused      outcome = 1
	unknown      outcome = 2
	leaseOver    outcome = 3
)

func outcomeOf(err error) outcome {
	switch {
	case err == nil:
		return acknowledged
	case errors.Is(err, driver.ErrUnknown):
		return unknown
	case errors.Is(err, driver.ErrLeaseOver):
		return leaseOver
	}
	return refused
}

// appendOutcomes encodes the body of kindOutcomes:
//
//	count uint32, and for each task: outcome uint8, followed by the reason as a text unless outcome is 0
func appendOutcomes(b []byte, outcomes []error) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(outcomes)))
	for _, err := range outcomes {
		b = append(b, byte(outcomeOf(err)))
		if err != nil {
			b = appendReason(b, err)
		}
	}
	return b
}

func readOutcomes(b *body, into []error) error {
	n := b.count(tasksMax, "outcomes")
	if b.failed == nil && n != len(into) {
		return fmt.Errorf("%d outcomes for %d tasks", n, len(into))
	}
	for i := range n {
		into[i] = readOutcome(b)
	}
	return b.end()
}

func readOutcome(b *body) error {
	o := outcome(b.uint8("an outcome"))
	if o == acknowledged {
		return nil
	}
	reason := errors.New(string(b.text("a reason")))
	switch o {
	case refused:
		return reason
	case unknown:
		return fmt.Errorf("%w: %w", driver.ErrUnknown, reason)
	case leaseOver:
		return fmt.Errorf("%w: %w", driver.ErrLeaseOver, reason)
	}
	if b.failed == nil {
		b.failed = fmt.Errorf("the frame has the outcome %d; it must be 0 to %d", o, leaseOver)
	}
	return nil
}
