package profile

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

const (
	wait = 30 * time.Second
	tick = time.Millisecond
)

var (
	mutexCapture = scenario.Capture{Kind: "mutex", MutexFraction: 1}
	blockCapture = scenario.Capture{Kind: "block", BlockRate: 1}
)

// contend makes wanter wait once for a lock that holder then releases.
func contend(t *testing.T, holder func(*sync.Mutex)) {
	t.Helper()
	var mu sync.Mutex
	var done sync.WaitGroup
	mu.Lock()
	done.Go(func() { wanter(&mu) })
	waitUntilWaiting(t, "wanter", "sync.Mutex.Lock")
	holder(&mu)
	done.Wait()
}

//go:noinline
func wanter(mu *sync.Mutex) {
	mu.Lock()
	defer mu.Unlock()
}

//go:noinline
func holderBefore(mu *sync.Mutex) { mu.Unlock() }

//go:noinline
func holderInWindow(mu *sync.Mutex) { mu.Unlock() }

//go:noinline
func holderAlways(mu *sync.Mutex) { mu.Unlock() }

//go:noinline
func holderAfter(mu *sync.Mutex) { mu.Unlock() }

// block makes receiver, which is called name, wait once for a channel.
func block(t *testing.T, name string, receiver func(chan int)) {
	t.Helper()
	ch := make(chan int)
	var done sync.WaitGroup
	done.Go(func() { receiver(ch) })
	waitUntilWaiting(t, name, "chan receive")
	ch <- 1
	done.Wait()
}

//go:noinline
func receiverBefore(ch chan int) { <-ch }

//go:noinline
func receiverInWindow(ch chan int) { <-ch }

var kept []byte

//go:noinline
func allocateBefore() {
	defer recordAllocations()()
	kept = make([]byte, 1<<20)
}

//go:noinline
func allocateInWindow(bytes int) {
	defer recordAllocations()()
	kept = make([]byte, bytes)
}

// recordAllocations records every allocation until the returned function is called, so that tests
// can expect exact sizes. If the whole process did so, its profiles would be large.
func recordAllocations() (stop func()) {
	before := runtime.MemProfileRate
	runtime.MemProfileRate = 1
	return func() { runtime.MemProfileRate = before }
}

func read(t *testing.T, runDir, file string) *profile.Profile {
	t.Helper()
	f, err := os.Open(filepath.Join(runDir, filepath.FromSlash(file)))
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	p, err := profile.Parse(f)
	require.NoError(t, err)
	require.NoError(t, p.CheckValid())
	return p
}

// sum adds the values of a sample type over the samples whose stack has function.
func sum(t *testing.T, p *profile.Profile, sampleType, function string) int64 {
	t.Helper()
	index, err := valueIndex(p, sampleType)
	require.NoError(t, err)
	var total int64
	for _, s := range p.Sample {
		for _, name := range frames(s) {
			if strings.HasSuffix(name, "profile."+function) {
				total += s.Value[index]
				break
			}
		}
	}
	return total
}

func find(top []result.ProfileEntry, function string) *result.ProfileEntry {
	for i := range top {
		if strings.HasSuffix(top[i].Function, "profile."+function) {
			return &top[i]
		}
	}
	return nil
}

// marks returns marks that are a second and ten cycles apart.
func marks() func() Mark {
	var n uint64
	return func() Mark {
		n++
		return Mark{At: time.Unix(int64(n), 0), Cycles: 10 * n}
	}
}

func TestMutexProfileCoversOnlyTheWindow(t *testing.T) {
	p := newProcess(t)
	p.setRate("mutex", 1) // so that the process's profile has contention from before the window
	contend(t, holderBefore)
	for range 3 {
		contend(t, holderAlways)
	}

	s, err := Start(t.Context(), Server{p.admin}, []scenario.Capture{mutexCapture}, marks())
	require.NoError(t, err)
	assert.Equal(t, int64(1), p.rate("mutex"))
	contend(t, holderInWindow)
	for range 2 {
		contend(t, holderAlways)
	}
	require.NoError(t, s.Stop(t.Context()))
	assert.Zero(t, p.rate("mutex"))
	p.setRate("mutex", 1)
	contend(t, holderAfter)

	dir := t.TempDir()
	profiles, err := s.Write(dir, "profiles")
	require.NoError(t, err)
	require.Len(t, profiles, 1)
	assert.Equal(t, "mutex", profiles[0].Kind)
	assert.Equal(t, "profiles/mutex.pb.gz", profiles[0].File)
	assert.Equal(t, "nanoseconds", profiles[0].Unit)
	stored := read(t, dir, profiles[0].File)
	assert.Equal(t, int64(0), sum(t, stored, "contentions", "holderBefore"))
	assert.Equal(t, int64(1), sum(t, stored, "contentions", "holderInWindow"))
	assert.Equal(t, int64(2), sum(t, stored, "contentions", "holderAlways"))
	assert.Equal(t, int64(0), sum(t, stored, "contentions", "holderAfter"))
	assert.Equal(t, "delay", stored.DefaultSampleType)
	assert.Positive(t, stored.DurationNanos)

	entry := find(profiles[0].Top, "holderInWindow")
	require.NotNil(t, entry, "%+v", profiles[0].Top)
	assert.InDelta(t, float64(sum(t, stored, "delay", "holderInWindow")), entry.Flat, 0)
	assert.InDelta(t, entry.Flat, entry.Cum, 0)
	assert.InDelta(t, entry.Flat/profiles[0].Total, entry.Share, 1e-9)
	assert.Nil(t, find(profiles[0].Top, "holderBefore"))
}

func TestBlockProfileCoversOnlyTheWindow(t *testing.T) {
	p := newProcess(t)
	p.setRate("block", 1)
	block(t, "receiverBefore", receiverBefore)

	s, err := Start(t.Context(), Server{p.admin}, []scenario.Capture{blockCapture}, marks())
	require.NoError(t, err)
	assert.Equal(t, int64(1), p.rate("block"))
	assert.Zero(t, p.rate("mutex"), "a rate that no capture needs is unchanged")
	block(t, "receiverInWindow", receiverInWindow)
	require.NoError(t, s.Stop(t.Context()))
	assert.Zero(t, p.rate("block"))

	dir := t.TempDir()
	profiles, err := s.Write(dir, "profiles")
	require.NoError(t, err)
	stored := read(t, dir, profiles[0].File)
	assert.Zero(t, sum(t, stored, "contentions", "receiverBefore"))
	assert.Equal(t, int64(1), sum(t, stored, "contentions", "receiverInWindow"))
	assert.NotNil(t, find(profiles[0].Top, "receiverInWindow"), "%+v", profiles[0].Top)
	for _, e := range profiles[0].Top {
		assert.False(t, e.Flat > 0 && packageOf(e.Function) == "runtime", "charged to %s", e.Function)
	}
}

func TestAllocationsCoverOnlyTheWindow(t *testing.T) {
	p := newProcess(t)
	allocateBefore()
	allocateInWindow(1 << 20)
	s, err := Start(t.Context(), Server{p.admin}, []scenario.Capture{{Kind: "allocs"}}, marks())
	require.NoError(t, err)
	allocateInWindow(64 << 20)
	require.NoError(t, s.Stop(t.Context()))
	allocateInWindow(1 << 20)

	dir := t.TempDir()
	profiles, err := s.Write(dir, "p")
	require.NoError(t, err)
	stored := read(t, dir, "p/allocs.pb.gz")
	assert.Zero(t, sum(t, stored, "alloc_space", "allocateBefore"))
	assert.Equal(t, int64(64<<20), sum(t, stored, "alloc_space", "allocateInWindow"))
	assert.Equal(t, int64(1), sum(t, stored, "alloc_objects", "allocateInWindow"))
	require.Len(t, stored.SampleType, 2, "a difference of memory in use is meaningless")
	assert.Equal(t, "bytes", profiles[0].Unit)
	assert.NotNil(t, find(profiles[0].Top, "allocateInWindow"), "%+v", profiles[0].Top)
}

func TestCPUAndGoroutinesOfTheWindow(t *testing.T) {
	p := newProcess(t)
	s, err := Start(t.Context(), Server{p.admin}, []scenario.Capture{{Kind: "goroutine"}, {Kind: "cpu"}}, marks())
	require.NoError(t, err)
	require.NoError(t, s.StartCPU(t.Context()))
	ch := make(chan int)
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() { receiverInWindow(ch) })
	done.Go(func() { burnInWindow(stop) })
	waitUntilWaiting(t, "receiverInWindow", "chan receive")
	burnt, err := cpuTime()
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		now, err := cpuTime()
		return err == nil && now-burnt > 200*time.Millisecond // twenty samples
	}, wait, tick)
	require.NoError(t, s.Stop(t.Context()))
	require.NoError(t, s.Stop(t.Context()), "a second Stop does nothing")
	close(stop)
	ch <- 1
	done.Wait()

	dir := t.TempDir()
	profiles, err := s.Write(dir, "profiles")
	require.NoError(t, err)
	require.Len(t, profiles, 2)
	assert.Equal(t, "cpu", profiles[0].Kind)
	assert.Equal(t, "nanoseconds", profiles[0].Unit)
	assert.Positive(t, profiles[0].Total)
	assert.NotNil(t, find(profiles[0].Top, "burnInWindow"), "%+v", profiles[0].Top)
	assert.Positive(t, sum(t, read(t, dir, "profiles/cpu.pb.gz"), "cpu", "burnInWindow"))
	assert.Equal(t, "goroutine", profiles[1].Kind)
	assert.Equal(t, "count", profiles[1].Unit)
	entry := find(profiles[1].Top, "receiverInWindow")
	require.NotNil(t, entry, "%+v", profiles[1].Top)
	assert.InDelta(t, 1, entry.Flat, 0)
	assert.False(t, p.askedFor("/debug/rates"), "no capture needs a rate")
}

func cpuTime() (time.Duration, error) { return observe.ProcessCPU(os.Getpid()) }

var sink uint64

//go:noinline
func burnInWindow(stop chan struct{}) {
	for x := uint64(1); ; {
		select {
		case <-stop:
			sink = x
			return
		default:
		}
		for range 100000 {
			x = x*6364136223846793005 + 1
		}
	}
}

// A profile's cycles are those of the time that it covers, not of the time between two requests.
func TestSpans(t *testing.T) {
	p := newProcess(t)
	s, err := Start(t.Context(), Server{p.admin}, []scenario.Capture{{Kind: "cpu"}, mutexCapture, {Kind: "goroutine"}}, marks())
	require.NoError(t, err)
	require.NoError(t, s.StartCPU(t.Context()))
	require.NoError(t, s.Stop(t.Context()))
	spans := s.Spans()
	assert.Equal(t, Span{From: Mark{time.Unix(1, 0), 10}, To: Mark{time.Unix(4, 0), 40}}, spans["mutex"])
	assert.EqualValues(t, 30, spans["mutex"].Cycles())
	assert.Zero(t, spans["goroutine"].Cycles(), "a state")
	assert.Equal(t, Mark{time.Unix(3, 0), 30}, spans["cpu"].To)
	recorded := time.Duration(s.profiles["cpu"].DurationNanos)
	assert.Equal(t, recorded, spans["cpu"].To.At.Sub(spans["cpu"].From.At), "between the requests passed one second")

	second := Span{From: Mark{time.Unix(1, 0), 1000}, To: Mark{time.Unix(2, 0), 2000}}
	half := second.lasting(500 * time.Millisecond)
	assert.Equal(t, Span{From: Mark{time.Unix(1, 500e6), 1500}, To: second.To}, half)
	assert.Equal(t, second, second.lasting(0), "a profile without a duration")
	assert.EqualValues(t, 2000, second.lasting(time.Minute).Cycles(), "at most the completed cycles")
}

// Load generators profile themselves: in a run this process, in a duet another process on request.
func TestProfilesOfThisProcess(t *testing.T) {
	var asked Self
	for name, of := range map[string]Process{"itself": &Self{}, "asked": Remote(asked.Answer)} {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { runtime.SetMutexProfileFraction(0); runtime.SetBlockProfileRate(0) })
			s, err := Start(t.Context(), of, []scenario.Capture{{Kind: "cpu"}, mutexCapture, blockCapture, {Kind: "allocs"}, {Kind: "goroutine"}}, marks())
			require.NoError(t, err)
			require.NoError(t, s.StartCPU(t.Context()))
			contend(t, holderInWindow)
			block(t, "receiverInWindow", receiverInWindow)
			allocateInWindow(64 << 20)
			require.NoError(t, s.Stop(t.Context()))
			dir := t.TempDir()
			profiles, err := s.Write(dir, "profiles")
			require.NoError(t, err)
			require.Len(t, profiles, 5)
			assert.Equal(t, int64(1), sum(t, read(t, dir, "profiles/mutex.pb.gz"), "contentions", "holderInWindow"))
			assert.Equal(t, int64(1), sum(t, read(t, dir, "profiles/block.pb.gz"), "contentions", "receiverInWindow"))
			assert.Equal(t, int64(64<<20), sum(t, read(t, dir, "profiles/allocs.pb.gz"), "alloc_space", "allocateInWindow"))
			for _, p := range profiles {
				for _, sample := range read(t, dir, p.File).Sample {
					for _, function := range frames(sample) {
						assert.NotContains(t, function, "profile.(*Se", "%s: profiling does not count as work of the generator", p.Kind)
					}
				}
			}
			assert.Zero(t, runtime.SetMutexProfileFraction(-1))
		})
	}
}

func TestRequestsForProfilesThatAreUnknown(t *testing.T) {
	var s Self
	texts := golden.Cases(t, "testdata/requests.golden")
	for name, ask := range map[string]Request{
		"unknown":       {Do: "dump"},
		"snapshot cpu":  {Do: doSnapshot, Kind: "cpu"},
		"snapshot heap": {Do: doSnapshot, Kind: "heap"},
	} {
		_, err := s.Answer(t.Context(), ask)
		texts.Error(t, name, err)
	}
}

func TestProfilingItselfIsLeftOut(t *testing.T) {
	p := newProcess(t)
	captures := []scenario.Capture{blockCapture, {Kind: "allocs"}, {Kind: "goroutine"}, {Kind: "cpu"}}
	s, err := Start(t.Context(), Server{p.admin}, captures, marks())
	require.NoError(t, err)
	require.NoError(t, s.StartCPU(t.Context()))
	block(t, "receiverInWindow", receiverInWindow)
	require.NoError(t, s.Stop(t.Context()))
	dir := t.TempDir()
	profiles, err := s.Write(dir, "profiles")
	require.NoError(t, err)
	require.Len(t, profiles, 4)
	for _, summary := range profiles {
		for _, sample := range read(t, dir, summary.File).Sample {
			for _, function := range frames(sample) {
				assert.NotEqual(t, "net/http/pprof", packageOf(function), "%s in the %s profile", function, summary.Kind)
			}
		}
	}
	assert.Positive(t, sum(t, read(t, dir, "profiles/block.pb.gz"), "contentions", "receiverInWindow"), "the other samples remain")
}
