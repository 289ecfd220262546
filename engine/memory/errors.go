package memory

import "errors"

// ErrExhausted means that the server has reached its memory limit. The caller should retry later.
var ErrExhausted = errors.New("the server has reached its memory limit: try again later")
