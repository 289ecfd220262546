package observe

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// CodePages describes how the kernel maps the program code of a process. Code in large pages (2 MiB
// on amd64) needs fewer TLB entries, so the same program runs faster.
type CodePages struct {
	Resident uint64 // bytes of code that are in memory
	Large    uint64 // bytes of Resident that the kernel maps by large pages
}

// ReadCodePages reads how the kernel currently maps the program code of the process pid. Program
// code means all executable mappings of files. ReadCodePages returns nil if the kernel does not
// report this, or if the process does not exist.
func ReadCodePages(pid int) (*CodePages, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		var pages *CodePages
		if pages, err = parseCodePages(text); err == nil {
			return pages, nil
		}
	}
	return nil, fmt.Errorf("pages of the program code of process %d: %w", pid, err)
}

// parseCodePages parses smaps, whose format proc_pid_smaps(5) describes. Each mapping has a line
// with its addresses, permissions and file, followed by lines with a name, a colon and a size in
// kB. Kernels before 5.4 do not report FilePmdMapped; the result is then nil.
func parseCodePages(text []byte) (*CodePages, error) {
	var pages CodePages
	code, known := false, false
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 {
			continue
		}
		name, value := strings.CutSuffix(fields[0], ":")
		if !value { // addresses, permissions, offset, device, inode and path
			code = len(fields) >= 5 && strings.Contains(fields[1], "x") && fields[4] != "0"
			continue
		}
		if !code || (name != "Rss" && name != "FilePmdMapped") {
			continue
		}
		if len(fields) < 2 {
			return nil, fmt.Errorf("%q has no size", lines.Text())
		}
		kilobytes, err := strconv.ParseUint(fields[1], 10, 54)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", lines.Text(), err)
		}
		if name == "Rss" {
			pages.Resident += kilobytes << 10
		} else {
			pages.Large += kilobytes << 10
			known = true
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if !known {
		return nil, nil
	}
	return &pages, nil
}
