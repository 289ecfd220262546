package load_test

import (
	"context"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/null"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/scenario"
)

// A closed load on the null driver, an in-memory target. Two producers each send the next call when
// their last one was acknowledged; four worker slots claim and complete the tasks.
func ExampleRun() {
	workload := scenario.Workload{
		Name: "main", Tenants: 1, Queues: 2, Producers: 2, Workers: 4, Batch: 8, InFlight: 64,
		Payload:  scenario.Payload{Kind: "fixed", Min: 64, Max: 64},
		Arrivals: scenario.Arrivals{Kind: scenario.Closed},
	}
	conn := null.New().Dial()
	defer func() { _ = conn.Close() }()
	account := load.NewLedger(1, workload)
	outcome, err := load.Run(context.Background(), load.Config{
		Workload: workload, Conns: []driver.Conn{conn}, Ledger: account,
		Phases: scenario.Phases{Warmup: 10 * time.Millisecond, Window: 50 * time.Millisecond, Drain: time.Minute},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	balance := account.Balance()
	fmt.Println("drained:", outcome.Drained)
	fmt.Println("lost:", balance.Lost, "duplicated:", balance.Duplicated)
	fmt.Println("every enqueued task is completed:", balance.Enqueued == balance.Completed)
	// Output:
	// drained: true
	// lost: 0 duplicated: 0
	// every enqueued task is completed: true
}
