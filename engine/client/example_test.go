package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/storage"
)

// A producer enqueues two tasks, and a worker completes them in order.
func Example() {
	ctx := context.Background()
	c, closeAll := connect()
	defer closeAll()

	producer, err := c.Producer(ctx, "")
	check(err)
	for _, to := range []string{"ada", "alan"} {
		_, err := producer.Enqueue(ctx, client.Task{Queue: "mail", Payload: []byte(to)})
		check(err) // nil: the task is stored
	}
	_, err = producer.Enqueue(ctx, client.Task{Queue: "mail", Priority: 10})
	var refused *client.Error
	if errors.Is(err, client.ErrInvalidArgument) && errors.As(err, &refused) {
		fmt.Println("refused:", refused.Field)
	}
	check(producer.Close(ctx))

	worker, err := c.Worker(ctx, client.WorkerConfig{Queues: []string{"mail"}, Slots: 1})
	check(err)
	for range 2 {
		task, err := worker.Receive(ctx)
		check(err)
		fmt.Printf("mail to %s, attempt %d\n", task.GetPayload(), task.GetAttempt())
		check(worker.Complete(ctx, task)) // nil: the task is done, and no worker receives it again
	}
	check(worker.Close(ctx))
	// Output:
	// refused: priority
	// mail to ada, attempt 1
	// mail to alan, attempt 1
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
