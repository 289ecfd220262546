package k6

import "errors"

// errInit is the error of a call in the init context.
var errInit = errors.New("nothing is sent while the script is read: call it in setup, in teardown, or in a VU's function")

// errAside is the error of setup and teardown that ask for tasks of the load.
var errAside = errors.New("setup comes before the load, and teardown after it: call it in a VU's function")

// errSessionClosed is the error of a script that uses a session after it has closed the session.
var errSessionClosed = errors.New("it was closed before; open another one")
