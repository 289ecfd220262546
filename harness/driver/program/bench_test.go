package program

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/null"
	"github.com/pronybench/prony/harness/observe"
)

// BenchmarkHop measures cycles on the null target in this process and through a program, with one
// goroutine and with 32 for each CPU. The difference is the price of the hop: three calls for each
// batch. cpu-ns/task is the CPU time of both processes.
func BenchmarkHop(b *testing.B) {
	for _, goroutines := range []int{1, 32} {
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
				b.Run(fmt.Sprintf("%s/goroutines=%d/tasks=%d", name, goroutines, batch), func(b *testing.B) {
					conn, pid := dial(b)
					before := used(b, pid)
					b.SetParallelism(goroutines)
					if goroutines == 1 {
						hop(b, conn, batch, b.Loop)
					} else {
						b.RunParallel(func(pb *testing.PB) { hop(b, conn, batch, pb.Next) })
					}
					tasks := float64(b.N * batch)
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/tasks, "ns/task")
					b.ReportMetric(float64(used(b, pid)-before)/tasks, "cpu-ns/task")
					require.NoError(b, conn.Close())
				})
			}
		}
	}
}

// queues numbers the queues of the goroutines.
var queues atomic.Int64

func hop(b *testing.B, conn driver.Conn, batch int, next func() bool) {
	queue := fmt.Sprint(queues.Add(1))
	p, w := sessions(b, conn, queue)
	sent, outcomes, into := make([]driver.Task, batch), make([]error, batch), make([]driver.Delivery, batch)
	for i := range sent {
		sent[i] = driver.Task{Tenant: "t0", Queue: queue, Payload: make([]byte, 64)}
	}
	for next() {
		assert.NoError(b, p.Enqueue(context.Background(), sent, outcomes))
		for left := batch; left > 0; {
			n, err := w.Claim(context.Background(), into)
			if !assert.NoError(b, err) {
				return
			}
			assert.NoError(b, w.Complete(context.Background(), into[:n], outcomes[:n]))
			left -= n
		}
	}
}

// used returns the CPU time of this process, plus that of another one if there is one.
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
