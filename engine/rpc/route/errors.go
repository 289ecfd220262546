package route

import "errors"

// ErrRetry means that a call had no effect at a node, and that another node may lead now:
// Router.Retry may repeat the call. Clients never receive it.
var ErrRetry = errors.New("other nodes lead now")
