// Package waittest bounds the waits of tests.
package waittest

import "time"

// Most bounds waits for events that occur on every host: an election, a flush, an answer over
// loopback. Only a hanging test waits this long, so the bound is far above the needs of an
// overloaded host. It is below the timeout of a test binary, so that a hanging test fails and
// reports its condition.
const Most = 5 * time.Minute
