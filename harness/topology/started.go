package topology

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/sshclient"
)

const (
	// commandTimeout bounds the time of a small command on another host, including the time to
	// connect.
	commandTimeout = 30 * time.Second
	// pushTimeout bounds the time to copy the program to another host.
	pushTimeout = 10 * time.Minute
	// digits is the number of digits of the program's hash that its file name contains.
	digits = 16
)

type program struct {
	content []byte
	sha256  string
}

func readProgram(file string) (p program, err error) {
	if p.content, err = os.ReadFile(file); err != nil {
		return p, fmt.Errorf("read the server's program: %w", err)
	}
	sum := sha256.Sum256(p.content)
	p.sha256 = hex.EncodeToString(sum[:])
	return p, nil
}

// prepareScript creates a folder for a topology and prints the properties of the host. The first
// argument is the folder in which the new folder is created. The value of an unknown property is
// empty.
const prepareScript = `umask 077
mkdir -p %[1]s || exit 1
folder=$(mktemp -d %[1]s/prony-XXXXXX) || exit 1
mkdir "$folder/data" || exit 1
echo "folder $folder"
test -x %[1]s/%[2]s && echo "present yes"
exec 2>/dev/null
echo "os $(uname -s)"
echo "kernel $(uname -r)"
echo "arch $(uname -m)"
echo "cpu_model $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)"
echo "cpus $(nproc)"
echo "memory_kb $(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo)"
echo "load $(cut -d ' ' -f 1 /proc/loadavg)"
echo "clock_source $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)"
echo "filesystem $(stat -f -c %%T "$folder")"
echo "cgroup_cpu_max $(cat /sys/fs/cgroup/cpu.max)"
echo "virtualisation $(systemd-detect-virt)"
exit 0
`

// prepare creates a folder on the host. It copies the program to the host, unless the host already
// has a program with the same hash.
func (r *remote) prepare(ctx context.Context, p program) error {
	name := "queued-" + p.sha256[:digits]
	limited, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	out, err := r.shell.Run(limited, fmt.Sprintf(prepareScript, r.at.Dir, name), nil)
	if err != nil {
		return err
	}
	said := map[string]string{}
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		said[key] = value
	}
	if folder := said["folder"]; path.Dir(folder) == r.at.Dir && strings.HasPrefix(path.Base(folder), "prony-") {
		r.folder = folder
	} else {
		return fmt.Errorf("no folder was created in %s: the output is %.200q", r.at.Dir, out)
	}
	r.binary = path.Join(r.at.Dir, name)
	r.host = hostOf(r.at.Name, said)
	if said["present"] == "yes" {
		return nil
	}
	return r.push(ctx, p, name)
}

func hostOf(node string, said map[string]string) result.ServerHost {
	h := result.ServerHost{
		Node: node, From: result.HostFromSSH, OS: said["os"], Kernel: said["kernel"], Arch: said["arch"], CPUModel: said["cpu_model"],
		Filesystem: said["filesystem"], ClockSource: said["clock_source"], CgroupCPUMax: said["cgroup_cpu_max"], Virtualisation: said["virtualisation"],
	}
	h.CPUs, _ = strconv.Atoi(said["cpus"]) // 0 means unknown
	if kb, err := strconv.ParseFloat(said["memory_kb"], 64); err == nil {
		h.MemoryMB = kb / 1024
	}
	if load, err := strconv.ParseFloat(said["load"], 64); err == nil {
		h.Load = &load
	}
	return h
}

// push copies the program to the host. The file is renamed to its final name after it is complete
// and verified.
func (r *remote) push(ctx context.Context, p program, name string) error {
	limited, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	script := fmt.Sprintf(`umask 077
cat >%[1]s/program || exit 1
echo '%[2]s  %[1]s/program' | sha256sum -c - >/dev/null || { echo "the program arrived damaged" >&2; exit 1; }
chmod 700 %[1]s/program && mv %[1]s/program %[3]s/%[4]s
`, r.folder, p.sha256, r.at.Dir, name)
	if _, err := r.shell.Run(limited, script, bytes.NewReader(p.content)); err != nil {
		return fmt.Errorf("copy the program: %w", err)
	}
	return nil
}

func (s *Server) pushCertificates(ctx context.Context) error {
	folders := map[string]string{}
	if s.cluster.certs != "" {
		folders["certs"] = filepath.Join(s.cluster.certs, s.ID)
	}
	if s.cluster.tls != "" {
		folders["tls"] = s.cluster.tls
	}
	if len(folders) == 0 {
		return nil
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for name, dir := range folders {
		if err := addFiles(w, name, dir); err != nil {
			return s.problem("pack its certificates: " + err.Error())
		}
	}
	if err := w.Close(); err != nil {
		return s.problem("pack its certificates: " + err.Error())
	}
	limited, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	if _, err := s.remote.shell.Run(limited, "umask 077\ntar -xf - -C "+s.remote.folder, &archive); err != nil {
		return s.problem("copy its certificates: " + err.Error())
	}
	return nil
}

// addFiles adds the files of a folder to an archive. In the archive they are in a folder with the
// given name.
func addFiles(w *tar.Writer, name, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o700}); err != nil {
		return err
	}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: path.Join(name, e.Name()), Mode: 0o600, Size: int64(len(content))}); err != nil {
			return err
		}
		if _, err := w.Write(content); err != nil {
			return err
		}
	}
	return nil
}

// addressFile returns the path of the file to which a server that was started by SSH writes its
// addresses and settings.
func (r *remote) addressFile() string { return path.Join(r.folder, "address.json") }

// waitForIntroduction waits until a server on another host is running and has published its
// settings.
func (n *Node) waitForIntroduction(ctx context.Context) error {
	s := n.server
	return n.poll(ctx, func() (bool, error) {
		if s.remote.shell == "" {
			return s.introduce(ctx, n)
		}
		if _, err := s.cluster.Client(n.Admin).Get(ctx, "/livez", requestTimeout, readyBytesMax); err != nil {
			return false, err
		}
		text, err := s.remote.shell.Run(ctx, "cat "+s.remote.addressFile(), nil)
		if err != nil {
			return false, err
		}
		var at addresses
		if err := json.Unmarshal(text, &at); err != nil {
			return true, n.fail("the server's address file is malformed", fmt.Errorf("%w: %.200q", err, text))
		}
		n.tokenFile, n.settings = at.TokenFile, withoutPlaces(at.Settings)
		return true, nil
	})
}

func (r *remote) readToken(ctx context.Context, file string) (string, error) {
	text, err := r.shell.Run(ctx, fmt.Sprintf("file=%s\ntest -e \"$file\" || exit 0\ncat \"$file\"", sshclient.Quote(file)), nil)
	if err != nil {
		return "", err
	}
	if len(text) == 0 {
		return "", fmt.Errorf("%s: %w", file, os.ErrNotExist)
	}
	return tokenOf(file, text)
}

func (r *remote) wipe() error {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	data := path.Join(r.folder, "data")
	_, err := r.shell.Run(ctx, fmt.Sprintf("rm -rf %[1]s && mkdir -m 700 %[1]s", data), nil)
	return err
}

// remove removes the topology's folder on the host. The program remains on the host for later runs.
func (r *remote) remove() error {
	if r.folder == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	_, err := r.shell.Run(ctx, "rm -rf "+r.folder, nil)
	if err != nil {
		return errors.Join(fmt.Errorf("%s was not removed from its host", r.folder), err)
	}
	r.folder = ""
	return nil
}
