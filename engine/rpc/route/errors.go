package route

import "errors"

// ErrRetry says that a node did nothing of a call, and that another node may lead now: Router.Retry may try the call again. It
// reaches no client.
var ErrRetry = errors.New("other nodes lead now")
