package rest

import "github.com/pronybench/prony/engine/queuepb"

// onlyRefusal returns why the only item of a call was refused, or nil: the call is then refused as a whole. Each item of a larger call is
// answered by itself.
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
