package observe

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// helperEnv makes the test binary act as a child process: it touches memory, burns CPU on two
// threads, writes "ready", and ends when its standard input is closed.
const helperEnv = "PRONY_OBSERVE_TEST_HELPER"

func TestMain(m *testing.M) {
	if os.Getenv(helperEnv) != "" {
		burnAndWait()
		return
	}
	goleak.VerifyTestMain(m)
}

// helperBytes is the memory that the helper makes resident and releases before it writes "ready".
const helperBytes = 64 << 20

// burnFor is the CPU time that the helper uses before it writes "ready".
const burnFor = 200 * time.Millisecond

func burnAndWait() {
	memory, err := syscall.Mmap(-1, 0, helperBytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	for i := 0; i < len(memory); i += 4096 {
		memory[i] = 1
	}
	if err := syscall.Munmap(memory); err != nil {
		panic(err)
	}
	fmt.Println("ready")
	buffer := make([]byte, 1)
	for {
		if n, err := os.Stdin.Read(buffer); n == 0 || err != nil {
			return
		}
		burn(burnFor)
		fmt.Println("burnt")
	}
}

func burn(d time.Duration) {
	begun := selfCPU()
	for x := uint64(1); selfCPU()-begun < d; {
		for range 10000 {
			x = x*6364136223846793005 + 1
		}
		sink = x
	}
}

var sink uint64

func selfCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
