package rest

import "github.com/pronybench/prony/engine/queuepb"

// onlyRefusal returns the error of a call's only item, or nil. Such an error refuses the whole
// call. Calls with several items have a separate result for each item.
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
