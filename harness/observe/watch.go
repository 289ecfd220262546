package observe

import (
	"math"
	"os"
	"time"

	"github.com/pronybench/prony/harness/result"
)

const (
	// watchEvery is the time between samples where a Watch's config names none.
	watchEvery = 250 * time.Millisecond
	// frequencyEvery is how many samples there are to one of the CPUs' frequencies: to be asked for them, some kernels
	// interrupt every CPU.
	frequencyEvery = 4
)

// WatchConfig says what to watch.
type WatchConfig struct {
	Root  string        // below which there are proc and sys; "" means the host's own
	Every time.Duration // between samples; 0 means 250 ms
	// OwnCPU is the CPU time that all processes of the run have used so far; nil means that of this process alone. An error
	// makes the foreign CPU time unknown.
	OwnCPU func() (time.Duration, error)
	// OwnProcesses returns the processes whose CPU time OwnCPU counts. All others but this one are named as foreign. nil: all
	// but this process and its descendants are.
	OwnProcesses func() []int
	// Sample is called with every sample, by one goroutine at a time, and never after Stop has returned. It may be nil.
	Sample func()

	clocks clocks // nil: the host's
}

// Watch watches the host from Start to Stop. What it keeps does not grow with the time in between.
type Watch struct {
	config WatchConfig
	host   hostFiles
	stop   chan struct{}
	done   chan struct{}
	began  hostEdge
	before map[int]processTimes

	// Written by the goroutine that samples, or before it starts and after it has ended.
	samples         int
	clock           clockStep
	frequency       bool // one was seen
	lowest, highest float64
	slowed          float64 // lowest of the fastest CPU's
}

// hostEdge is what the kernel had counted at an edge of the window.
type hostEdge struct {
	at       time.Time
	cpu      cpuTimes
	cpuKnown bool
	own      time.Duration
	ownErr   error
	pressure [pressures]pressure
	group    [pressures]pressure
	stopped  map[string]throttled
	known    bool // stopped is known
}

// StartWatch begins to watch. The caller must call Stop.
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

// edge reads the counters. The host's CPU time and the run's are read one right after the other.
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

// Stop takes the last sample and returns what was seen; what could not be read is nil. It must be called once.
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

// cpu fills in what the hypervisor and others took of the CPUs. /proc/stat counts hundredths of a second, so what others
// took can come out below nothing: that is nothing.
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

// since is the share of the time that passed in which some task waited; the kernel sums up what ended a moment ago too, so it
// is cut at the whole.
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

// throttled fills in the figures of the group that was stopped for longest: when one is stopped, those below it are, but the
// kernel counts that only where the quota is.
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

// percent is nil where there is no such share.
func percent(part, whole float64) *float64 {
	share := 100 * part / whole
	if math.IsNaN(share) || math.IsInf(share, 0) || share < 0 {
		return nil
	}
	return &share
}
