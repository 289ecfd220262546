package queue

import (
	"fmt"
	"testing"
)

// nullJournal discards mutations.
type nullJournal struct{ Journal }

func (nullJournal) PutTask(Ref, Task)                  {}
func (nullJournal) PutFresh(Ref, Task)                 {}
func (nullJournal) DropTask(Ref)                       {}
func (nullJournal) PutLease(uint64, []LeaseRef, int64) {}
func (nullJournal) DropLease(uint64)                   {}
func (nullJournal) PutQueue(*Record)                   {}
func (nullJournal) PutMeta(Meta)                       {}

// BenchmarkDecideCycle measures the cost of a full cycle in the state machine alone: enqueue, lease
// and completion in calls of batch tasks, with 1,000 other leases held. One operation is one cycle
// of one task.
func BenchmarkDecideCycle(b *testing.B) {
	for _, batch := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			s, err := New(Config{}, nullJournal{}, Recovered{})
			if err != nil {
				b.Fatal(err)
			}
			tasks, out := make([]NewTask, batch), make([]Enqueued, batch)
			for i := range tasks {
				tasks[i].Queue = "q"
			}
			w, err := s.Subscribe(Claim{Tenant: "t", Queues: []string{"q"}, Credit: 1 << 30}, nil)
			if err != nil {
				b.Fatal(err)
			}
			settle, errs := make([]Settlement, 0, batch), make([]error, batch)
			var held []Settlement
			var grants []Grant
			b.ReportAllocs()
			for i := 0; i < b.N; i += batch {
				s.Enqueue(1, "t", tasks, out)
				grants = s.Dispatch(1, grants[:0])
				for _, d := range grants[0].Deliveries {
					held = append(held, Settlement{Ref: d.Ref, Token: d.Token, Action: Complete})
				}
				if len(held) >= 1_000 {
					settle = append(settle[:0], held[:batch]...)
					held = held[:copy(held, held[batch:])]
					s.Settle(1, "t", settle, errs)
				}
				s.Sent(w, 0)
				s.Flush()
			}
		})
	}
}
