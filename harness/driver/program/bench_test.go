package program

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/null"
	"github.com/pronybench/prony/harness/observe"
)

// BenchmarkHop measures cycles of one goroutine on the target null: in this process, and behind a program. The difference is the price of the
// hop: three calls for each batch. cpu-ns/task is the CPU time of both processes.
func BenchmarkHop(b *testing.B) {
	for _, batch := range []int{1, 64} {
		for name, dial := range map[string]func(*testing.B) (driver.Conn, int){
			"direct": func(*testing.B) (driver.Conn, int) { return null.New().Dial(), 0 },
			"program": func(b *testing.B) (driver.Conn, int) {
				p, l, _ := launch(b, "")
				conn, err := l.Dial(context.Background())
				require.NoError(b, err)
				return conn, p.PID()
			},
		} {
			b.Run(fmt.Sprintf("%s/tasks=%d", name, batch), func(b *testing.B) {
				conn, pid := dial(b)
				p, w := sessions(b, conn, "q")
				sent, outcomes, into := make([]driver.Task, batch), make([]error, batch), make([]driver.Delivery, batch)
				for i := range sent {
					sent[i] = driver.Task{Tenant: "t0", Queue: "q", Payload: make([]byte, 64)}
				}
				before := used(b, pid)
				for b.Loop() {
					require.NoError(b, p.Enqueue(context.Background(), sent, outcomes))
					for left := batch; left > 0; {
						n, err := w.Claim(context.Background(), into)
						require.NoError(b, err)
						require.NoError(b, w.Complete(context.Background(), into[:n], outcomes[:n]))
						left -= n
					}
				}
				tasks := float64(b.N * batch)
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/tasks, "ns/task")
				b.ReportMetric(float64(used(b, pid)-before)/tasks, "cpu-ns/task")
				require.NoError(b, conn.Close())
			})
		}
	}
}

// used returns the CPU time of this process and of another one, if there is another.
func used(b *testing.B, pid int) (total time.Duration) {
	b.Helper()
	for _, pid := range []int{os.Getpid(), pid} {
		if pid != 0 {
			used, err := observe.ProcessCPU(pid)
			require.NoError(b, err)
			total += used
		}
	}
	return total
}
