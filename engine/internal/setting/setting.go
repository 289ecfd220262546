// Package setting has the error of a setting whose value cannot be used. The error names the setting, so that the program that read the
// configuration can say where the value came from.
//
// A server that ends with such an error ends with it again until somebody changes the setting, or what the setting names.
package setting

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// Error says that the value of a setting cannot be used.
type Error struct {
	// Paths are the settings at fault, by their names in the configuration file: "tls.cert". The first one is the most likely one to be
	// changed. It is empty if a limit of the process is at fault.
	Paths []string
	// Remedy is what to do; it may be empty.
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

// lasting are the errors of the system that stay until somebody changes a path, its mode or its owner.
var lasting = []error{
	fs.ErrPermission, syscall.EROFS, syscall.ENOTDIR, syscall.EISDIR, syscall.ENAMETOOLONG, syscall.ELOOP, syscall.EINVAL,
}

// Path wraps an error about a file that a setting names, unless the error may pass without a change of the setting, as a full disk
// does.
func Path(err error, remedy string, paths ...string) error {
	for _, l := range lasting {
		if errors.Is(err, l) {
			return Wrap(err, remedy, paths...)
		}
	}
	return err
}

// Split returns the Errors that err consists of, and the other errors: err may be one error or several, joined.
func Split(err error) (settings []*Error, others []error) {
	var one *Error
	if err == nil {
		return nil, nil
	}
	if !errors.As(err, &one) {
		return nil, []error{err}
	}
	if many, joined := err.(interface{ Unwrap() []error }); joined { // its own parts, not those of what it wraps
		for _, e := range many.Unwrap() {
			s, o := Split(e)
			settings, others = append(settings, s...), append(others, o...)
		}
		return settings, others
	}
	return []*Error{one}, nil
}
