package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// profileOpen is what `prony profile open --json` prints when the page is ready.
type profileOpen struct {
	File string `json:"file"`
	URL  string `json:"url"`
}

// pprofSays precedes the address in the output of go tool pprof.
const pprofSays = "Serving web UI on "

// openEnds is how long pprof may take to end after the signal.
const openEnds = 5 * time.Second

func profileOpenCommand() *cobra.Command {
	var of profileOf
	var asJSON bool
	c := &cobra.Command{
		Use:   "open [RUN]",
		Short: "Serve a profile to a browser",
		Long: `Runs "go tool pprof" to serve a profile on the loopback interface, prints the address, and continues until it is
interrupted. It needs the go command. Without RUN it shows the newest run.`,
		Example: `  prony profile open
  prony profile open --kind block runs/20261121T171500.123Z-smoke`,
		Args:              oneRun.check,
		ValidArgsFunction: completeRuns,
		RunE: func(c *cobra.Command, runs []string) error {
			folder, r, err := readProfiled(runs)
			if err != nil {
				return err
			}
			p, err := of.pick(r)
			if err != nil {
				return err
			}
			file := filepath.Join(folder, filepath.FromSlash(p.File))
			if _, err := os.Stat(file); err != nil {
				return fmt.Errorf("open the %s profile: %w", p.Kind, err)
			}
			return servePprof(c, file, asJSON)
		},
	}
	of.flags(c, "cpu")
	of.nodeFlag(c)
	jsonFlag(c, &asJSON)
	return c
}

// servePprof runs pprof until it ends or the command is interrupted, which is the normal end.
func servePprof(c *cobra.Command, file string, asJSON bool) error {
	path, err := exec.LookPath("go")
	if err != nil {
		return fmt.Errorf("the go command, which has pprof, is not in PATH: %w; install Go, or open %s with another pprof, such as"+
			" github.com/google/pprof: pprof -http=: %s", err, file, file)
	}
	ctx := c.Context()
	pprof := exec.CommandContext(ctx, path, "tool", "pprof", "-http=127.0.0.1:", "-no_browser", file)
	pprof.Cancel = func() error { return pprof.Process.Signal(os.Interrupt) }
	pprof.WaitDelay = openEnds
	says, err := pprof.StderrPipe()
	if err != nil {
		return fmt.Errorf("run go tool pprof: %w", err)
	}
	if err := pprof.Start(); err != nil {
		return fmt.Errorf("run go tool pprof: %w", err)
	}
	said, readErr := relay(c, says, file, asJSON)
	err = pprof.Wait()
	interrupted := ctx.Err() != nil // the normal end
	if err != nil && !interrupted {
		return fmt.Errorf("go tool pprof: %w: %s", err, strings.TrimSpace(said))
	}
	if interrupted {
		readErr = nil
	}
	return readErr
}

// relay prints the address that pprof serves, forwards pprof's other lines, and returns the last
// ones.
func relay(c *cobra.Command, says io.Reader, file string, asJSON bool) (last string, err error) {
	const lastMax = 4 << 10
	lines := bufio.NewScanner(says)
	for lines.Scan() {
		line := lines.Text()
		_, url, found := strings.Cut(line, pprofSays)
		switch {
		case found && asJSON:
			err = errors.Join(err, printJSON(c, profileOpen{file, url}))
		case found:
			say(c.OutOrStdout(), "%s: %s (interrupt to end)", file, url)
		default:
			last += line + "\n"
			last = last[max(0, len(last)-lastMax):]
		}
	}
	return last, errors.Join(err, lines.Err())
}
