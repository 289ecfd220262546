package ui

import (
	"net"
	"sync"
	"time"
)

// These constants limit failed attempts to sign in.
const (
	signInsMax   = 10          // of one address within signInsTime
	signInsTime  = time.Minute // the time after which an address starts anew
	addressesMax = 1_000
)

// failedSignIns counts failed attempts to sign in by address. An access token has 256 random bits, so
// that trying finds none; the limit keeps the log and the CPU free of the attempts.
type failedSignIns struct {
	now func() time.Time

	mu sync.Mutex
	of map[string]*failed // guarded by mu
}

type failed struct {
	times int
	since time.Time
}

func newFailedSignIns(now func() time.Time) *failedSignIns {
	return &failedSignIns{now: now, of: map[string]*failed{}}
}

// addressOf returns the host of a remote address.
func addressOf(remote string) string {
	if host, _, err := net.SplitHostPort(remote); err == nil {
		return host
	}
	return remote
}

// wait returns how long an address must wait before its next attempt.
func (f *failedSignIns) wait(address string) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	is := f.of[f.slotLocked(address)]
	if is == nil || is.times < signInsMax {
		return 0
	}
	return max(0, signInsTime-f.now().Sub(is.since))
}

// add records a failed attempt of an address.
func (f *failedSignIns) add(address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	slot := f.slotLocked(address)
	is := f.of[slot]
	if is == nil || now.Sub(is.since) >= signInsTime {
		is = &failed{since: now}
		f.of[slot] = is
	}
	is.times++
}

// slotLocked returns the key of an address. When there are too many addresses, further ones share
// a key. The caller holds mu.
func (f *failedSignIns) slotLocked(address string) string {
	if f.of[address] != nil || len(f.of) < addressesMax {
		return address
	}
	for other, is := range f.of {
		if f.now().Sub(is.since) >= signInsTime {
			delete(f.of, other)
		}
	}
	if len(f.of) < addressesMax {
		return address
	}
	return "others"
}
