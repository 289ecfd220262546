package cluster

import "errors"

// errClosed is the error of a call to another node after Close.
var errClosed = errors.New("the node is stopping")
