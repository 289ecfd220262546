package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pronybench/prony/engine/memory"
	"github.com/pronybench/prony/engine/storage"
)

type kind string

// These are the kinds of values. The help and messages show their names.
const (
	kindText     kind = "text"
	kindList     kind = "list"
	kindMap      kind = "map"
	kindChoice   kind = "choice"
	kindBool     kind = "bool"
	kindNumber   kind = "number"
	kindDuration kind = "duration"
	kindSize     kind = "size"
	kindSpace    kind = "space"
	kindMemory   kind = "memory"
)

// value gets and sets a field of the configuration in the form of text.
type value struct {
	kind kind
	// set sets the field. Only lists and maps accept more than one text. The error continues a
	// sentence that starts with the setting's name and the text.
	set func(texts []string) error
	get func() string
	// choices are the texts that a value of kindChoice accepts.
	choices []string
}

func one(set func(text string) error) func([]string) error {
	return func(texts []string) error {
		if len(texts) != 1 {
			return errors.New("is given more than once: give it one value")
		}
		return set(texts[0])
	}
}

func text(at *string) value {
	return value{
		kind: kindText,
		get:  func() string { return *at },
		set: one(func(text string) error {
			if strings.ContainsRune(text, 0) {
				return errors.New("has a NUL character in it")
			}
			*at = text
			return nil
		}),
	}
}

// list is a list of texts. Each text given to set may contain several items, separated by commas.
func list(at *[]string) value {
	return value{
		kind: kindList,
		get:  func() string { return strings.Join(*at, ",") },
		set: func(texts []string) error {
			var all []string
			for _, text := range texts {
				for item := range strings.SplitSeq(text, ",") {
					if item = strings.TrimSpace(item); item == "" {
						return errors.New("has an empty item: name at least one, with a comma between two")
					}
					all = append(all, item)
				}
			}
			if len(all) == 0 {
				return errors.New("is empty: name at least one")
			}
			*at = all
			return nil
		},
	}
}

// optional makes a list or map accept an empty text. set calls none for an empty text.
func optional(v value, none func()) value {
	set := v.set
	v.set = func(texts []string) error {
		if len(texts) == 0 || len(texts) == 1 && texts[0] == "" {
			none()
			return nil
		}
		return set(texts)
	}
	return v
}

// pairs is a map. Its text consists of NAME=VALUE pairs, separated by commas.
func pairs(at *map[string]string) value {
	return optional(value{
		kind: kindMap,
		get: func() string {
			items := make([]string, 0, len(*at))
			for _, name := range slices.Sorted(maps.Keys(*at)) {
				items = append(items, name+"="+(*at)[name])
			}
			return strings.Join(items, ",")
		},
		set: func(texts []string) error {
			all, err := ParsePairs(strings.Join(texts, ","))
			if err != nil {
				return err
			}
			*at = map[string]string{}
			for _, p := range all {
				(*at)[p.Name] = p.Value
			}
			return nil
		},
	}, func() { *at = nil })
}

// Pair is one item of a map: a name and its value.
type Pair struct{ Name, Value string }

// ParsePairs parses NAME=VALUE pairs, separated by commas. It refuses a text that contains a name
// twice.
func ParsePairs(text string) ([]Pair, error) {
	var all []Pair
	for item := range strings.SplitSeq(text, ",") {
		name, value, paired := strings.Cut(item, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !paired || name == "" || value == "" {
			return nil, fmt.Errorf("has the item %q: write NAME=VALUE, with a comma between two", item)
		}
		if slices.ContainsFunc(all, func(p Pair) bool { return p.Name == name }) {
			return nil, fmt.Errorf("names %s twice", name)
		}
		all = append(all, Pair{name, value})
	}
	return all, nil
}

// choice is a value that must be one of texts. texts[i] selects values[i].
func choice[T comparable](at *T, texts []string, values []T) value {
	return value{
		kind:    kindChoice,
		choices: texts,
		get:     func() string { return texts[max(slices.Index(values, *at), 0)] },
		set: one(func(text string) error {
			i := slices.Index(texts, text)
			if i < 0 {
				remedy := ""
				if meant := Nearest(text, texts); meant != "" {
					remedy = fmt.Sprintf(": did you mean %q?", meant)
				}
				return fmt.Errorf("is not one of %s%s", quotedList(texts), remedy)
			}
			*at = values[i]
			return nil
		}),
	}
}

func quotedList(texts []string) string {
	quoted := make([]string, len(texts))
	for i, t := range texts {
		quoted[i] = strconv.Quote(t)
	}
	return strings.Join(quoted, ", ")
}

func boolean(at *bool) value {
	return value{
		kind: kindBool,
		get:  func() string { return strconv.FormatBool(*at) },
		set: one(func(text string) error {
			switch text {
			case "true", "false":
				*at = text == "true"
				return nil
			}
			return errors.New("is neither true nor false")
		}),
	}
}

// unless is a boolean whose field has the opposite meaning.
func unless(at *bool) value {
	v := boolean(at)
	set := v.set
	v.get = func() string { return strconv.FormatBool(!*at) }
	v.set = func(texts []string) error {
		err := set(texts)
		if err == nil {
			*at = !*at
		}
		return err
	}
	return v
}

func within[T cmp.Ordered](v, least, most T, format func(T) string) error {
	if v < least || v > most {
		return fmt.Errorf("is not from %s to %s", format(least), format(most))
	}
	return nil
}

type integer interface {
	~int | ~uint32 | ~uint64
}

func number[T integer](at *T, least, most uint64) value {
	format := func(n uint64) string { return strconv.FormatUint(n, 10) }
	return value{
		kind: kindNumber,
		get:  func() string { return format(uint64(*at)) },
		set: one(func(text string) error {
			n, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				return fmt.Errorf("is not a whole number from %d to %d", least, most)
			}
			if err := within(n, least, most, format); err != nil {
				return err
			}
			*at = T(n)
			return nil
		}),
	}
}

func duration(at *time.Duration, least, most time.Duration) value {
	return value{
		kind: kindDuration,
		get:  func() string { return FormatDuration(*at) },
		set: one(func(text string) error {
			d, err := ParseDuration(text)
			if err == nil {
				err = within(d, least, most, FormatDuration)
			}
			if err == nil {
				*at = d
			}
			return err
		}),
	}
}

// durationMs is a duration whose field contains a number of milliseconds.
func durationMs(at *uint64, least, most time.Duration) value {
	d := time.Duration(*at) * time.Millisecond
	v := duration(&d, least, most)
	set := v.set
	v.get = func() string { return FormatDuration(time.Duration(*at) * time.Millisecond) }
	v.set = func(texts []string) error {
		err := set(texts)
		if err == nil {
			*at = uint64(d.Milliseconds())
		}
		return err
	}
	return v
}

// mark is a limit for free space. It is a size, a percentage of the file system, or the default.
func mark(at *storage.SpaceMark) value {
	return value{
		kind: kindSpace,
		get: func() string {
			if at.Set && at.Percent == 0 {
				return FormatSize(at.Bytes)
			}
			return at.String()
		},
		set: one(func(text string) error {
			if text == "auto" {
				*at = storage.SpaceMark{}
				return nil
			}
			if number, percent := strings.CutSuffix(text, "%"); percent {
				n, err := strconv.ParseUint(number, 10, 32)
				if err != nil || n < 1 || n > markPercentMax {
					return fmt.Errorf("is not a percentage from 1%% to %d%%", markPercentMax)
				}
				*at = storage.SpaceMark{Set: true, Percent: uint32(n)}
				return nil
			}
			n, err := ParseSize(text)
			if err != nil {
				return errors.New(`is neither auto, nor a percentage such as "5%", nor a size such as "2GiB"`)
			}
			if err := within(n, 0, markBytesMax, FormatSize); err != nil {
				return err
			}
			*at = storage.SpaceMark{Set: true, Bytes: n}
			return nil
		}),
	}
}

func size[T ~int | ~int64 | ~uint64](at *T, least, most uint64) value {
	return value{
		kind: kindSize,
		get:  func() string { return FormatSize(uint64(*at)) },
		set: one(func(text string) error {
			n, err := ParseSize(text)
			if err == nil {
				err = within(n, least, most, FormatSize)
			}
			if err == nil {
				*at = T(n)
			}
			return err
		}),
	}
}

// auto adds the text "auto" to a value. It means the default, which depends on other settings. The
// field then has its zero value.
func auto[T comparable](at *T, v value) value {
	const word = "auto"
	var zero T
	get, set := v.get, v.set
	v.get = func() string {
		if *at == zero {
			return word
		}
		return get()
	}
	v.set = func(texts []string) error {
		if slices.Equal(texts, []string{word}) {
			*at = zero
			return nil
		}
		if err := set(texts); err != nil {
			return fmt.Errorf(`%w; or "auto"`, err)
		}
		return nil
	}
	return v
}

func memorySize(at *memory.Size) value {
	return value{
		kind: kindMemory,
		get:  func() string { return at.String(FormatSize) },
		set: one(func(text string) error {
			n, err := memory.ParseSize(text, parseMemory)
			if err == nil {
				*at = n
			}
			return err
		}),
	}
}
