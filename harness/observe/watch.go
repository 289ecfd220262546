package observe

import (
	"math"
	"os"
	"time"

	"github.com/pronybench/prony/harness/result"
)

const (
	// watchEvery is the default interval between samples.
	watchEvery = 250 * time.Millisecond
	// frequencyEvery is the number of samples after which the frequencies of the CPUs are read.
	// They are not read with each sample, because some kernels interrupt every CPU to read them.
	frequencyEvery = 4
)

// WatchConfig configures a Watch.
type WatchConfig struct {
	Root  string        // folder that contains proc and sys; "" means the real root
	Every time.Duration // interval between samples; 0 means 250 ms
	// OwnCPU returns the CPU time that all processes of the run have used so far. nil means that
	// only this process belongs to the run. If OwnCPU returns an error, the foreign CPU time is
	// unknown.
	OwnCPU func() (time.Duration, error)
	// OwnProcesses returns the processes whose CPU time OwnCPU includes. All other processes,
	// except this one, are foreign. If OwnProcesses is nil, all processes except this one and its
	// descendants are foreign.
	OwnProcesses func() []int
	// Sample is called with every sample. Calls are never concurrent, and there is no call after
	// Stop has returned. Sample may be nil.
	Sample func()

	clocks clocks // nil means the clocks of the host
}

// Watch watches the host from StartWatch to Stop. Its memory does not grow over time.
type Watch struct {
	config WatchConfig
	host   hostFiles
	stop   chan struct{}
	done   chan struct{}
	began  hostEdge
	before map[int]processTimes

	// The following fields are written by the sampling goroutine while it is running. StartWatch
	// and Stop write them before it starts and after it has ended.
	samples         int
	clock           clockStep
	frequency       bool // set if at least one frequency was read
	lowest, highest float64
	slowed          float64 // lowest frequency that the fastest CPU had
}

type hostEdge struct {
	at       time.Time
	cpu      cpuTimes
	cpuKnown bool
	own      time.Duration
	ownErr   error
	pressure [pressures]pressure
	group    [pressures]pressure
	stopped  map[string]throttled
	known    bool // set if stopped is known
}

// StartWatch starts to watch. The caller must call Stop.
func StartWatch(config WatchConfig) *Watch {
	if config.Every <= 0 {
		config.Every = watchEvery
	}
	if config.clocks == nil {
		config.clocks = hostClocks
	}
	if config.OwnCPU == nil {
		config.OwnCPU = func() (time.Duration, error) { return ProcessCPU(os.Getpid()) }
	}
	w := &Watch{config: config, host: openHost(config.Root), stop: make(chan struct{}), done: make(chan struct{})}
	w.before = w.host.processes()
	w.began = w.edge()
	w.sample()
	go w.watch()
	return w
}

// edge reads the counters. It reads the CPU times of the host and of the run directly after each
// other.
func (w *Watch) edge() (e hostEdge) {
	e.pressure, e.group = w.host.hostPressure(), w.host.groupPressure()
	e.stopped, e.known = w.host.throttling()
	e.cpu, e.cpuKnown = w.host.cpuTimes()
	e.own, e.ownErr = w.config.OwnCPU()
	e.at = time.Now()
	return e
}

func (w *Watch) watch() {
	defer close(w.done)
	tick := time.NewTicker(w.config.Every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			w.sample()
		case <-w.stop:
			return
		}
	}
}

func (w *Watch) sample() {
	w.clock.sample(w.config.clocks)
	if w.samples%frequencyEvery == 0 {
		w.sampleFrequency()
	}
	if w.config.Sample != nil {
		w.config.Sample()
	}
	w.samples++
}

func (w *Watch) sampleFrequency() {
	low, high, known := w.host.frequencies()
	if !known {
		return
	}
	if !w.frequency {
		w.frequency, w.lowest, w.highest, w.slowed = true, low, high, high
	}
	w.lowest, w.highest, w.slowed = min(w.lowest, low), max(w.highest, high), min(w.slowed, high)
}

// Stop takes the last sample and returns the signals. A signal that could not be read is nil. Stop
// must be called once.
func (w *Watch) Stop() result.Signals {
	close(w.stop)
	<-w.done
	w.sample()
	w.sampleFrequency()
	ended := w.edge()
	s := result.Signals{Samples: w.samples, ClockStepMs: new(w.clock.ms())}
	if w.frequency {
		s.FrequencyMHzMin, s.FrequencyMHzMax = new(w.lowest), new(w.highest)
		s.FrequencyDropPercent = percent(w.highest-w.slowed, w.highest)
	}
	w.cpu(&s, &ended)
	passed := ended.at.Sub(w.began.at)
	for i, into := range [pressures]struct{ host, group **float64 }{
		{&s.PressureCPUPercent, &s.GroupPressureCPUPercent},
		{&s.PressureIOPercent, &s.GroupPressureIOPercent},
		{&s.PressureMemoryPercent, &s.GroupPressureMemoryPercent},
	} {
		*into.host = ended.pressure[i].since(w.began.pressure[i], passed)
		*into.group = ended.group[i].since(w.began.group[i], passed)
	}
	if w.began.known && ended.known {
		w.throttled(&s, &ended, passed)
	}
	return s
}

// cpu adds the CPU time that the hypervisor and foreign processes used. Because /proc/stat has a
// resolution of a hundredth of a second, the computed foreign time may be negative; it is then
// reported as 0.
func (w *Watch) cpu(s *result.Signals, ended *hostEdge) {
	if !w.began.cpuKnown || !ended.cpuKnown {
		return
	}
	all := float64(ended.cpu.all - w.began.cpu.all)
	if all <= 0 {
		return
	}
	s.StealPercent = percent(float64(ended.cpu.steal-w.began.cpu.steal), all)
	if w.began.ownErr != nil || ended.ownErr != nil {
		return
	}
	used := (ended.cpu.busy - w.began.cpu.busy) - (ended.own - w.began.own)
	s.ForeignCPUPercent = percent(max(0, float64(used)), all)
	if s.ForeignCPUPercent != nil && *s.ForeignCPUPercent >= foreignLeastPercent {
		s.ForeignProcesses = w.foreignProcesses(ended.cpu.all - w.began.cpu.all)
	}
}

// since returns the share of the given time during which at least one task waited, in percent. It
// limits the share to 100, because the kernel may also include stalls that ended shortly before.
func (p pressure) since(earlier pressure, passed time.Duration) *float64 {
	if !p.known || !earlier.known {
		return nil
	}
	share := percent(float64(p.stalled-earlier.stalled), float64(passed))
	if share != nil {
		*share = min(100, *share)
	}
	return share
}

// throttled adds the figures of the group that was stopped for the longest time. A quota also stops
// all groups below its group, but the kernel counts this only in the group that has the quota.
func (w *Watch) throttled(s *result.Signals, ended *hostEdge, passed time.Duration) {
	var most throttled
	for dir, now := range ended.stopped {
		before, was := w.began.stopped[dir]
		if !was || now.stopped < before.stopped || now.periods < before.periods {
			continue
		}
		if stopped := now.stopped - before.stopped; stopped >= most.stopped {
			most = throttled{periods: max(most.periods, now.periods-before.periods), stopped: stopped}
		}
	}
	s.ThrottledMs = new(float64(most.stopped) / float64(time.Millisecond))
	s.ThrottledPeriods = new(float64(most.periods))
	s.ThrottledPercent = percent(float64(most.stopped), float64(passed))
}

func percent(part, whole float64) *float64 {
	share := 100 * part / whole
	if math.IsNaN(share) || math.IsInf(share, 0) || share < 0 {
		return nil
	}
	return &share
}
