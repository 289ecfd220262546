package bare

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if IsChild(os.Args) {
		if procs := runtime.GOMAXPROCS(0); procs != 1 {
			fmt.Fprintf(os.Stderr, "GOMAXPROCS is %d\n", procs)
			os.Exit(1)
		}
		os.Exit(Main(context.Background(), os.Stdin, os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}
