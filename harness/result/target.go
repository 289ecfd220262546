package result

// Target is a kind of queue server that a driver program measured, by the program's account.
type Target struct {
	Point     int      `json:"point,omitempty"` // the number of its point, of a run with a sweep
	Name      string   `json:"name"`            // as the scenario calls it
	Product   string   `json:"product"`
	Version   string   `json:"version,omitempty"` // of the installed server; "" where none is
	Client    string   `json:"client"`            // the client library with its version
	Guarantee string   `json:"guarantee"`         // when the servers acknowledge
	Nodes     int      `json:"nodes"`
	Addresses []string `json:"addresses,omitempty"` // of servers that ran already
	// Missing says why the servers could not be started; "" if they could.
	Missing string `json:"missing,omitempty"`
	// Settings are what makes the server as fast as it may be, with the reasons.
	Settings []TargetSetting `json:"settings,omitempty"`
	// Own are the settings that the scenario gives, each as "NAME = VALUE".
	Own []string `json:"own_settings,omitempty"`
	// Claim is what the server's documentation says of its speed and its losses.
	Claim string `json:"claim,omitempty"`
}

// TargetSetting is one setting of a target, with the reason for it.
type TargetSetting struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Because string `json:"because"`
}
