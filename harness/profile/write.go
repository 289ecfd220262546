package profile

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/google/pprof/profile"

	"github.com/pronybench/prony/harness/result"
)

// Write stores the profiles as runDir/sub/KIND.pb.gz, which go tool pprof can read. It returns
// their summaries in the order cpu, mutex, block, allocs, goroutine. The field File of a summary is
// sub/KIND.pb.gz. Write returns an error unless Stop has succeeded.
func (s *Session) Write(runDir, sub string) ([]result.Profile, error) {
	if s.profiles == nil {
		return nil, errors.New("write profiles: the session was not stopped, or stopping it failed")
	}
	if err := os.MkdirAll(filepath.Join(runDir, sub), 0o755); err != nil {
		return nil, fmt.Errorf("write profiles: %w", err)
	}
	var summaries []result.Profile
	for _, c := range s.captures {
		p := s.profiles[c.name]
		summary, err := summarise(p, c.kind)
		if err != nil {
			return nil, fmt.Errorf("summarise %s profile: %w", c.name, err)
		}
		name := c.name + extension
		if err := writeProfile(filepath.Join(runDir, sub, name), p); err != nil {
			return nil, fmt.Errorf("write %s profile: %w", c.name, err)
		}
		summary.File = path.Join(filepath.ToSlash(sub), name)
		summaries = append(summaries, summary)
	}
	return summaries, nil
}

func writeProfile(name string, p *profile.Profile) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(p.Write(file), file.Close())
}
