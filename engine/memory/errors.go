package memory

import "errors"

// ErrExhausted says that the server holds as much as its memory allows; the caller should try again later.
var ErrExhausted = errors.New("the server holds as much as its memory allows: try again later")
