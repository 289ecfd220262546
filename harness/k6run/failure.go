package k6run

// Error is a failure of a k6 process or its script, with the context for a diagnosis.
type Error struct {
	Script string
	// Thresholds describes the crossed thresholds of the script if k6 ended because of them;
	// otherwise "".
	Thresholds string

	cause error // if k6 was started, with its status and the last lines of its log
}

// Error returns several lines: the crossed thresholds, the cause and the script.
func (e *Error) Error() string {
	text := e.cause.Error() + "\n  script: " + e.Script
	if e.Thresholds != "" {
		text = e.Thresholds + "\n" + text
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }
