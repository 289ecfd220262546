package soak

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/pronybench/prony/harness/result"
)

// rowsMax bounds the number of rows of a soak. When the bound is reached, neighbours are merged in
// pairs.
const rowsMax = 1024

// rows contains the rows of a soak, in memory and in a file with one row per line. It must not be
// used concurrently.
//
// Each row in memory represents width windows. The last row may represent fewer. A new window is
// appended to the file as a separate row, because an append does not change other lines. The file
// may therefore have more lines than there are rows in memory. It is rewritten when it has 2*max
// lines, or when the width doubles.
type rows struct {
	path  string
	max   int // bound of the number of rows in memory; must be even
	all   []Row
	width int // windows per row; a power of two
	lines int // number of lines in the file
	file  *os.File
	// torn reports whether the file ended with a truncated row, which was dropped.
	torn bool
}

// openRows reads the rows in a file. It creates the file if it does not exist, and removes a
// truncated last line from the file.
func openRows(path string, most int) (_ *rows, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the rows: %w", err)
	}
	r := &rows{path: path, max: most, width: 1, file: file}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the rows: %w", err)
	}
	whole, stored := 0, []Row(nil)
	for whole < len(data) {
		end := bytes.IndexByte(data[whole:], '\n')
		if end < 0 {
			break // the writer was killed while it was writing the line
		}
		var row Row
		if err := json.Unmarshal(data[whole:whole+end], &row); err != nil {
			if whole+end+1 == len(data) {
				break // the blocks of the last row were written to disk in a different order
			}
			return nil, fmt.Errorf("read %s: line %d is corrupt: %w", path, len(stored)+1, err)
		}
		if n := len(stored); row.Windows < 1 || n > 0 && row.First <= stored[n-1].Last {
			return nil, fmt.Errorf("read %s: corrupt: line %d is of windows %d to %d, expected windows after those of the previous line", path, n+1, row.First, row.Last)
		}
		stored = append(stored, row)
		whole += end + 1
	}
	if whole < len(data) {
		r.torn = true
		if err := errors.Join(file.Truncate(int64(whole)), file.Sync()); err != nil {
			return nil, fmt.Errorf("remove the truncated row of %s: %w", path, err)
		}
	}
	r.lines = len(stored)
	for _, row := range stored {
		for r.width < row.Windows {
			r.width *= 2
		}
	}
	for _, row := range stored {
		if err := row.derive(); err != nil {
			return nil, fmt.Errorf("read %s: corrupt: windows %d to %d: %w", path, row.First, row.Last, err)
		}
		if err := r.take(row); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	return r, r.bound()
}

// add adds the row of the next window. When add returns, the row is durable.
func (r *rows) add(row Row) error {
	line, err := encodeRow(row)
	if err != nil {
		return err
	}
	if _, err := r.file.Write(line); err != nil {
		return fmt.Errorf("append the row of window %d: %w", row.First, err)
	}
	if err := r.file.Sync(); err != nil {
		return fmt.Errorf("append the row of window %d: %w", row.First, err)
	}
	r.lines++
	if err := r.take(row); err != nil {
		return err
	}
	return r.bound()
}

func encodeRow(row Row) ([]byte, error) {
	line, err := json.Marshal(row)
	if err != nil {
		return nil, fmt.Errorf("encode the row of windows %d to %d: %w", row.First, row.Last, err)
	}
	return append(line, '\n'), nil
}

func (r *rows) take(row Row) error {
	if n := len(r.all); n > 0 && r.all[n-1].Windows+row.Windows <= r.width {
		return r.all[n-1].add(row)
	}
	r.all = append(r.all, row)
	return nil
}

// bound merges neighbours while there are too many rows. It rewrites the file if it has merged rows
// or if the file has too many lines.
func (r *rows) bound() error {
	rewrite := r.lines >= 2*r.max
	for len(r.all) >= r.max {
		r.width *= 2
		rewrite = true
		before := r.all
		r.all = make([]Row, 0, r.max)
		for _, row := range before {
			if err := r.take(row); err != nil {
				return err
			}
		}
	}
	if !rewrite {
		return nil
	}
	var text bytes.Buffer
	for _, row := range r.all {
		line, err := encodeRow(row)
		if err != nil {
			return err
		}
		text.Write(line)
	}
	if err := result.WriteFile(r.path, text.Bytes()); err != nil {
		return err
	}
	file, err := os.OpenFile(r.path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("open the rows: %w", err)
	}
	before := r.file
	r.file, r.lines = file, len(r.all)
	return before.Close()
}

func (r *rows) last() int {
	if len(r.all) == 0 {
		return 0
	}
	return r.all[len(r.all)-1].Last
}

func (r *rows) measuredS() (sum float64) {
	for i := range r.all {
		sum += r.all[i].MeasuredS
	}
	return sum
}

func (r *rows) close() error { return r.file.Close() }
