package result

// Target is a kind of queue server that a driver program measured, as the program describes it.
type Target struct {
	Point     int      `json:"point,omitempty"` // number of its point in a run with a sweep
	Name      string   `json:"name"`            // name in the scenario
	Product   string   `json:"product"`
	Version   string   `json:"version,omitempty"` // of the installed server; "" if none
	Client    string   `json:"client"`            // client library with its version
	Guarantee string   `json:"guarantee"`         // when the servers acknowledge
	Nodes     int      `json:"nodes"`
	Addresses []string `json:"addresses,omitempty"` // of servers that were already running
	// Missing is the reason why the servers could not be started; "" if they could.
	Missing string `json:"missing,omitempty"`
	// Settings are the settings that make the server as fast as possible, with the reasons.
	Settings []TargetSetting `json:"settings,omitempty"`
	// Own are the settings from the scenario, each as "NAME = VALUE".
	Own []string `json:"own_settings,omitempty"`
	// Claim is the statement of the server's documentation on its speed and its losses.
	Claim string `json:"claim,omitempty"`
}

// TargetSetting is one setting of a target, with the reason for it.
type TargetSetting struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Because string `json:"because"`
}
