package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/generator"
)

// generatorCommand is what a guard starts as the load generator of each side of a duet: package generator says what it reads and writes.
func generatorCommand() *cobra.Command {
	return &cobra.Command{
		Use:    generatorName,
		Short:  "Put load on servers as a duet says on standard input",
		Hidden: true,
		Args:   noArguments.check,
		RunE: func(c *cobra.Command, _ []string) error {
			return generator.Serve(c.Context(), c.InOrStdin(), c.OutOrStdout(), generator.Dial)
		},
	}
}

const generatorName = "generator"

// ownGenerator returns the program of this process, which is a generator with the argument generatorName.
func ownGenerator() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program, which is started as the load generator too: %w", err)
	}
	return program, nil
}
