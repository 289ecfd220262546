package result

// Sources of what is known of a server's host.
const (
	HostFromSSH    = "ssh"    // commands on the host
	HostFromServer = "server" // the server's own admin listener, of a server that ran already
)

// ServerHost is what is known of the host of a server that does not run on the generator's. What is not known is left out, and named.
type ServerHost struct {
	Node           string   `json:"node"`
	From           string   `json:"from"` // HostFromSSH or HostFromServer
	OS             string   `json:"os,omitempty"`
	Kernel         string   `json:"kernel,omitempty"`
	Arch           string   `json:"arch,omitempty"`
	CPUModel       string   `json:"cpu_model,omitempty"`
	CPUs           int      `json:"cpus,omitzero"`
	MemoryMB       float64  `json:"memory_mb,omitzero"`
	Load           *float64 `json:"load,omitempty"`       // processes that ran or waited, over the minute before the servers were started
	Filesystem     string   `json:"filesystem,omitempty"` // of the data folder
	ClockSource    string   `json:"clock_source,omitempty"`
	CgroupCPUMax   string   `json:"cgroup_cpu_max,omitempty"`
	Virtualisation string   `json:"virtualisation,omitempty"`
	GOMAXPROCS     int      `json:"gomaxprocs,omitzero"` // of the server
	Version        string   `json:"version,omitempty"`   // of the server
	Commit         string   `json:"commit,omitempty"`
	Dirty          bool     `json:"dirty,omitempty"`   // the server was built from a tree with changes, or does not know its commit
	Unknown        []string `json:"unknown,omitempty"` // the names of what is not known
}

// NoteUnknown sets Unknown to the names of what is not known. The control group's limit and the commit are not among them: a host without a
// limit has none to say, and a program may not know its commit.
func (h *ServerHost) NoteUnknown() {
	h.Unknown = nil
	for _, f := range []struct {
		name  string
		known bool
	}{
		{"os", h.OS != ""},
		{"kernel", h.Kernel != ""},
		{"arch", h.Arch != ""},
		{"cpu_model", h.CPUModel != ""},
		{"cpus", h.CPUs > 0},
		{"memory_mb", h.MemoryMB > 0},
		{"load", h.Load != nil},
		{"filesystem", h.Filesystem != ""},
		{"clock_source", h.ClockSource != ""},
		{"virtualisation", h.Virtualisation != ""},
		{"gomaxprocs", h.GOMAXPROCS > 0},
		{"version", h.Version != ""},
	} {
		if !f.known {
			h.Unknown = append(h.Unknown, f.name)
		}
	}
}
