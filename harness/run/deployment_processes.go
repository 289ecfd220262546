package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/walk"
)

// ProcessSample is the resource usage of a process at the end of a window.
type ProcessSample struct {
	Node       string `json:"node"` // "harness" for this process; "server" for a single server
	PID        int    `json:"pid"`
	RSSBytes   uint64 `json:"rss_bytes"`
	FDs        int    `json:"fds"`
	Goroutines int    `json:"goroutines"`
	// DataBytes is the total size of the files in the server's data folder. It is 0 for the
	// harness.
	DataBytes int64 `json:"data_bytes"`
}

func (d *Deployment) processes(ctx context.Context) ([]ProcessSample, error) {
	own := ProcessSample{Node: "harness", PID: os.Getpid(), Goroutines: runtime.NumGoroutine()}
	if err := own.sample(); err != nil {
		return nil, err
	}
	samples := []ProcessSample{own}
	for _, s := range d.cluster.Servers() {
		node := s.Node()
		p := ProcessSample{Node: s.ID, PID: node.PID}
		if p.Node == "" {
			p.Node = "server"
		}
		err := p.sample()
		if err == nil {
			p.DataBytes, err = sizeOf(s.DataDir())
		}
		if err == nil {
			var counters map[string]float64
			counters, err = observe.Scrape(ctx, admin(d.cluster, s))
			p.Goroutines = int(counters[observe.GoroutinesMetric])
		}
		switch {
		case err == nil:
			samples = append(samples, p)
		case node.Running():
			return samples, fmt.Errorf("sample the process of %s: %w", p.Node, err)
		}
	}
	return samples, nil
}

func (p *ProcessSample) sample() (err error) {
	if p.RSSBytes, err = observe.RSS(p.PID); err != nil {
		return err
	}
	p.FDs, err = observe.FDs(p.PID)
	return err
}

// sizeOf returns the total size of the files below a folder in bytes. It ignores files that the
// store removes concurrently.
func sizeOf(dir string) (bytes int64, err error) {
	err = walk.Dir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = e.Info(); err == nil {
				bytes += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return bytes, err
}
