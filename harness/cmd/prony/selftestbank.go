package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/duet"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Files of a bank. Each piece has a folder, named by its time and kind, with piece.json and one of
// duet.json, work.json and check.json. The calibration applies to the whole bank.
const (
	pieceFile       = "piece.json"
	checkFile       = "check.json"
	workFile        = "work.json"
	calibrationFile = "calibration.json"
)

// pieceDocument describes a piece.
type pieceDocument struct {
	Version int    `json:"version"`
	Kind    string `json:"kind"`
	// from loadOf; pieces of different loads are not judged together
	Load   string  `json:"load"`
	Within float64 `json:"within_seconds"`   // duration of its look
	Amount float64 `json:"amount,omitempty"` // planted amount for each task, in the fault's unit
}

type calibrationDocument struct {
	Version      int                        `json:"version"`
	Calibrations []gate.SelfTestCalibration `json:"calibrations"`
}

// bankVersion is the version of the documents above.
const bankVersion = 2

// loadOf identifies the load that a piece of a kind measures. Two scenarios with the same topology
// and workloads have the same load if the duets have the same conditions. Fixed work has neither
// workloads nor conditions, and runs have no conditions.
func loadOf(kind string, s *scenario.Scenario, of duet.Conditions) (string, error) {
	var load any
	switch kind {
	case gate.CountersKind:
		load = s.Topology
	case gate.CheckKind:
		load = struct {
			Topology  scenario.Topology
			Workloads []scenario.Workload
		}{s.Topology, s.Workloads}
	default:
		load = struct {
			Topology   scenario.Topology
			Workloads  []scenario.Workload
			Conditions duet.Conditions
		}{s.Topology, s.Workloads, of}
	}
	data, err := json.Marshal(load)
	if err != nil {
		return "", fmt.Errorf("identify the load of scenario %q: %w", s.Name, err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// storedBank is the content of a bank's folder.
type storedBank struct {
	gate.SelfTestBank

	left int // number of pieces that do not match the newest one
}

// judgedWith reports whether two pieces are judged together: duets with the same load and length of
// look, even of different kinds, and other pieces of the same kind and load.
func (d pieceDocument) judgedWith(other pieceDocument) bool {
	return d.group() == other.group() && d.Load == other.Load && (d.group() != "" || d.Within == other.Within)
}

// group returns the kind of pieces that are judged separately, and "" for all others.
func (d pieceDocument) group() string {
	if d.Kind == gate.CheckKind || d.Kind == gate.CountersKind {
		return d.Kind
	}
	return ""
}

// readBank reads a bank: the calibration, and all pieces that are judged with the newest duet,
// fixed work or check. within is the length of a duet's look in seconds.
func readBank(dir string) (bank storedBank, within float64, err error) {
	if bank.Calibrations, err = readCalibrations(dir); err != nil {
		return bank, 0, err
	}
	names, documents, err := readPieces(dir)
	if err != nil {
		return bank, 0, err
	}
	newest := map[string]pieceDocument{}
	for _, d := range documents { // in chronological order
		newest[d.group()] = d
	}
	bank.Calibrations = slices.DeleteFunc(bank.Calibrations, func(c gate.SelfTestCalibration) bool { return c.Load != newest[""].Load })
	for i, d := range documents {
		folder := filepath.Join(dir, names[i])
		switch {
		case !d.judgedWith(newest[d.group()]):
			bank.left++
		case d.Kind == gate.CheckKind:
			piece := gate.CheckPiece{}
			if err := readJSONFile(filepath.Join(folder, checkFile), &piece); err != nil {
				return bank, 0, err
			}
			piece.Folder = folder
			bank.Checks = append(bank.Checks, piece)
		case d.Kind == gate.CountersKind:
			piece := gate.SelfTestPiece{Folder: folder, Kind: d.Kind}
			if err := readJSONFile(filepath.Join(folder, workFile), &piece.Works); err != nil {
				return bank, 0, err
			}
			bank.Pieces = append(bank.Pieces, piece)
		default:
			piece, err := readDuetPiece(folder, d)
			if err != nil {
				return bank, 0, err
			}
			bank.Pieces = append(bank.Pieces, piece)
		}
	}
	return bank, newest[""].Within, nil
}

// readKind reads the pieces of a bank with the kind, load and length of look of the given one.
func readKind(dir string, like pieceDocument) (same []gate.SelfTestPiece, err error) {
	names, documents, err := readPieces(dir)
	if err != nil {
		return nil, err
	}
	for i, d := range documents {
		if d.Kind != like.Kind || !d.judgedWith(like) {
			continue
		}
		piece, err := readDuetPiece(filepath.Join(dir, names[i]), d)
		if err != nil {
			return nil, err
		}
		same = append(same, piece)
	}
	return same, nil
}

func readDuetPiece(folder string, d pieceDocument) (gate.SelfTestPiece, error) {
	measured, err := result.ReadDuet(folder)
	return gate.SelfTestPiece{Folder: folder, Kind: d.Kind, Amount: d.Amount, Duet: measured}, err
}

// readPieces returns the folder names and the documents of all pieces in chronological order. A
// folder without piece.json is not a piece.
func readPieces(dir string) (names []string, documents []pieceDocument, err error) {
	folders, err := os.ReadDir(dir) // sorted by name, which begins with the time
	if err != nil {
		return nil, nil, fmt.Errorf("read the bank: %w", err)
	}
	for _, folder := range folders {
		if !folder.IsDir() || strings.HasPrefix(folder.Name(), ".") {
			continue
		}
		var d pieceDocument
		path := filepath.Join(dir, folder.Name(), pieceFile)
		err := readJSONFile(path, &d)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if d.Version != bankVersion {
			return nil, nil, fmt.Errorf("read %s: it has version %d and this program reads %d: name another folder with --bank", path, d.Version, bankVersion)
		}
		names, documents = append(names, folder.Name()), append(documents, d)
	}
	return names, documents, nil
}

// readCalibrations returns the calibrations of a bank, and none if the bank does not have the file
// yet.
func readCalibrations(dir string) ([]gate.SelfTestCalibration, error) {
	var d calibrationDocument
	path := filepath.Join(dir, calibrationFile)
	err := readJSONFile(path, &d)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil && d.Version != bankVersion {
		err = fmt.Errorf("read %s: it has version %d and this program reads %d: remove it, or name another folder with --bank", path, d.Version, bankVersion)
	}
	return d.Calibrations, err
}

func writeCalibrations(dir string, all []gate.SelfTestCalibration) error {
	return writeJSONFile(filepath.Join(dir, calibrationFile), calibrationDocument{Version: bankVersion, Calibrations: all})
}

// storePiece adds a piece to a bank: piece.json, and the file of that name with the measured value
// in the compressed form. It adds the piece completely or not at all.
func storePiece(dir string, at time.Time, d pieceDocument, file string, measured any) (name string, err error) {
	aside, err := os.MkdirTemp(dir, ".piece-")
	if err != nil {
		return "", fmt.Errorf("store a piece: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(aside))
		}
	}()
	text, err := json.Marshal(measured)
	if err != nil {
		return "", fmt.Errorf("store a piece: %w", err)
	}
	if err := result.WritePacked(filepath.Join(aside, file), text); err != nil {
		return "", err
	}
	if err := writeJSONFile(filepath.Join(aside, pieceFile), d); err != nil {
		return "", err
	}
	if err := os.Chmod(aside, 0o755); err != nil { //nolint:gosec // a bank is as readable as other results
		return "", fmt.Errorf("store a piece: %w", err)
	}
	name = result.NewID(at, d.Kind)
	if err := os.Rename(aside, filepath.Join(dir, name)); err != nil {
		return "", fmt.Errorf("store a piece: %w", err)
	}
	return name, nil
}

func readJSONFile(path string, into any) error {
	data, err := result.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the bank: %w", err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("read %s: corrupt: %w", path, err)
	}
	return nil
}

func writeJSONFile(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return result.WriteFile(path, append(data, '\n'))
}
