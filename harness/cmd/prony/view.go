package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report/htmlreport"
	"github.com/pronybench/prony/harness/soak"
)

// viewed is what `prony view --json` prints when the pages are ready.
type viewed struct {
	File string `json:"file"` // or folder
	URL  string `json:"url"`
}

// viewBytesMax is the maximum size of a served HTML file.
const viewBytesMax = 1 << 30

// browsers are programs that open an address in the user's browser.
var browsers = []string{"xdg-open", "open", "wslview"}

func viewCommand() *cobra.Command {
	var listen, baselines string
	var asJSON, open bool
	c := &cobra.Command{
		Use:   "view [RUN|FOLDER|FILE]",
		Short: "Serve published pages, or those of a run, to a browser",
		Long: `Serves the pages below a folder, in the form that "prony report --html" writes, on the loopback interface. It prints the
address, and continues until it is interrupted. The folder is reports/, or the given one, such as that of a run. It is read
once. If the folder has published data, the page of each scenario is rendered into its folder scenarios/ first. A file that
"prony report --html" wrote is served unchanged.

The operating system chooses the port. --listen 9100 sets it, and --listen 0.0.0.0:9100 lets every host that can reach this
one read the pages, without a password.`,
		Example: `  prony view
  prony view --open runs/20261121T171500.123Z-smoke
  prony view --listen 9100 reports`,
		Args:              arguments{what: "run, folder or file", most: 1}.check,
		ValidArgsFunction: completeViews,
		RunE: func(c *cobra.Command, given []string) error {
			of := defaultReports
			if len(given) == 1 {
				of = filepath.Clean(given[0])
			}
			address, err := soak.ListenAddress(listen)
			if err != nil {
				return fmt.Errorf("--listen %w", err)
			}
			var document []byte
			limits, err := shownLimits(c, baselines)
			if err != nil {
				return err
			}
			err = during(c.ErrOrStderr(), "reading the pages of "+of, func(*activity) (err error) {
				document, err = viewable(limits, of)
				return err
			})
			if err != nil {
				return err
			}
			listener, err := (&net.ListenConfig{}).Listen(c.Context(), "tcp", address)
			if err != nil {
				return fmt.Errorf("listen for readers of the pages: %w", err)
			}
			url := "http://" + listener.Addr().String() + "/"
			if asJSON {
				err = printJSON(c, viewed{of, url})
			} else {
				_, err = fmt.Fprintf(c.OutOrStdout(), "%s: %s (interrupt to end)\n", of, url)
			}
			if err != nil {
				_ = listener.Close() // the error that matters is the first one
				return fmt.Errorf("print the address: %w", err)
			}
			if open {
				openBrowser(c, url)
			}
			return htmlreport.Serve(c.Context(), listener, document)
		},
	}
	jsonFlag(c, &asJSON)
	baselinesFlag(c, &baselines)
	c.Flags().StringVar(&listen, "listen", "0", "port of this host, or address, to serve at; 0: the operating system chooses")
	c.Flags().BoolVar(&open, "open", false, "open the address in a browser, if there is one")
	return c
}

// viewable is what is served of a folder or a file.
func viewable(limits *gate.Baselines, of string) ([]byte, error) {
	info, err := os.Stat(of)
	switch {
	case os.IsNotExist(err):
		return nil, &absentError{fmt.Sprintf(`there is no folder or file %q to view
  name the folder of a run, or a file that "prony report --html" wrote; without a name it is reports/`, of)}
	case err != nil:
		return nil, fmt.Errorf("view %s: %w", of, err)
	case info.IsDir():
		return htmlDocument(limits, of)
	case filepath.Ext(of) != ".html" || !info.Mode().IsRegular():
		return nil, fmt.Errorf("view %s: not a folder or an HTML file; %q writes the pages of a folder to an HTML file", of, "prony report --html")
	case info.Size() > viewBytesMax:
		return nil, fmt.Errorf("view %s: it has %d bytes, and at most %d are served", of, info.Size(), viewBytesMax)
	}
	return os.ReadFile(of)
}

// openBrowser opens an address with the first available program. Errors are not fatal, because the
// address is printed.
func openBrowser(c *cobra.Command, url string) {
	for _, name := range browsers {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		browser := exec.Command(path, url) // the browser may outlive this command
		if err := browser.Start(); err != nil {
			say(c.ErrOrStderr(), "cannot open a browser: %v: open the address yourself", err)
			return
		}
		go func() { _ = browser.Wait() }() // the exit code does not matter
		return
	}
	say(c.ErrOrStderr(), "found no program that opens a browser (xdg-open, open or wslview): open the address yourself")
}

// completeViews completes the folders of runs, or any file.
func completeViews(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	runs, _ := completeRuns(c, args, begun)
	return runs, cobra.ShellCompDirectiveDefault
}
