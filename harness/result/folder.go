package result

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Files of a run folder that this package writes. Profiles and logs are next to them.
const (
	ManifestFile = "manifest.json"
	RoundsFile   = "rounds.json" // per-round samples, rewritten after each round
	// HistogramsFile contains HdrHistograms in the format V2, compressed and encoded in base64. It
	// is rewritten after each round.
	HistogramsFile = "histograms.json"
	BenchFile      = "bench.txt"   // Go benchmark format
	ResultFile     = "result.json" // written last: its presence marks a complete folder
	// LatestLink is the symbolic link to the run that was stored last. It is next to the run
	// folders.
	LatestLink = "latest"
)

// Slug returns name in a form for file names: lower case, with a hyphen for each sequence of
// characters other than ASCII letters, digits, hyphens and underscores. A name without any such
// letter, digit, hyphen or underscore becomes "unnamed".
func Slug(name string) string {
	var b strings.Builder
	gap := false
	for _, c := range strings.ToLower(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_':
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(c)
		default:
			gap = true
		}
	}
	if b.Len() == 0 {
		return "unnamed"
	}
	return b.String()
}

// NewID returns the id of a run of scenario that starts now, for example
// "20261121T171500.123Z-smoke". Ids sort by time.
func NewID(now time.Time, scenario string) string {
	return now.UTC().Format(idTime) + "-" + Slug(scenario)
}

// idTime is the layout of the start time in the id of a run.
const idTime = "20060102T150405.000Z"

// Folder stores one run during its measurement. Its methods are not safe for concurrent use.
type Folder struct {
	out string
	id  string
}

// Create makes the folder of run id in out, and out if it is missing. It fails if the folder
// exists.
func Create(out, id string) (*Folder, error) {
	if id == "" || id == "." || id == ".." || id == LatestLink || strings.ContainsAny(id, `/\`) {
		return nil, fmt.Errorf("create run folder: %q is not a run id", id)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, fmt.Errorf("create run folder: %w", err)
	}
	f := &Folder{out: out, id: id}
	if err := os.Mkdir(f.Path(), 0o755); err != nil {
		return nil, fmt.Errorf("create run folder: %w", err)
	}
	return f, nil
}

// Open returns the existing folder at path. It is for measurements that several processes store one
// after the other.
func Open(path string) (*Folder, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open a folder: %w", err)
	}
	return &Folder{out: filepath.Dir(path), id: filepath.Base(path)}, nil
}

// ID returns the run's id.
func (f *Folder) ID() string { return f.id }

// Path returns the path of the folder.
func (f *Folder) Path() string { return filepath.Join(f.out, f.id) }

// File returns the path of the named file in the folder.
func (f *Folder) File(name string) string { return filepath.Join(f.Path(), name) }

// WriteManifest stores the manifest. It must be called before the first round, so that a failed run
// also has a manifest.
func (f *Folder) WriteManifest(m Manifest) error { return f.writeJSON(ManifestFile, m) }

// WriteRounds stores the rounds so far, so that ReadStored finds the measurements of a run that
// ends early. It sets the version.
func (f *Folder) WriteRounds(d RoundsDocument) error {
	d.Version, d.Rounds = Version, append([]Round{}, d.Rounds...)
	return f.writeJSON(RoundsFile, d)
}

// WriteHistograms stores the histograms so far. They must be written before their rounds.
func (f *Folder) WriteHistograms(hists []RoundHistograms) error {
	encoded, err := encodeHistograms(hists)
	if err != nil {
		return fmt.Errorf("write %s: %w", f.File(HistogramsFile), err)
	}
	return f.writeJSON(HistogramsFile, encoded)
}

// RoundsDocument is the content of rounds.json.
type RoundsDocument struct {
	Version int     `json:"version"`
	Rounds  []Round `json:"rounds"`
	Planned int     `json:"planned,omitempty"` // rounds of the whole run; 0 if unknown
	Points  []Point `json:"points,omitempty"`  // of a sweep, without metrics
}

// CheckLatest returns an error if Store could not make the link "latest" in out. A run calls it
// before a long measurement.
func CheckLatest(out string) error {
	path := filepath.Join(out, LatestLink)
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink == 0 {
		return fmt.Errorf("%s is not a symbolic link, but that name is needed for the link to the newest run: move it away, or choose another folder with --out", path)
	}
	return nil
}

// Store writes the whole result, result.json last, and points the link "latest" at the folder.
// hists contains the histograms of each round that has any. Store fails, and writes nothing, if a
// figure is NaN or infinite. Only for profiles, locks and causes with such a number, it drops the
// entry and adds a warning instead.
func (f *Folder) Store(r *Result, hists []RoundHistograms) error {
	if err := f.StoreArm(r, hists); err != nil {
		return err
	}
	if err := CheckLatest(f.out); err != nil {
		return err
	}
	return replaceLink(f.id, filepath.Join(f.out, LatestLink))
}

// StoreArm is Store without the link, because an arm of a comparison is not an independent run.
func (f *Folder) StoreArm(r *Result, hists []RoundHistograms) error {
	if r.Run != f.id {
		return fmt.Errorf("store %s: the result is of run %q", f.Path(), r.Run)
	}
	if r.Version != Version {
		return fmt.Errorf("store %s: the result has version %d, not %d", f.Path(), r.Version, Version)
	}
	if !r.Verdict.Known() {
		return fmt.Errorf("store %s: the result's verdict %q is not a verdict", f.Path(), r.Verdict)
	}
	r.Profiles = finiteOnly("profiles", r.Profiles, &r.Warnings)
	r.Locks = finiteOnly("locks", r.Locks, &r.Warnings)
	r.Causes = finiteOnly("causes", r.Causes, &r.Warnings)
	data, err := encode(r)
	if err != nil {
		return fmt.Errorf("store %s: %w", f.Path(), err)
	}
	if err := checkRounds(r.Rounds, hists); err != nil {
		return fmt.Errorf("store %s: %w", f.Path(), err)
	}
	encoded, err := encodeHistograms(hists)
	if err != nil {
		return fmt.Errorf("store %s: %w", f.Path(), err)
	}
	var bench bytes.Buffer
	if err := WriteBench(&bench, r); err != nil {
		return fmt.Errorf("store %s: %w", f.Path(), err)
	}
	if err := f.WriteManifest(r.Manifest); err != nil {
		return err
	}
	if err := f.WriteRounds(RoundsDocument{Rounds: r.Rounds}); err != nil {
		return err
	}
	if err := f.writeJSON(HistogramsFile, encoded); err != nil {
		return err
	}
	if err := WriteFile(f.File(BenchFile), bench.Bytes()); err != nil {
		return err
	}
	return WriteFile(f.File(ResultFile), data)
}

// WriteResult writes r to a file at path. It fails, and writes nothing, if a number is NaN or
// infinite.
func WriteResult(path string, r *Result) error {
	data, err := encode(r)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return WriteFile(path, data)
}

// WriteResultPacked is WriteResult without indentation and in the compressed form.
func WriteResultPacked(path string, r *Result) error {
	data, err := encode(r)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	compact.WriteByte('\n')
	return WritePacked(path, compact.Bytes())
}

func (f *Folder) writeJSON(name string, value any) error {
	data, err := encode(value)
	if err != nil {
		return fmt.Errorf("write %s: %w", f.File(name), err)
	}
	return WriteFile(f.File(name), data)
}

// checkRounds returns an error if two rounds share a number, if histograms have no round, or if a
// round has two sets of histograms.
func checkRounds(rounds []Round, hists []RoundHistograms) error {
	left := make(map[int]bool, len(rounds))
	for _, r := range rounds {
		if _, twice := left[r.Number]; twice {
			return fmt.Errorf("there are two rounds %d", r.Number)
		}
		left[r.Number] = true
	}
	for _, h := range hists {
		free, exists := left[h.Round]
		if !exists {
			return fmt.Errorf("there are histograms of round %d but no such round", h.Round)
		}
		if !free {
			return fmt.Errorf("round %d has two sets of histograms", h.Round)
		}
		left[h.Round] = false
	}
	return nil
}
