package result

// Sources of the properties of a server's host.
const (
	HostFromSSH = "ssh" // commands on the host
	// HostFromServer is the admin listener of a server that was already running.
	HostFromServer = "server"
)

// ServerHost describes the host of a server that does not run on the generator's host. Unknown
// properties are omitted and named.
type ServerHost struct {
	Node     string  `json:"node"`
	From     string  `json:"from"` // HostFromSSH or HostFromServer
	OS       string  `json:"os,omitempty"`
	Kernel   string  `json:"kernel,omitempty"`
	Arch     string  `json:"arch,omitempty"`
	CPUModel string  `json:"cpu_model,omitempty"`
	CPUs     int     `json:"cpus,omitzero"`
	MemoryMB float64 `json:"memory_mb,omitzero"`
	// Load is the mean number of running or waiting processes over the minute before the servers
	// started.
	Load           *float64 `json:"load,omitempty"`
	Filesystem     string   `json:"filesystem,omitempty"` // of the data folder
	ClockSource    string   `json:"clock_source,omitempty"`
	CgroupCPUMax   string   `json:"cgroup_cpu_max,omitempty"`
	Virtualisation string   `json:"virtualisation,omitempty"`
	GOMAXPROCS     int      `json:"gomaxprocs,omitzero"` // of the server
	Version        string   `json:"version,omitempty"`   // of the server
	Commit         string   `json:"commit,omitempty"`
	// Dirty is true if the server was built from a tree with changes, or does not know its commit.
	Dirty   bool     `json:"dirty,omitempty"`
	Unknown []string `json:"unknown,omitempty"` // names of the unknown properties
}

// NoteUnknown sets Unknown to the names of the unknown properties, except the control group's limit
// and the commit: a host may have no limit, and a program may not know its commit.
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
