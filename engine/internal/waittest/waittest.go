// Package waittest bounds the waits of tests.
package waittest

import "time"

// Most bounds waits for events that occur on every host: an election, a flush, an answer over loopback. Only a test
// that hangs waits this long, so the bound is far longer than an overloaded host needs. It is shorter than the timeout
// of a test binary, so that a hanging test fails and reports its condition.
const Most = 5 * time.Minute
