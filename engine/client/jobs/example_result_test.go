package jobs_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/pronybench/prony/engine/client/jobs"
)

// Thumbnail is the result of a job of the kind ResizeImage.
type Thumbnail struct{ URL string }

// A handler sets the result of its job, and the producer waits for it.
func ExampleAwait() {
	ctx, stop := context.WithCancel(context.Background())
	c, closeAll := connect()
	defer closeAll()

	mux := jobs.NewMux()
	ResizeImage.Handle(mux, func(_ context.Context, job *jobs.Job[Resize]) error {
		return job.SetResult(Thumbnail{URL: fmt.Sprintf("/%d/%s", job.Args.Width, job.Args.Image)})
	})
	worker := jobs.Worker{Client: c, Mux: mux, Logger: slog.New(slog.DiscardHandler)}
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()

	producer, err := c.Producer(ctx, "")
	check(err)
	id, err := ResizeImage.Enqueue(ctx, producer, Resize{Image: "cat.png", Width: 64}, jobs.ResultRetention(time.Hour))
	check(err)
	thumbnail, err := jobs.Await[Thumbnail](ctx, c, "", id)
	check(err)
	fmt.Println(thumbnail.URL)

	check(producer.Close(ctx))
	stop()
	check(<-ended)
	// Output: /64/cat.png
}
