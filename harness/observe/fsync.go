package observe

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	fsyncsMax  = 200                    // maximum number of samples
	fsyncsFor  = 500 * time.Millisecond // after this time no sample is started
	fsyncBytes = 512                    // bytes appended before each fdatasync
)

// fsyncLatency summarises how long a small append and its fdatasync take, in milliseconds.
type fsyncLatency struct {
	p50, p99, max float64
	n             int
}

// measureFsync appends to a new file in dir and syncs it repeatedly, and then removes the file. It
// takes at least one sample and at most count samples. It ends after about limit; the limit is not
// exact, because an fdatasync cannot be interrupted.
func measureFsync(dir string, count int, limit time.Duration) (latency fsyncLatency, err error) {
	file, err := os.CreateTemp(dir, ".prony-fsync-*")
	if err != nil {
		return fsyncLatency{}, fmt.Errorf("measure fsync: %w", err)
	}
	defer func() {
		err = errors.Join(err, file.Close(), os.Remove(file.Name()))
	}()

	block := make([]byte, fsyncBytes)
	samples := make([]time.Duration, 0, count)
	for begun := time.Now(); len(samples) < count; {
		start := time.Now()
		if _, err := file.Write(block); err != nil {
			return fsyncLatency{}, fmt.Errorf("measure fsync: %w", err)
		}
		if err := fdatasync(int(file.Fd())); err != nil {
			return fsyncLatency{}, fmt.Errorf("measure fsync: fdatasync %s: %w", file.Name(), err)
		}
		samples = append(samples, time.Since(start))
		if time.Since(begun) >= limit {
			break
		}
	}
	slices.Sort(samples)
	return fsyncLatency{
		p50: milliseconds(rank(samples, 50)),
		p99: milliseconds(rank(samples, 99)),
		max: milliseconds(samples[len(samples)-1]),
		n:   len(samples),
	}, nil
}

// rank returns a percentile of sorted samples. It is the smallest sample such that at least the
// given percentage of all samples do not exceed it.
func rank(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)*percent+99)/100-1]
}

func fdatasync(fd int) error {
	for {
		if err := unix.Fdatasync(fd); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func milliseconds(d time.Duration) float64 {
	return float64(d) / float64(time.Millisecond)
}
