package program

// Names of the control commands after dialogue.CommandHello. Each comment lists the argument and
// the answer.
const (
	commandDescribe = "describe" // none → descriptions
	commandLaunch   = "launch"   // LaunchSpec → launched
	commandDial     = "dial"     // dialing → none
	commandKill     = "kill"     // reference → none
	commandRestart  = "restart"  // reference → launched
	commandStop     = "stop"     // reference → none
	commandFinish   = "finish"   // none → none; ends the program
)

// descriptions is the answer to the command describe.
type descriptions struct {
	Targets []Description `json:"targets"`
}

// launched is the answer to the commands launch and restart.
type launched struct {
	Server int `json:"server"` // identifies the servers in later commands, from 1
	// processes of the servers; empty if the servers run on other hosts
	PIDs []int `json:"pids,omitempty"`
}

// reference identifies the servers that a command applies to.
type reference struct {
	Server int `json:"server"`
}

// dialing is the argument of the command dial.
type dialing struct {
	Server int    `json:"server"`
	Socket string `json:"socket"` // path of the Unix socket to which the program must connect
}
