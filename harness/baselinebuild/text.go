package baselinebuild

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckText returns the reason why a file cannot store a text, or nil.
func CheckText(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return errors.New("is empty")
	case len(text) > TextMax:
		return fmt.Errorf("is longer than %d bytes", TextMax)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return errors.New("is not one line of printable text")
	}
	return nil
}
