package jobs_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/pronybench/prony/engine/client/jobs"
)

// Album is the arguments of a job.
type Album struct{ ID int }

// MakeAlbum is a kind of jobs.
const MakeAlbum jobs.Kind[Album] = "album.make"

// A batch resizes images, and its final job gets the results.
func ExampleBatch() {
	ctx, stop := context.WithCancel(context.Background())
	c, closeAll := connect()
	defer closeAll()

	mux := jobs.NewMux()
	ResizeImage.Handle(mux, func(_ context.Context, job *jobs.Job[Resize]) error {
		return job.SetResult(Thumbnail{URL: fmt.Sprintf("/%d/%s", job.Args.Width, job.Args.Image)})
	})
	MakeAlbum.Handle(mux, func(ctx context.Context, job *jobs.Job[Album]) error {
		var urls []string
		for d, err := range job.Dependencies(ctx) {
			if err != nil {
				return err
			}
			var thumbnail Thumbnail
			if err := d.Result(&thumbnail); err != nil {
				return err
			}
			urls = append(urls, thumbnail.URL)
		}
		slices.Sort(urls)
		fmt.Printf("album %d: %v\n", job.Args.ID, urls)
		stop() // for the example; a worker runs until a signal
		return nil
	})
	worker := jobs.Worker{Client: c, Mux: mux, Logger: slog.New(slog.DiscardHandler)}

	producer, err := c.Producer(ctx, "")
	check(err)
	batch := jobs.NewBatch(MakeAlbum.Task(Album{ID: 7}, jobs.Key("album-7")))
	batch.Add(ResizeImage.Task(Resize{Image: "cat.png", Width: 64}))
	batch.Add(ResizeImage.Task(Resize{Image: "dog.png", Width: 64}))
	_, err = batch.Enqueue(ctx, producer)
	check(err) // nil: the batch is stored

	check(worker.Run(ctx))
	check(producer.Close(context.Background()))
	// Output:
	// album 7: [/64/cat.png /64/dog.png]
}
