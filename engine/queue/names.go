package queue

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// NameMax is the maximum length, in bytes, of the name of a queue or tenant, and of an idempotency
// key.
const NameMax = 128

const nameCharacters = `a-z, A-Z, 0-9 and "._-/:"`

// CheckName checks the name of a queue or tenant: it must consist of 1 to NameMax of the
// nameCharacters.
func CheckName(field, name string) *FieldError {
	switch {
	case name == "":
		return &FieldError{field, "is empty: give it a name"}
	case len(name) > NameMax:
		return tooLong(field, name)
	}
	for i := range len(name) {
		if !nameByte[name[i]] {
			r, size := utf8.DecodeRuneInString(name[i:])
			if r == utf8.RuneError && size == 1 {
				return notUTF8(field, name, i)
			}
			return &FieldError{field, fmt.Sprintf("%q has the character %#U at offset %d: use %s", name, r, i, nameCharacters)}
		}
	}
	return nil
}

var nameByte = func() (ok [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:") {
		ok[c] = true
	}
	return ok
}()

// CheckKey checks the idempotency key of a new task: it must be at most NameMax bytes of UTF-8
// without control characters. A store may contain other keys, because older servers accepted them.
func CheckKey(field, key string) *FieldError {
	if len(key) > NameMax {
		return tooLong(field, key)
	}
	return checkText(field, key)
}

// checkText checks that a text is UTF-8 without control characters.
func checkText(field, text string) *FieldError {
	for i, r := range text {
		switch {
		case r >= ' ' && r < 0x7f:
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			return notUTF8(field, text, i)
		case unicode.IsControl(r):
			return &FieldError{field, fmt.Sprintf("%q has the control character %U at offset %d: use UTF-8 without control characters", text, r, i)}
		}
	}
	return nil
}

func tooLong(field, text string) *FieldError {
	return &FieldError{field, fmt.Sprintf("has %d bytes: use at most %d", len(text), NameMax)}
}

func notUTF8(field, text string, at int) *FieldError {
	return &FieldError{field, fmt.Sprintf("%q is not valid UTF-8: it has the byte 0x%02x at offset %d", text, text[at], at)}
}
