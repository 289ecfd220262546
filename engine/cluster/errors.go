package cluster

import "errors"

// errClosed is returned for calls to other nodes after Close.
var errClosed = errors.New("the node is stopping")
