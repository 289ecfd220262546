package history

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/pronybench/prony/harness/result"
)

const (
	fileSuffix = ".jsonl"
	// recordsMax is the maximum number of records of a scenario.
	recordsMax = 10_000
)

// ErrRecorded means that the run already has a record.
var ErrRecorded = errors.New("the run is in the history already")

// File returns the path of the file with a scenario's records.
func File(dir, scenario string) string {
	return filepath.Join(dir, result.Slug(scenario)+fileSuffix)
}

// ReadAll returns the records of all scenarios in the folder dir, by scenario and then by time. If
// the folder does not exist, the error matches fs.ErrNotExist.
func ReadAll(dir string) ([]Record, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	var all []Record
	for _, e := range entries {
		if filepath.Ext(e.Name()) != fileSuffix {
			continue
		}
		records, err := Read(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, records...)
	}
	return all, nil
}

// Read returns the records in the file at path by time. The error names the line, the problem and
// the remedy. Problems are an unknown version or field, a record of another scenario, a second
// record of one run, and a record out of time order.
func Read(path string) ([]Record, error) {
	_, records, err := readLines(path)
	return records, err
}

func readLines(path string) (lines [][]byte, records []Record, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read the history: %w", err)
	}
	if len(text) == 0 {
		return nil, nil, nil
	}
	lines = bytes.Split(bytes.TrimSuffix(text, []byte{'\n'}), []byte{'\n'})
	if len(lines) > recordsMax {
		return nil, nil, fmt.Errorf("%s has %d records, more than %d: remove the oldest", path, len(lines), recordsMax)
	}
	for i, line := range lines {
		r, err := decode(line)
		if err == nil {
			err = follows(path, records, r)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s line %d: %w", path, i+1, err)
		}
		records = append(records, r)
	}
	return lines, records, nil
}

func follows(path string, before []Record, r Record) error {
	switch {
	case File(filepath.Dir(path), r.Scenario) != path:
		return fmt.Errorf("scenario is %q: move the record to %s", r.Scenario, File(filepath.Dir(path), r.Scenario))
	case slices.ContainsFunc(before, r.same):
		return fmt.Errorf("run is %q: %w: remove one of the records", r.Run, ErrRecorded)
	case len(before) > 0 && r.Measured.Before(before[len(before)-1].Measured):
		return fmt.Errorf("measured is %s, before the line above: sort the lines by time", r.Measured.Format(timeForm))
	}
	return nil
}

const timeForm = "2006-01-02 15:04:05"

func (r Record) same(other Record) bool { return r.Run == other.Run && r.Point == other.Point }

// Append adds the records of one run to the file of the scenario in the folder dir. It creates the
// file and the folder if necessary. It preserves the bytes of the existing lines, inserts new lines
// by time, and replaces the file atomically. Append fails without changes if the run already has a
// record (ErrRecorded), if the file cannot be read, and if a record is invalid. Two processes must
// not append simultaneously, because records may be lost.
func Append(dir string, added ...Record) error {
	if len(added) == 0 {
		return nil
	}
	path := File(dir, added[0].Scenario)
	lines, records, err := readLines(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, r := range added {
		line, err := encode(r)
		if err != nil {
			return fmt.Errorf("append to %s: %w", path, err)
		}
		if slices.ContainsFunc(records, r.same) {
			return fmt.Errorf("append run %s to %s: %w", r.Run, path, ErrRecorded)
		}
		at := len(records)
		for at > 0 && records[at-1].Measured.After(r.Measured) {
			at--
		}
		records = slices.Insert(records, at, r)
		lines = slices.Insert(lines, at, bytes.TrimSuffix(line, []byte{'\n'}))
	}
	if len(records) > recordsMax {
		return fmt.Errorf("append to %s: it would have %d records, more than %d: remove the oldest", path, len(records), recordsMax)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("append to %s: %w", path, err)
	}
	return result.WriteFile(path, append(bytes.Join(lines, []byte{'\n'}), '\n'))
}
