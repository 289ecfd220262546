package program

// Names of the control commands, with their arguments and answers.
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

// version holds the arguments and the answer of the command hello.
type version struct {
	Version int `json:"version"`
}

// descriptions is the answer to the command describe.
type descriptions struct {
	Targets []Description `json:"targets"`
}

// launched is the answer to the commands launch and restart.
type launched struct {
	Server int   `json:"server"`         // identifies the servers in other commands, from 1
	PIDs   []int `json:"pids,omitempty"` // of the servers' processes; empty if they run elsewhere
}

// reference identifies the servers of a command.
type reference struct {
	Server int `json:"server"`
}

// dialing holds the arguments of the command dial.
type dialing struct {
	Server int    `json:"server"`
	Socket string `json:"socket"` // path of a Unix socket that the program must connect to
}
