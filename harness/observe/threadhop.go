package observe

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	hopsMax    = 2000                   // maximum number of round trips
	hopsWarmup = 100                    // number of round trips before the first measured one
	hopsFor    = 200 * time.Millisecond // after this time no round trip is started
)

// threadHop summarises how long a hop between two OS threads takes, in microseconds.
type threadHop struct {
	p50, p99 float64
	n        int
}

// measureThreadHop passes a byte back and forth between two OS threads through two pipes. It makes
// at least one and at most count round trips, and ends after about limit. A hop is half of a round
// trip. It starts before one thread writes the byte, and ends when the other thread, which waits in
// read, has received the byte. Each of the two goroutines is locked to its thread; the kernel
// chooses the CPUs of the threads.
//
// measureThreadHop raises GOMAXPROCS to two during the measurement. If GOMAXPROCS were one, a
// thread that waits in read would block the other thread until Go's monitor retakes the processor.
func measureThreadHop(warmup, count int, limit time.Duration) (hop threadHop, err error) {
	if before := runtime.GOMAXPROCS(0); before < 2 {
		runtime.GOMAXPROCS(2)
		defer runtime.GOMAXPROCS(before)
	}
	var there, back [2]int
	if err := errors.Join(unix.Pipe2(there[:], unix.O_CLOEXEC), unix.Pipe2(back[:], unix.O_CLOEXEC)); err != nil {
		// If the process has no descriptors left, the descriptors of one pipe may leak.
		return hop, fmt.Errorf("measure a hop between threads: %w", err)
	}
	answered := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		answered <- errors.Join(answerHops(there[0], back[1]), unix.Close(back[1]))
	}()
	samples, err := roundTrips(there[1], back[0], warmup, count, limit)
	err = errors.Join(err, unix.Close(there[1])) // ends the other thread
	err = errors.Join(err, <-answered, unix.Close(there[0]), unix.Close(back[0]))
	if err != nil {
		return hop, fmt.Errorf("measure a hop between threads: %w", err)
	}
	slices.Sort(samples)
	return threadHop{p50: hopUs(rank(samples, 50)), p99: hopUs(rank(samples, 99)), n: len(samples)}, nil
}

// roundTrips returns the durations of the round trips that follow the warm-up.
func roundTrips(out, in, warmup, count int, limit time.Duration) (samples []time.Duration, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var token [1]byte
	samples = make([]time.Duration, 0, count)
	begun := time.Now()
	for trip := 0; len(samples) < count && (len(samples) == 0 || time.Since(begun) < limit); trip++ {
		start := time.Now()
		if err := passOn(out, token[:]); err != nil {
			return nil, err
		}
		if err := take(in, token[:]); err != nil {
			return nil, err
		}
		if trip >= warmup {
			samples = append(samples, time.Since(start))
		}
	}
	return samples, nil
}

// answerHops writes back each byte that it reads, until the writer closes the pipe.
func answerHops(in, out int) error {
	var token [1]byte
	for {
		if err := take(in, token[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := passOn(out, token[:]); err != nil {
			return err
		}
	}
}

func passOn(fd int, token []byte) error {
	for {
		if _, err := unix.Write(fd, token); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func take(fd int, token []byte) error {
	for {
		n, err := unix.Read(fd, token)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		case n == 0:
			return io.EOF
		default:
			return nil
		}
	}
}

func hopUs(trip time.Duration) float64 { return float64(trip) / 2 / float64(time.Microsecond) }
