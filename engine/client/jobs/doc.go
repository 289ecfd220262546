// Package jobs runs background jobs: typed payloads, handlers, and a worker that settles every task
// as its handler ended.
//
// A job is a task whose kind names its handler. A constant of type Kind connects the program that
// enqueues with the one that works:
//
//	type Email struct{ To, Subject string }
//
//	const SendEmail jobs.Kind[Email] = "email.send"
//
//	id, err := SendEmail.Enqueue(ctx, producer, Email{To: "ada"}, jobs.Delay(time.Minute))
//
//	mux := jobs.NewMux()
//	SendEmail.Handle(mux, func(ctx context.Context, job *jobs.Job[Email]) error {
//		return send(ctx, job.Args.To, job.Args.Subject)
//	}, jobs.Timeout(time.Minute))
//	worker := jobs.Worker{Client: c, Mux: mux, Concurrency: 20}
//	err := worker.Run(ctx) // until ctx ends
//
// # Outcomes
//
// A handler that returns nil completes its task. Any other error fails the attempt: the server
// retries the task after its backoff until its attempts are used up, and stores the error text. A
// panic fails the attempt with its stack. Three errors ask for something else: Permanent makes the
// task a dead letter at once, RetryIn sets the time of the next attempt, and Snooze returns the task
// without using up an attempt.
//
// # Results
//
// A handler returns a value to the producer with Job.SetResult. The producer enqueues the job with
// ResultRetention and waits with Await.
//
// # Dependencies and batches
//
// After makes a job wait for others, and a Batch has a final job that waits for its members. The
// handler of the waiting job gets their outcomes and results from Job.Dependencies:
//
//	batch := jobs.NewBatch(MakeAlbum.Task(Album{ID: 7}, jobs.Key("album-7")))
//	batch.Add(ResizeImage.Task(Resize{Image: "cat.png", Width: 64}))
//	batch.Add(ResizeImage.Task(Resize{Image: "dog.png", Width: 64}))
//	id, err := batch.Enqueue(ctx, producer)
//
// # Leases and contexts
//
// The worker extends the lease of a task while its handler runs, so a job may take longer than its
// lease, which can be short: it is the time after which another worker takes over the tasks of a
// worker that died. The context of a handler ends if the handler should stop. context.Cause returns
// the reason: ErrTimeout, ErrCancelled, ErrLeaseLost or ErrShutdown. A handler that ignores its
// context occupies its slot until it returns.
//
// # Unique jobs
//
// Unique makes a job the only one with its key until it is started or finished, or for a time:
//
//	id, err := Rebuild.Enqueue(ctx, producer, Index{7}, jobs.Unique("index-7", client.Unique{Scope: client.UntilFinished}))
//
// Delivery is at least once: if a worker dies, or loses its lease, another one runs the job again.
package jobs
