package main

import (
	"context"
	"fmt"
	"os"

	"github.com/pronybench/prony/harness/generator"
)

// generatorArg makes this program the load generator of one side of a duet. Package generator
// documents its input and output.
const generatorArg = "--generator"

func isGenerator(args []string) bool { return len(args) == 2 && args[1] == generatorArg }

func generatorMain(ctx context.Context) int {
	if err := generator.Serve(ctx, os.Stdin, os.Stdout, generator.Dial); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "generator:", err)
		return 1
	}
	return 0
}

// ownGenerator returns the path of this program, which is a generator if started with generatorArg.
func ownGenerator() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program, which is also the load generator: %w", err)
	}
	return program, nil
}
