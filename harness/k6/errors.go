package k6

import "errors"

// errInit is the error of a call in the init context.
var errInit = errors.New("not available in the init context: call it in setup, in teardown, or in a VU's function")

// errAside is the error of a call of load.next in setup or teardown.
var errAside = errors.New("not available in setup and teardown, which are outside of the load: call it in a VU's function")

// errSessionClosed is the error of a call on a session that the script has closed.
var errSessionClosed = errors.New("the session is closed; open another one")
