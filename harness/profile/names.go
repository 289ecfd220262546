package profile

import (
	"slices"
	"strings"

	"github.com/pronybench/prony/engine/symbols"
	"github.com/pronybench/prony/harness/render"
)

// Names maps functions to the names of locks and classifies waits. The zero value names locks by
// types and functions and treats every wait as contention, except that of an idle goroutine.
type Names struct {
	uses  map[string]symbols.Use // by function, without symbols.Module
	waits []symbols.Wait
}

// EngineNames returns the names of the engine that this program was built with.
func EngineNames() Names { return Names{symbols.Uses, symbols.Waits} }

// wait returns the reason for a wait in the block profile, and the evidence. A wait for a mutex is
// contention. So is a wait to send, because the channel is full or has no receiver. A goroutine
// that waits to receive in the function that it was started with is idle. Other waits are
// classified by the table of waits. A function that is not in the table waits for a lock if it
// belongs to the engine, and for an answer if it belongs to the load generator. If it receives in a
// library it waits for work, because there only a send shows that a channel is full.
func (n Names) wait(s site) (symbols.Reason, string) {
	for i := range n.waits {
		if k := &n.waits[i]; k.Anywhere && slices.ContainsFunc(s.stack, k.Is) {
			return k.For, k.Why
		}
	}
	switch s.op {
	case opMutex, opRWMutex, opRuntime, opSend:
		return symbols.ForLock, ""
	case opReceive, opSelect:
		if s.root {
			return symbols.ForWork, "it waits in the function that its goroutine was started with"
		}
	}
	for i := range n.waits {
		if k := &n.waits[i]; !k.Anywhere && k.Is(s.function) {
			return k.For, k.Why
		}
	}
	switch {
	case strings.HasPrefix(s.function, symbols.Module+"engine/client.") || strings.HasPrefix(s.function, symbols.Module+"harness/"):
		return symbols.ForAnswer, "the load generator waits for the server"
	case (s.op == opReceive || s.op == opSelect) && !strings.HasPrefix(s.function, symbols.Module):
		return symbols.ForWork, "it waits to receive in a library"
	}
	return symbols.ForLock, ""
}

// lock returns the name of the lock or channel of a site.
func (n Names) lock(s site) string {
	if s.op == opRuntime {
		return render.Function(s.function)
	}
	function := enclosing(s.function)
	of := n.uses[strings.TrimPrefix(function, symbols.Module)]
	var fields []string
	switch s.op {
	case opMutex, opRWMutex:
		if fields = of.Locks; len(fields) == 0 {
			return render.Function(ownerOf(function))
		}
	case opSend:
		fields = of.Sends
	case opReceive:
		fields = of.Receives
	}
	if len(fields) == 0 {
		return render.Function(function)
	}
	// The function uses several, and the profile does not distinguish them.
	return strings.Join(fields, " or ")
}

// receivers returns the functions that receive from the channel with that name.
func (n Names) receivers(channel string) []string {
	var found []string
	for function, of := range n.uses {
		if slices.Contains(of.Receives, channel) {
			found = append(found, symbols.Module+function)
		}
	}
	return found
}
