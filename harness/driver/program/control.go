package program

// The commands of the control, by name; each has its arguments and what it answers.
const (
	commandHello    = "hello"    // version → version
	commandDescribe = "describe" // none → descriptions
	commandLaunch   = "launch"   // LaunchSpec → launched
	commandDial     = "dial"     // dialing → none
	commandKill     = "kill"     // reference → none
	commandRestart  = "restart"  // reference → launched
	commandStop     = "stop"     // reference → none
	commandFinish   = "finish"   // none → none; the program ends
)

// version are the arguments of the command hello, and what it answers.
type version struct {
	Version int `json:"version"`
}

// descriptions is what the command describe answers.
type descriptions struct {
	Targets []Description `json:"targets"`
}

// launched is what the commands launch and restart answer.
type launched struct {
	Server int   `json:"server"`         // what other commands call the servers, from 1 on
	PIDs   []int `json:"pids,omitempty"` // of the servers' processes; none where they run elsewhere
}

// reference says which servers a command is for.
type reference struct {
	Server int `json:"server"`
}

// dialing are the arguments of the command dial.
type dialing struct {
	Server int    `json:"server"`
	Socket string `json:"socket"` // the path of a Unix socket that the program connects to
}
