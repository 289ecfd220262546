package scenario

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

const configurationDigits = 12

// Configuration returns a hash, in 12 hexadecimal digits, of the settings that determine what s
// measures: topology, workloads, phases, sweeps, faults, attack, recurring tasks, backlog, series and invariants,
// with all defaults filled in. Name, title, tags, comments, captures, references, rounds, limits
// and validity are not part of the hash, nor are the hosts and addresses of servers on other hosts.
// Variables count through the settings that use them, scripts and profiles through their content.
func (s *Scenario) Configuration() string {
	lines := s.configurationLines(nil)
	for _, sweep := range s.Sweeps { // in order, which determines the order of the points
		lines = append(lines, "sweep "+sweep.Path+" = "+strings.Join(sweep.Values, ", "))
	}
	return configurationHash(lines)
}

// ConfigurationAt is Configuration for the point of a sweep with these values. It does not depend
// on the other points.
func (s *Scenario) ConfigurationAt(values []Value) string {
	return configurationHash(s.configurationLines(values))
}

// configurationLines returns the hashed settings, one per line, sorted.
func (s *Scenario) configurationLines(values []Value) []string {
	var lines []string
	for line := range strings.SplitSeq(s.Work(values), "\n") {
		path, value, _ := strings.Cut(line, " = ")
		switch top := topOf(path); {
		case top == "scripts" && strings.HasSuffix(path, ".sha256"):
			lines = append(lines, "scripts = "+value) // the path depends on the working directory
		case strings.HasPrefix(path, remotePath): // the location of servers is not measured
		case path == "topology.build.pgo": // the hash of its content is in the lines
		case top == "scripts", top == "workload" && strings.HasSuffix(path, ".script"):
		default:
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

func configurationHash(lines []string) string {
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:])[:configurationDigits]
}
