package client

import "github.com/pronybench/prony/engine/queuepb"

// cancelled ends leases whose tasks the server reports as cancelled. Receive no longer returns these
// tasks, and the slots of tasks that it did not return become free. If the session reports
// cancellations, cancelled returns the received tasks that were not reported before. The server may
// report leases that the session does not know.
func (s *slots) cancelled(leases []*queuepb.CancelledLease) (report []*queuepb.Task) {
	over := make(map[leaseKey]struct{}, len(leases))
	for _, l := range leases {
		over[leaseKey{l.GetId(), l.GetToken()}] = struct{}{}
	}
	// As in sweep, drop the tasks before their slots become free.
	dropped := s.expiry.drop(over)
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	for _, k := range dropped {
		s.freeLease(k.id, k.token)
		delete(over, k)
	}
	for k := range over {
		i := s.leases.find(k.id, k.token)
		if i < 0 {
			continue
		}
		l := &s.leases.entries[i]
		if l.task != nil && !l.cancelled {
			report = append(report, l.task)
		}
		l.cancelled = true
	}
	if len(dropped) > 0 {
		s.grantSpare()
	}
	return report
}
