package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/scenario"
)

// readBackEach is the sampling interval: of readBackEach results, a slot reads one back.
const readBackEach = 16

// resulting decides which tasks of a workload are completed with a result.
type resulting struct {
	lot
	size int // of each result, in bytes
}

func newResulting(w scenario.Workload) resulting {
	return resulting{newLot(w, lotResult, w.Result.Part), w.Result.Size}
}

// of reports whether an answer contains the expected result of a task: the result that the task was
// completed with, or no result if it was completed without one. address is the address that the
// task was sent to.
func (r *resulting) of(id ledger.Identity, address ledger.Address, answered []byte) bool {
	if r.part == 0 || !r.draws(id, 0) {
		return len(answered) == 0
	}
	found, err := ledger.Open(answered, address)
	found.IntendedNS = id.IntendedNS // only the payload contains the intended start
	return err == nil && found == id && len(answered) == r.size
}

// retention returns how long the server must store the result of a task, or 0 if the task has no
// result.
func (r *resulting) retention(id ledger.Identity) time.Duration {
	if !r.draws(id, 0) {
		return 0
	}
	return scenario.ResultRetention
}

// returning adds results to the completions of one slot, and reads some of the results back.
type returning struct {
	resulting
	returner driver.Returner // the slot's session
	buffer   []byte          // the results of a batch, concatenated
	turn     int             // number of results so far
}

// newReturning returns the state that a slot needs for the results of a workload. It returns an
// error if the session cannot read results.
func newReturning(w scenario.Workload, session driver.Worker) (returning, error) {
	r := returning{resulting: newResulting(w)}
	if w.Result.IsZero() {
		return r, nil
	}
	returner, ok := session.(driver.Returner)
	if !ok {
		return r, fmt.Errorf("load: the driver %q can't read results: remove workload.result", w.Driver)
	}
	r.returner, r.buffer = returner, make([]byte, w.ClaimBatch()*w.Result.Size)
	return r, nil
}

func (s *slot) giveResults(n int) {
	r := &s.returning
	if r.part == 0 {
		return
	}
	for i := range n {
		if c := &s.claimed[i]; c.verdict == ledger.Sound && r.draws(c.id, 0) {
			s.deliveries[i].Result = r.buffer[i*r.size : (i+1)*r.size : (i+1)*r.size]
			ledger.Seal(s.deliveries[i].Result, c.id, ledger.NewAddress(s.tenant, s.deliveries[i].Queue))
		}
	}
}

// readResults reads back some results of the first n deliveries, whose completions were answered.
// It returns false if the slot must stop.
func (s *slot) readResults(calls context.Context, n int) (goOn bool) {
	r := &s.returning
	if r.part == 0 {
		return true
	}
	for i := range n {
		d := &s.deliveries[i]
		if d.Result == nil || s.outcomes[i] != nil {
			continue
		}
		if r.turn++; r.turn%readBackEach != 1 {
			continue
		}
		if got, err := r.returner.Result(calls, d); !s.resultRead(calls, s.claimed[i].id, d.Result, got, err) {
			return false
		}
	}
	return true
}

// resultRead processes the answer to the read of a result. It returns false if the slot must stop.
func (s *slot) resultRead(calls context.Context, id ledger.Identity, want, got []byte, err error) (goOn bool) {
	switch {
	case err == nil:
		s.cfg.Ledger.ResultBack(id, want, got)
	case errors.Is(err, driver.ErrNotFound):
		s.cfg.Ledger.WrongResult(id, fmt.Sprintf("no result: %v", err))
	default:
		return s.unanswered(calls, "read a result", nil, err)
	}
	return true
}
