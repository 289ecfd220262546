package profile

import (
	"slices"
	"strings"

	"github.com/pronybench/prony/engine/symbols"
	"github.com/pronybench/prony/harness/render"
)

// Names maps functions to the names of locks, and classifies waits. The zero value uses types and
// functions as names. It treats every wait as contention, except the wait of an idle goroutine.
type Names struct {
	uses  map[string]symbols.Use // by function, without the prefix symbols.Module
	waits []symbols.Wait
}

// EngineNames returns the names of the engine that this program was built with.
func EngineNames() Names { return Names{symbols.Uses, symbols.Waits} }

// wait returns the reason for a wait in the block profile, and why it is the reason. A wait for a
// mutex is contention. A wait to send is contention too, because the channel is full or has no
// receiver. A goroutine is idle if it waits to receive in the function that it was started with.
// The table of waits classifies other waits. If a function is not in the table, it waits for a lock
// if it belongs to the engine, and for an answer if it belongs to the load generator. If a
// goroutine waits to receive in a library, it waits for work: in a library only a send shows that a
// channel is full.
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

// lock returns the name of the lock or channel that a goroutine waited for at a site.
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
	// The function uses several locks or channels, and the profile does not distinguish them.
	return strings.Join(fields, " or ")
}

func (n Names) receivers(channel string) []string {
	var found []string
	for function, of := range n.uses {
		if slices.Contains(of.Receives, channel) {
			found = append(found, symbols.Module+function)
		}
	}
	return found
}
