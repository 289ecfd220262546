package profile

import (
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Operations that make a goroutine wait.
const (
	opMutex     = "mutex"
	opRWMutex   = "rwmutex"
	opSend      = "send"
	opReceive   = "receive"
	opSelect    = "select"
	opCond      = "cond"
	opWaitGroup = "waitgroup"
	opRuntime   = "runtime"
)

// site is a place where a goroutine waited, or released other goroutines.
type site struct {
	op string
	// function is the innermost function outside the runtime, without type arguments. For a wait
	// inside the runtime it is the innermost function that does not implement locks.
	function string
	// from is the function that called into the type whose method is function. It is "" if there is
	// none.
	from string
	// root reports whether the goroutine was started with function.
	root  bool
	stack []string // without type arguments, innermost first
}

// ops maps prefixes of function names to operations. A primitive that is implemented by others
// comes before them.
var ops = []struct{ prefix, op string }{
	{"sync.(*RWMutex).", opRWMutex},
	{"sync.(*Mutex).", opMutex}, // includes sync.Once, and the wake-up from a condition
	{"internal/sync.(*Mutex).", opMutex},
	{"sync.(*Cond).", opCond},
	{"sync.(*WaitGroup).", opWaitGroup},
	{"internal/poll.(*fdMutex).", opMutex},
	{"internal/poll.(*FD).", opMutex},
	{"runtime.chansend", opSend},
	{"runtime.chanrecv", opReceive},
	{"runtime.selectgo", opSelect},
}

// siteOf returns the site of a sample in a block or mutex profile.
func siteOf(s *profile.Sample) site {
	stack := frames(s)
	for i, f := range stack {
		stack[i] = normal(f)
	}
	found := site{op: opRuntime, stack: stack}
	if len(stack) == 0 {
		return found
	}
	inner := 0
	for inner < len(stack) && waits(packageOf(stack[inner])) {
		inner++
	}
	waiting := stack[:inner]
	if strings.HasPrefix(stack[0], "runtime.unlock") || strings.HasPrefix(stack[0], "runtime._LostContended") {
		found.function = runtimeLock(waiting)
		return found
	}
	for _, o := range ops {
		if slices.ContainsFunc(waiting, func(f string) bool { return strings.HasPrefix(f, o.prefix) }) {
			found.op = o.op
			break
		}
	}
	if inner == len(stack) { // the goroutine belongs to the runtime
		found.function = stack[len(stack)-1]
		return found
	}
	found.function = stack[inner]
	outer := stack[inner+1:]
	found.root = !slices.ContainsFunc(outer, func(f string) bool { return !starts(f) })
	owner := ownerOf(found.function)
	for _, f := range outer {
		if ownerOf(f) != owner && !starts(f) {
			found.from = f
			break
		}
	}
	return found
}

// starts reports whether a function only calls the function that was passed to a go statement or a
// WaitGroup.
func starts(function string) bool {
	return strings.Contains(function, ".gowrap") || strings.HasSuffix(function, "-fm") || function == "sync.(*WaitGroup).Go.func1"
}

// runtimeLock returns the name of a lock inside the runtime. The name is the function that released
// the lock.
func runtimeLock(waiting []string) string {
	for _, f := range waiting {
		if !strings.HasPrefix(f, "runtime.unlock") && f != "runtime.systemstack" && f != "runtime.mcall" {
			return f
		}
	}
	return waiting[0]
}

// normal removes the type arguments from a function's name, so that all instances of a generic
// function have the same name.
func normal(function string) string {
	open := strings.IndexByte(function, '[')
	if open < 0 {
		return function
	}
	depth := 0
	for i := open; i < len(function); i++ {
		switch function[i] {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return function[:open] + normal(function[i+1:])
			}
		}
	}
	return function[:open]
}

// ownerOf returns the type that has a function as a method, with its package, in the form "a/b.T".
// If the function is not a method, ownerOf returns the package. A function literal belongs to the
// declaration that contains it.
func ownerOf(function string) string {
	path := packageOf(function)
	rest := strings.TrimPrefix(strings.TrimPrefix(function, path), ".")
	first, _, method := strings.Cut(rest, ".")
	first = strings.Trim(first, "(*)")
	if !method || strings.HasPrefix(rest, first+".func") || strings.HasPrefix(rest, first+".gowrap") {
		return path
	}
	return path + "." + first
}

// enclosing returns the declared function that contains a function literal. If the function is not
// a literal, enclosing returns it unchanged.
func enclosing(function string) string {
	path := packageOf(function)
	rest := function[len(path):]
	for _, mark := range []string{".func", ".gowrap", "-fm"} {
		for from := 0; ; {
			at := strings.Index(rest[from:], mark)
			if at < 0 {
				break
			}
			at += from
			if after := rest[at+len(mark):]; mark == "-fm" && after == "" || mark != "-fm" && after != "" && after[0] >= '0' && after[0] <= '9' {
				rest = rest[:at]
				break
			}
			from = at + len(mark)
		}
	}
	return path + rest
}
