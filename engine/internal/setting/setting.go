// Package setting has the error of a setting with an unusable value. The error names the setting,
// so that the program that read the configuration can report where the value came from.
//
// A server that fails with such an error fails again until the setting, or the file that it names,
// is changed.
package setting

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// Error means that the value of a setting cannot be used.
type Error struct {
	// Paths has the settings at fault, by their names in the configuration file, such as
	// "tls.cert". The first one is the most likely to need a change. Paths is empty if a limit of
	// the process is at fault.
	Paths []string
	// Remedy is the advice to the operator; it may be empty.
	Remedy string

	err error
}

// Error returns the problem and the remedy.
func (e *Error) Error() string {
	if e.Remedy == "" {
		return e.err.Error()
	}
	return e.err.Error() + ": " + e.Remedy
}

// Unwrap returns the problem.
func (e *Error) Unwrap() error { return e.err }

// Problem returns the problem without the remedy.
func (e *Error) Problem() string { return e.err.Error() }

// Wrap returns an Error of the settings at the paths. It returns nil if err is nil.
func Wrap(err error, remedy string, paths ...string) error {
	if err == nil {
		return nil
	}
	return &Error{Paths: paths, Remedy: remedy, err: err}
}

// Errorf returns an Error of the setting at a path.
func Errorf(path, remedy, format string, args ...any) error {
	return Wrap(fmt.Errorf(format, args...), remedy, path)
}

// lasting has the system errors that persist until a path, its mode or its owner is changed.
var lasting = []error{
	fs.ErrPermission, syscall.EROFS, syscall.ENOTDIR, syscall.EISDIR, syscall.ENAMETOOLONG, syscall.ELOOP, syscall.EINVAL,
}

// Path wraps an error about a file that a setting names. It returns err unchanged if the error may
// disappear without a change of the setting, such as a full disk.
func Path(err error, remedy string, paths ...string) error {
	for _, l := range lasting {
		if errors.Is(err, l) {
			return Wrap(err, remedy, paths...)
		}
	}
	return err
}

// Split splits an error, which may be several joined errors, into Errors and other errors.
func Split(err error) (settings []*Error, others []error) {
	var one *Error
	if err == nil {
		return nil, nil
	}
	if !errors.As(err, &one) {
		return nil, []error{err}
	}
	// The parts of err, not those of a wrapped error.
	if many, joined := err.(interface{ Unwrap() []error }); joined {
		for _, e := range many.Unwrap() {
			s, o := Split(e)
			settings, others = append(settings, s...), append(others, o...)
		}
		return settings, others
	}
	return []*Error{one}, nil
}
