// Package validity logs when a certificate in use has expired, will expire soon, or is not valid
// yet.
package validity

import (
	"crypto/x509"
	"log/slog"
	"sync"
	"time"
)

// Soon is the time before the end of a certificate from which on Watch logs a warning.
const Soon = 14 * 24 * time.Hour

// State is the validity of a certificate at a point in time.
type State int

// These are the states.
const (
	Valid State = iota
	EndsSoon
	Ended
	NotYet
)

// Of returns the state of a certificate at time now.
func Of(c *x509.Certificate, now time.Time) State {
	switch {
	case now.Before(c.NotBefore):
		return NotYet
	case !now.Before(c.NotAfter):
		return Ended
	case now.Add(Soon).After(c.NotAfter):
		return EndsSoon
	}
	return Valid
}

// Watch logs the state of a certificate that is in use. It logs once for each certificate, and
// again when the state changes. It is safe for concurrent use.
type Watch struct {
	log    *slog.Logger
	what   string
	effect string
	now    func() time.Time

	mu    sync.Mutex
	seen  *x509.Certificate
	state State
}

// New returns a Watch. Each message starts with what, the name of the certificate. effect describes
// the consequence of an invalid certificate.
func New(log *slog.Logger, what, effect string, now func() time.Time) *Watch {
	return &Watch{log: log, what: what, effect: effect, now: now}
}

// Look checks the certificate that is in use now.
func (w *Watch) Look(c *x509.Certificate) {
	state := Of(c, w.now())
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen != nil && w.seen.Equal(c) && w.state == state {
		return
	}
	w.seen, w.state = c, state
	switch state {
	case Valid:
	case EndsSoon:
		w.log.Warn(w.what+" expires soon: renew it", "valid_until", c.NotAfter)
	case Ended:
		w.log.Error(w.what+" has expired: "+w.effect+": renew it", "valid_until", c.NotAfter)
	case NotYet:
		w.log.Error(w.what+" is not valid yet: "+w.effect+": set the clock, or use another certificate", "valid_from", c.NotBefore)
	}
}
