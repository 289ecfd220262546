// Command generator is the load generator of one side of a duet. Package generator documents its
// input and output. It imports only its drivers, because it is also built against older versions of
// the engine's client.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/pronybench/prony/harness/generator"
)

func main() {
	if err := generator.Serve(context.Background(), os.Stdin, os.Stdout, generator.Dial); err != nil {
		fmt.Fprintln(os.Stderr, "generator:", err)
		os.Exit(1)
	}
}
