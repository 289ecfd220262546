package jobs_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/client/jobs"
	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/storage"
)

// Resize is the arguments of a job.
type Resize struct {
	Image string
	Width int
}

// ResizeImage is a kind of jobs.
const ResizeImage jobs.Kind[Resize] = "image.resize"

// A producer enqueues a job, and a worker fails its first attempt and completes the second one.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	c, closeAll := connect()
	defer closeAll()

	producer, err := c.Producer(ctx, "")
	check(err)
	_, err = ResizeImage.Enqueue(ctx, producer, Resize{Image: "cat.png", Width: 64}, jobs.In("images"), jobs.MaxAttempts(3))
	check(err) // nil: the job is stored

	mux := jobs.NewMux()
	ResizeImage.Handle(mux, func(_ context.Context, job *jobs.Job[Resize]) error {
		fmt.Printf("resize %s to %d, attempt %d\n", job.Args.Image, job.Args.Width, job.GetAttempt())
		if job.GetAttempt() == 1 {
			return jobs.RetryIn(1, fmt.Errorf("%s is not there yet", job.Args.Image))
		}
		stop() // for the example; a worker runs until a signal
		return nil
	})
	worker := jobs.Worker{Client: c, Mux: mux, Queues: map[string]int{"images": 1}, Logger: slog.New(slog.DiscardHandler)}
	check(worker.Run(ctx))
	check(producer.Close(context.Background()))
	// Output:
	// resize cat.png to 64, attempt 1
	// resize cat.png to 64, attempt 2
}

// connect starts a server in this process and returns a client of it. For a running server,
// client.Dial with its address is sufficient.
func connect() (c *client.Client, closeAll func()) {
	dir, err := os.MkdirTemp("", "example")
	check(err)
	server, err := node.Open(node.Config{DataDir: dir, Listen: []string{"127.0.0.1:0"}, Durability: storage.None})
	check(err)
	c, err = client.Dial(server.Addresses()[0])
	check(err)
	return c, func() {
		check(c.Close())
		check(server.Shutdown(context.Background()))
		check(os.RemoveAll(dir))
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
