// Package setting defines the error for a setting whose value cannot be used. The error names the
// setting. The program that has read the configuration can then report where the value came from.
//
// If a server fails with such an error, it fails again until the setting, or the file that the
// setting names, is changed.
package setting

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// Error means that the value of a setting cannot be used.
type Error struct {
	// Paths are the names of the settings at fault in the configuration file, such as "tls.cert".
	// The first one most likely needs a change. Paths is empty if a limit of the process is at
	// fault.
	Paths []string
	// Remedy is the advice to the operator, or "".
	Remedy string

	err error
}

// Error returns the problem followed by the remedy.
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

// Wrap returns an Error for the settings with the given paths. It returns nil if err is nil.
func Wrap(err error, remedy string, paths ...string) error {
	if err == nil {
		return nil
	}
	return &Error{Paths: paths, Remedy: remedy, err: err}
}

// Errorf returns an Error for the setting with the given path.
func Errorf(path, remedy, format string, args ...any) error {
	return Wrap(fmt.Errorf(format, args...), remedy, path)
}

// lasting lists the system errors that persist until a path, or the mode or owner of a file, is
// changed.
var lasting = []error{
	fs.ErrPermission, syscall.EROFS, syscall.ENOTDIR, syscall.EISDIR, syscall.ENAMETOOLONG, syscall.ELOOP, syscall.EINVAL,
}

// Path wraps an error about a file that a setting names. If the error may disappear without a
// change of the setting, as with a full disk, Path returns err unchanged.
func Path(err error, remedy string, paths ...string) error {
	for _, l := range lasting {
		if errors.Is(err, l) {
			return Wrap(err, remedy, paths...)
		}
	}
	return err
}

// Split splits an error, which may consist of several joined errors, into values of type Error and
// all other errors.
func Split(err error) (settings []*Error, others []error) {
	var one *Error
	if err == nil {
		return nil, nil
	}
	if !errors.As(err, &one) {
		return nil, []error{err}
	}
	// This splits only joined errors, not errors that a single error wraps.
	if many, joined := err.(interface{ Unwrap() []error }); joined {
		for _, e := range many.Unwrap() {
			s, o := Split(e)
			settings, others = append(settings, s...), append(others, o...)
		}
		return settings, others
	}
	return []*Error{one}, nil
}
