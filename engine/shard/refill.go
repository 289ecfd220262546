package shard

import (
	"github.com/pronybench/prony/engine/queue"
)

// refill answers the state's refills from the store. An answer may make decisions that the next answer must see: the answer with expired
// tasks moves these to the dead letters.
func (s *Shard) refill(refills []queue.Refill) error {
	for _, r := range refills {
		if err := s.submit(); err != nil {
			return err
		}
		if err := s.answer(r); err != nil {
			return err
		}
	}
	return nil
}

func (s *Shard) answer(r queue.Refill) error {
	switch r.Stream {
	case queue.StreamReturned:
		due, more, err := s.store.Returned(r)
		if err != nil {
			return err
		}
		s.state.RefillReturned(r, due, more)
	case queue.StreamDue, queue.StreamNotDue:
		tasks, nextMs, nextSeq, more, err := s.store.CountDue(r)
		if err != nil {
			return err
		}
		s.state.RefillDue(r, tasks, nextMs, nextSeq, more)
	case queue.StreamExpired:
		expired, nextMs, err := s.store.Expired(r.FromMs, r.Limit, r.BytesMax)
		if err != nil {
			return err
		}
		s.state.RefillExpired(r, expired, nextMs)
	case queue.StreamFresh:
		tasks, nextSeq, err := s.store.Fresh(r)
		if err != nil {
			return err
		}
		s.state.RefillFresh(r, tasks, nextSeq)
	}
	return nil
}
