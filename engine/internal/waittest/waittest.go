// Package waittest limits the waits of tests.
package waittest

import "time"

// Most limits waits for events that occur on every host, such as an election, a flush, or an answer
// over loopback. Only a hanging test waits this long, so Most is far above the needs of an
// overloaded host. It is less than the timeout of a test binary, so that a hanging test fails and
// reports what it was waiting for.
const Most = 5 * time.Minute
