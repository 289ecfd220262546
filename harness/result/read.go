package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Read loads the result and the histograms of the run stored in dir. It needs only result.json and
// histograms.json, so it also reads the data published with pages. The error names the file that is
// missing, corrupt, or of a version that this program does not read. To percentiles that an earlier
// build stored without an interval, Read adds the interval by Resample.
func Read(dir string) (*Result, []RoundHistograms, error) {
	r, err := ReadResult(filepath.Join(dir, ResultFile))
	if err != nil {
		return nil, nil, err
	}
	hists, err := readHistograms(filepath.Join(dir, HistogramsFile))
	if err != nil {
		return nil, nil, err
	}
	if err := checkRounds(r.Rounds, hists); err != nil {
		return nil, nil, fmt.Errorf("read %s: corrupt: %w", dir, err)
	}
	Resample(r, hists)
	return r, hists, nil
}

func readHistograms(path string) ([]RoundHistograms, error) {
	var doc histogramsDocument
	if err := readJSON(path, only(Version), &doc); err != nil {
		return nil, err
	}
	hists, err := doc.decode()
	if err != nil {
		return nil, fmt.Errorf("read %s: corrupt: %w", path, err)
	}
	return hists, nil
}

// ReadResult loads the result stored in the file at path, without histograms.
func ReadResult(path string) (*Result, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return ParseResult(path, data)
}

// ParseResult does what ReadResult does, for a document in memory, which may be compressed. name
// identifies the document in errors.
func ParseResult(name string, data []byte) (*Result, error) {
	data, err := Unpack(name, data)
	if err != nil {
		return nil, err
	}
	var r Result
	if err := parse(name, data, only(Version), &r); err != nil {
		return nil, err
	}
	if !r.Verdict.Known() {
		return nil, fmt.Errorf("read %s: corrupt: %q is not a verdict", name, r.Verdict)
	}
	return &r, nil
}

// versions are the versions of a document that this program reads.
type versions struct{ oldest, newest int }

func only(version int) versions { return versions{version, version} }

func readJSON(path string, of versions, into any) error {
	data, err := readFile(path)
	if err != nil {
		return err
	}
	return parse(path, data, of, into)
}

func readFile(path string) ([]byte, error) {
	data, err := ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read %s: there is no such file: the folder is not a run's, or the run did not finish: %w", path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return data, nil
}

// parse decodes a document after checking its version, which every file of a run contains.
func parse(name string, data []byte, of versions, into any) error {
	data = withoutNulls(data)
	var head struct {
		Version *int `json:"version"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("read %s: corrupt: %w", name, err)
	}
	switch {
	case head.Version == nil || *head.Version < 1:
		return fmt.Errorf("read %s: corrupt: it has no version", name)
	case *head.Version < of.oldest:
		return fmt.Errorf("read %s: it has version %d and this program reads version %d: measure again", name, *head.Version, of.oldest)
	case *head.Version > of.newest:
		return fmt.Errorf("read %s: it has version %d and this program reads up to %d: use a newer prony", name, *head.Version, of.newest)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("read %s: corrupt: %w", name, err)
	}
	return nil
}
