package scenario

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// configurationDigits is how many hexadecimal digits a configuration has.
const configurationDigits = 12

// Configuration returns a hash of what s measures, 12 hexadecimal digits: its topology, workloads,
// phases, sweeps, faults, attack, backlog, series and invariants, whatever default they have. What
// a scenario is called and tagged, its comments, captures, references, rounds, limits and validity
// are not in the hash, nor are the hosts and addresses of servers on other hosts. A variable is in
// it by the settings that use the variable, and a script by its content.
func (s *Scenario) Configuration() string {
	lines := s.configurationLines(nil)
	for _, sweep := range s.Sweeps { // their order is that of the points
		lines = append(lines, "sweep "+sweep.Path+" = "+strings.Join(sweep.Values, ", "))
	}
	return configurationHash(lines)
}

// ConfigurationAt is Configuration for the point of a sweep with these values: it does not depend
// on the other points.
func (s *Scenario) ConfigurationAt(values []Value) string {
	return configurationHash(s.configurationLines(values))
}

// configurationLines are the settings that are in the hash, sorted.
func (s *Scenario) configurationLines(values []Value) []string {
	var lines []string
	for line := range strings.SplitSeq(s.Work(values), "\n") {
		path, value, _ := strings.Cut(line, " = ")
		switch top := topOf(path); {
		case top == "scripts" && strings.HasSuffix(path, ".sha256"):
			lines = append(lines, "scripts = "+value) // its path depends on the working directory
		case strings.HasPrefix(path, remotePath): // where servers are is not what is measured
		case path == "topology.build.pgo": // its content is in it
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
