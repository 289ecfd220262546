package stalls

import (
	"slices"
	"time"

	"github.com/pronybench/prony/engine/internal/stages"
)

// Kind is the kind of a store's background work.
type Kind string

// These are the kinds of background work.
const (
	FlushWork      Kind = "flush"
	CompactionWork Kind = "compaction"
	FsyncWork      Kind = "fsync"  // a long fsync
	AppendWork     Kind = "append" // a slow append to the Raft log
)

// Span is one piece of a store's work. Its times are times of stages.Now.
type Span struct {
	Store string
	Kind  Kind
	Began time.Duration
	Ended time.Duration // 0 while the work is running
	job   int           // Pebble's job number
}

// runningMax is the maximum number of running pieces of work that are recorded. Pebble runs a few
// compactions and one flush per store.
const runningMax = 1024

// Store reports the work of one store to a Log. Its zero value reports nothing.
type Store struct {
	log  *Log
	name string
}

// Store returns a reporter for the store with the given name.
func (l *Log) Store(name string) Store { return Store{l, name} }

// Begin records the start of work. The number of the job must be unique within the store.
func (s Store) Begin(kind Kind, job int) {
	if s.log == nil {
		return
	}
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	if len(s.log.running) < runningMax {
		s.log.running = append(s.log.running, Span{Store: s.name, Kind: kind, Began: stages.Now(), job: job})
	}
}

// End records the end of work whose start Begin has recorded.
func (s Store) End(kind Kind, job int) {
	if s.log == nil {
		return
	}
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	i := slices.IndexFunc(s.log.running, func(r Span) bool { return r.Store == s.name && r.Kind == kind && r.job == job })
	if i < 0 {
		return
	}
	done := s.log.running[i]
	s.log.running = slices.Delete(s.log.running, i, i+1)
	done.Ended = stages.Now()
	s.log.spans.add(done)
}

// Took records work that has just ended.
func (s Store) Took(kind Kind, took time.Duration) {
	if s.log == nil {
		return
	}
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	now := stages.Now()
	s.log.spans.add(Span{Store: s.name, Kind: kind, Began: now - took, Ended: now})
}

// overlap returns the total time that work of a kind ran within an interval, summed over all
// stores. The caller holds mu.
func (l *Log) overlap(kind Kind, from, to time.Duration) (sum time.Duration) {
	for _, s := range l.running {
		if s.Kind == kind {
			sum += max(0, to-max(from, s.Began))
		}
	}
	for i := range l.spans.kept {
		s := l.spans.newest(i)
		if s.Ended <= from {
			break
		}
		if s.Kind == kind {
			sum += max(0, min(to, s.Ended)-max(from, s.Began))
		}
	}
	return sum
}
