package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/engine/queuepb"
)

// payloadBytesMax limits the size in bytes of a payload that the command reads. No server accepts a
// larger one, and most servers have a lower limit.
const payloadBytesMax = 16 << 20

type enqueueFlags struct {
	connection *connection

	queue                     string
	priority, maxAttempts     uint32
	delay, ttl, lease, retain time.Duration
	notBefore                 time.Time
	key, file                 string
	headers                   map[string]string
	lines                     bool

	unique    queuepb.UniqueScope
	keyWindow time.Duration
	conflict  queuepb.UniqueConflict

	after          []string
	batch          string
	batchSize      uint32
	deadDependency queuepb.DeadDependency
}

// taskCommands contains the commands that enqueue, claim, settle or show tasks.
type taskCommands struct{ *app }

func (a taskCommands) enqueue() *cobra.Command {
	var f enqueueFlags
	c := &cobra.Command{
		Use:   "enqueue --queue QUEUE [PAYLOAD]",
		Short: "Store a task, or each line of the input as one",
		Long: `Stores a task and prints its id once the server has acknowledged it. The payload is the argument, or the
file that --file names, or the standard input.

With --lines, each line of the input is a task, in order. The tasks are sent in batches; while the server has no
room, the command waits. With --key, each task's key is the key followed by the number of its line:
the same import, run again within the server's key window, stores nothing twice.

A task with --after waits until other tasks have finished. A task with --batch-size is the final task of a batch:
it waits for so many members, which are enqueued afterwards with its id as --batch.`,
		Example: `  queued enqueue --queue mail 'hello'
  queued enqueue --queue thumbnails --file picture.jpg --priority 5
  date | queued enqueue --queue log --delay 10m --ttl 1d
  queued enqueue --queue reports --not-before 09:00 'daily'   # tomorrow, if it is past nine
  queued enqueue --queue mail --header kind=welcome --header trace=7f3a 'hello'
  queued enqueue --queue import --lines --key 2030-01-31 < addresses.txt
  queued enqueue --queue reports --key tenant-7 --unique until-finished --on-conflict refuse 'rebuild'
  queued enqueue --queue mail --after 0000000000000000000000g1 --dead-dependency run 'the report is there'
  queued enqueue --queue mail --batch-size 2 'all thumbnails are there'   # prints the id of the batch
  queued enqueue --queue thumbnails --batch 0000000000000000000000g1 --file picture.jpg`,
		Args: atMostOneArg("payload"),
		RunE: func(c *cobra.Command, args []string) error {
			if f.delay != 0 && !f.notBefore.IsZero() {
				return usageError{errors.New("--delay and --not-before are both given: pass one of them")}
			}
			if f.key == "" && (f.unique != 0 || f.keyWindow != 0 || f.conflict != 0) {
				return usageError{errors.New("--unique, --key-window and --on-conflict are options of a key: pass --key too")}
			}
			if f.lines {
				return f.enqueueLines(c, args)
			}
			return f.enqueue(c, args)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.queue, "queue", "", "queue of the task; it is created at first use")
	numberFlag(flags, &f.priority, "priority", 0, "0 to 9; ready tasks of a higher priority are handed out first")
	durationFlag(flags, &f.delay, "delay", "how long the task is delayed before it is ready")
	flags.Var(nextTimeValue{timeValue{&f.notBefore}}, "not-before", `when it becomes ready: "09:00" means its next occurrence in local time; `+
		`otherwise YYYY-MM-DDThh:mm:ssZ; excludes --delay`)
	durationFlag(flags, &f.ttl, "ttl", "time to live; after it the task becomes a dead letter")
	numberFlag(flags, &f.maxAttempts, "max-attempts", 0, "number of failed attempts after which the task is dead; 0: the queue's value")
	durationFlag(flags, &f.lease, "lease", "how long a lease lasts if the claim sets none; default: the queue's value")
	durationFlag(flags, &f.retain, "result-retention", "how long the result is retained for 'queued result'; default: the queue's value")
	flags.StringVar(&f.key, "key", "", "idempotency key: for a second task with the same key, the id of the first one is printed and nothing is stored")
	wordFlag(flags, &f.unique, "unique", []string{"for-a-time", "until-started", "until-finished"},
		[]queuepb.UniqueScope{
			queuepb.UniqueScope_UNIQUE_SCOPE_FOR_A_TIME, queuepb.UniqueScope_UNIQUE_SCOPE_UNTIL_STARTED, queuepb.UniqueScope_UNIQUE_SCOPE_UNTIL_FINISHED,
		}, "for-a-time: the task holds its key for --key-window; until-started: until its first lease; until-finished: until it is done or dead")
	durationFlag(flags, &f.keyWindow, "key-window", "how long the task holds its key, at most 30d; default: the queue's value")
	wordFlag(flags, &f.conflict, "on-conflict", []string{"first", "replace", "refuse"},
		[]queuepb.UniqueConflict{
			queuepb.UniqueConflict_UNIQUE_CONFLICT_FIRST, queuepb.UniqueConflict_UNIQUE_CONFLICT_REPLACE, queuepb.UniqueConflict_UNIQUE_CONFLICT_REFUSE,
		}, "if another task holds the key: first: print its id and store nothing; replace: replace it unless it has started; refuse: fail")
	flags.Var(headersValue{&f.headers}, "header", `header of the task, as in kind=welcome; may be repeated. Workers get the headers with the task`)
	flags.StringSliceVar(&f.after, "after", nil, "id of a task that must finish before this one is ready; several separated by commas, or in repeated flags")
	numberFlag(flags, &f.batchSize, "batch-size", 0, "the task is the final one of a batch: how many members must finish before it is ready")
	flags.StringVar(&f.batch, "batch", "", "the task is a member of the batch whose final task has this id")
	wordFlag(flags, &f.deadDependency, "dead-dependency", []string{"wait", "run", "die"}, []queuepb.DeadDependency{
		queuepb.DeadDependency_DEAD_DEPENDENCY_WAIT, queuepb.DeadDependency_DEAD_DEPENDENCY_RUN, queuepb.DeadDependency_DEAD_DEPENDENCY_DIE,
	}, "if a task that this one waits for dies, or is cancelled or purged: wait: this one continues to wait; run: it counts as finished; die: this one becomes a dead letter")
	flags.StringVar(&f.file, "file", "", "read the payload, or with --lines the lines, from this file")
	flags.BoolVar(&f.lines, "lines", false, "each line of the input is a task")
	needs(c, "queue")
	f.connection = a.connect(c, false, true)
	return c
}

func (f *enqueueFlags) task() *queuepb.NewTask {
	t := &queuepb.NewTask{
		Queue: f.queue, Priority: f.priority, DelayMs: ms(f.delay), MaxAttempts: f.maxAttempts, LeaseMs: ms(f.lease),
		TtlMs: ms(f.ttl), ResultRetentionMs: ms(f.retain), IdempotencyKey: f.key, Headers: f.headers,
		After: f.after, BatchSize: f.batchSize, Batch: f.batch, DeadDependency: f.deadDependency,
	}
	if f.unique != 0 || f.keyWindow != 0 || f.conflict != 0 {
		t.Unique = &queuepb.Unique{Scope: f.unique, WindowMs: ms(f.keyWindow), Conflict: f.conflict}
	}
	if !f.notBefore.IsZero() {
		t.NotBeforeMs = f.notBefore.UnixMilli()
	}
	return t
}

func (f *enqueueFlags) enqueue(c *cobra.Command, args []string) error {
	t := f.task()
	var err error
	if t.Payload, err = f.payload(c.Context(), args); err != nil {
		return err
	}
	return f.connection.queueService(c, func(ctx context.Context, api queuepb.QueueServiceClient) error {
		ctx, cancel := f.connection.bounded(ctx, 0)
		defer cancel()
		out, err := api.Enqueue(ctx, &queuepb.EnqueueRequest{Tenant: f.connection.tenant, Tasks: []*queuepb.NewTask{t}})
		if err != nil {
			return err
		}
		if len(out.GetResults()) != 1 {
			return fmt.Errorf("the server answered with %d results to one task", len(out.GetResults()))
		}
		result := out.GetResults()[0]
		if e := result.GetError(); e != nil {
			return itemError{e}
		}
		a := f.connection.app
		if result.GetDuplicate() && a.output == formatTable {
			a.note("a task with this key exists already: nothing was stored\n")
		}
		return a.print(members{{"id", result.GetId()}, {"duplicate", result.GetDuplicate()}}, func(t *table) { t.row(result.GetId()) })
	})
}

// payload reads the payload from the argument, the file or standard input.
func (f *enqueueFlags) payload(ctx context.Context, args []string) ([]byte, error) {
	if len(args) == 1 {
		if f.file != "" {
			return nil, usageError{errors.New("a payload and --file are both given: pass one of them")}
		}
		return []byte(args[0]), nil
	}
	in, err := f.input()
	if err != nil {
		return nil, err
	}
	text, err := interruptible(ctx, func() ([]byte, error) {
		text, err := io.ReadAll(io.LimitReader(in, payloadBytesMax+1))
		return text, errors.Join(err, in.Close())
	})
	if err != nil {
		return nil, fmt.Errorf("read the payload: %w", err)
	}
	if len(text) > payloadBytesMax {
		return nil, usageError{fmt.Errorf("the payload is larger than %d MiB, the maximum of any server", payloadBytesMax>>20)}
	}
	return text, nil
}

// input opens the file, or returns standard input without a file.
func (f *enqueueFlags) input() (io.ReadCloser, error) {
	if f.file == "" {
		a := f.connection.app
		if a.asks {
			return nil, usageError{errors.New("there is no payload: pass it as an argument, with --file, or through a pipe")}
		}
		return io.NopCloser(a.in), nil
	}
	in, err := os.Open(f.file)
	if err != nil {
		return nil, usageError{fmt.Errorf("--file: %w", err)}
	}
	return in, nil
}
