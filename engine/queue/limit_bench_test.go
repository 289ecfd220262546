package queue

import (
	"fmt"
	"testing"
)

// BenchmarkGroups compares a full cycle of tasks of 100,000 groups in a queue with a limit of its
// groups, with that of the same tasks in a queue without limits. 1,000 other tasks stay leased. One
// operation is one cycle of one task.
func BenchmarkGroups(b *testing.B) {
	const batch, groups = 64, 100_000
	hashes := make([]uint64, groups)
	for i := range hashes {
		hashes[i] = HashGroup(fmt.Sprint("customer-", i))
	}
	for _, kind := range []string{"plain", "leased", "rate"} {
		b.Run(kind, func(b *testing.B) {
			s, err := New(Config{}, nullJournal{}, Recovered{})
			if err != nil {
				b.Fatal(err)
			}
			limit := map[string]Limit{"leased": {LeasedMax: 2}, "rate": {RateMilli: 1_000_000}}[kind]
			if err := s.Configure("t", "q", Policy{GroupLimit: limit}, 1); err != nil {
				b.Fatal(err)
			}
			if _, err := s.Subscribe(Claim{Tenant: "t", Queues: []string{"q"}, Credit: 1 << 30, BytesMax: 1 << 50}, nil); err != nil {
				b.Fatal(err)
			}
			tasks, out := make([]NewTask, batch), make([]Enqueued, batch)
			settle, errs := make([]Settlement, 0, batch), make([]error, batch)
			var held []Settlement
			var grants []Grant
			next := 0
			b.ReportAllocs()
			for now := int64(1); b.Loop(); now++ {
				for i := range tasks {
					tasks[i] = NewTask{Queue: "q"}
					if kind != "plain" {
						tasks[i].Group = hashes[next]
						next = (next + 1) % groups
					}
				}
				s.Enqueue(now, "t", tasks, out)
				grants = s.Dispatch(now, grants[:0])
				for _, d := range grants[0].Deliveries {
					held = append(held, Settlement{Ref: d.Ref, Token: d.Token, Action: Complete})
				}
				if len(held) >= 1_000 {
					settle = append(settle[:0], held[:batch]...)
					held = held[:copy(held, held[batch:])]
					s.Settle(now, "t", settle, errs)
				}
				s.Flush()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/cycle")
		})
	}
}
