package profile

import (
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// What a goroutine waits in.
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

// site is where a goroutine waited or let others go on.
type site struct {
	op string
	// function is the innermost one outside the runtime, normalised; of a wait inside the runtime the innermost one that is
	// not a lock's own.
	function string
	// from is the function that called into the type that function is a method of; "" where there is none.
	from string
	// root says that the goroutine was started with function.
	root  bool
	stack []string // normalised, innermost first
}

// ops are the primitives by the beginning of their functions' names, those first that call others of them.
var ops = []struct{ prefix, op string }{
	{"sync.(*RWMutex).", opRWMutex},
	{"sync.(*Mutex).", opMutex}, // also of a sync.Once, and of a condition that came to pass
	{"internal/sync.(*Mutex).", opMutex},
	{"sync.(*Cond).", opCond},
	{"sync.(*WaitGroup).", opWaitGroup},
	{"internal/poll.(*fdMutex).", opMutex},
	{"internal/poll.(*FD).", opMutex},
	{"runtime.chansend", opSend},
	{"runtime.chanrecv", opReceive},
	{"runtime.selectgo", opSelect},
}

// siteOf says what a sample of a block or mutex profile is of.
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
	if inner == len(stack) { // a goroutine of the runtime
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

// starts reports whether a function only calls the one that a go statement, or a WaitGroup, was given.
func starts(function string) bool {
	return strings.Contains(function, ".gowrap") || strings.HasSuffix(function, "-fm") || function == "sync.(*WaitGroup).Go.func1"
}

// runtimeLock names a lock inside the runtime by the function that gave it up.
func runtimeLock(waiting []string) string {
	for _, f := range waiting {
		if !strings.HasPrefix(f, "runtime.unlock") && f != "runtime.systemstack" && f != "runtime.mcall" {
			return f
		}
	}
	return waiting[0]
}

// normal is a function's name without its type arguments, so that all instances of a generic function are one.
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

// ownerOf is the type that a function is a method of, with its package, "a/b.T"; of other functions their package.
// Function literals belong to what they are written in.
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

// enclosing is the declared function that a function literal is written in; of others themselves.
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
