package route

import "errors"

// ErrRetry means that a call had no effect at a node, and that another node may lead now.
// Router.Retry may then repeat the call. Clients never receive this error.
var ErrRetry = errors.New("other nodes lead now")
