package profile

import (
	"slices"
	"strings"
)

// modulePath is what the functions of this project begin with.
const modulePath = "github.com/pronybench/prony/"

// Names tells what a function waits for. The zero value knows nothing: it names locks by types and functions, and
// takes no wait but those of idle goroutines for anything but contention.
type Names struct {
	sites map[string]sitesOf // by function, without modulePath
	waits []knownWait
}

// sitesOf are the fields that a function locks or unlocks, sends to and receives from, as "package.Type.field".
type sitesOf struct {
	locks, sends, receives []string
}

// EngineNames knows the engine, from its source as it stood when this was built, and the packages it is made of.
func EngineNames() Names { return Names{engineSites, knownWaits} }

// Wait says what a goroutine waits for that does not wait for a lock.
type Wait int

// What is waited for.
const (
	ForLock   Wait = iota // or a channel that is full, or that another should fill
	ForWork               // it has nothing to do
	ForAnswer             // of a goroutine, disk or node whose time is in an account of its own
)

// knownWait is a function that waits for something other than a lock.
type knownWait struct {
	// function is the whole name, or with a * at its end its beginning.
	function string
	// anywhere says that it need only be in the stack.
	anywhere bool
	wait     Wait
	why      string
}

func (k *knownWait) is(function string) bool {
	if beginning, is := strings.CutSuffix(k.function, "*"); is {
		return strings.HasPrefix(function, beginning)
	}
	return function == k.function
}

// wait says what a site of the block profile waits for, and why that is known. Whoever waits for a mutex waits for a
// lock. So does who waits to send, since a channel has no room or nobody who receives. A goroutine that waits to receive
// in the very function that it was started with has nothing to do; of all others the table says what they wait for, and
// those it does not have wait for a lock.
func (n Names) wait(s site) (Wait, string) {
	for i := range n.waits {
		if k := &n.waits[i]; k.anywhere && slices.ContainsFunc(s.stack, k.is) {
			return k.wait, k.why
		}
	}
	switch s.op {
	case opMutex, opRWMutex, opRuntime, opSend:
		return ForLock, ""
	case opReceive, opSelect:
		if s.root {
			return ForWork, "it waits in the function that its goroutine was started with"
		}
	}
	for i := range n.waits {
		if k := &n.waits[i]; !k.anywhere && k.is(s.function) {
			return k.wait, k.why
		}
	}
	return ForLock, ""
}

// lock names what a site is of.
func (n Names) lock(s site) string {
	if s.op == opRuntime {
		return short(s.function)
	}
	function := enclosing(s.function)
	of := n.sites[strings.TrimPrefix(function, modulePath)]
	var fields []string
	switch s.op {
	case opMutex, opRWMutex:
		if fields = of.locks; len(fields) == 0 {
			return short(ownerOf(function))
		}
	case opSend:
		fields = of.sends
	case opReceive:
		fields = of.receives
	}
	if len(fields) == 0 {
		return short(function)
	}
	return strings.Join(fields, " or ") // which one a line of the source would tell, and that may be another one's
}

// receivers are the functions that receive from a channel of that name.
func (n Names) receivers(channel string) []string {
	var found []string
	for function, of := range n.sites {
		if slices.Contains(of.receives, channel) {
			found = append(found, modulePath+function)
		}
	}
	return found
}
