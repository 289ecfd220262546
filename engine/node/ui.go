package node

import (
	"net"
	"net/http"
	"strconv"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/ui"
)

// newUI returns the handler of the web page for operators. It refuses every unknown Host, even if
// the listener accepts it for other paths.
func (n *Node) newUI(service adminpb.AdminServiceServer, c Config) http.Handler {
	o := ui.Options{
		Admin: service, Tasks: n.service, Guard: n.auth.Guard, Open: !c.Auth, Secure: n.tls != nil, Holds: call.Holds,
	}
	if at, ok := n.adminAt.Addr().(*net.TCPAddr); ok {
		o.Name = strconv.Itoa(at.Port)
	}
	return n.hostsOf(c, n.adminAt).known().guard(ui.New(o))
}
