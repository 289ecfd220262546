package rest

import "github.com/pronybench/prony/engine/queuepb"

// onlyRefusal returns the error of a call's only item, or nil. The error refuses the whole call;
// larger calls answer each item separately.
func (r *route) onlyRefusal(out any) *queuepb.ItemError {
	if r.items == "" {
		return nil
	}
	switch m := out.(type) {
	case *queuepb.EnqueueResponse:
		if results := m.GetResults(); len(results) == 1 {
			return results[0].GetError()
		}
	case interface {
		GetResults() []*queuepb.SettleResult
	}:
		if results := m.GetResults(); len(results) == 1 {
			return results[0].GetError()
		}
	}
	return nil
}
